"""Factors, and the report made of them: on synthetic results, where every answer is known."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from importlib import resources

import pytest
from tests.suites.layers.small import case as small_case

from opbench.errors import UserError
from opbench.report.table import printed
from opbench.result import Result, Sample
from opbench.store.records import StoredResult
from opbench.suites.layers import csv_file as layers_csv
from opbench.suites.layers import report
from opbench.suites.layers.csv_file import read
from opbench.suites.layers.factors import MAX_MEMORY, Factor, rows
from opbench.suites.layers.factors_published import parse, published
from opbench.suites.layers.names import BATCH_SIZES, SECTIONS

STARTS = 4
PUBLISHED = json.loads((resources.files("opbench.data") / "layers.json").read_text())


def case(layer, mode, batch=4, **config):
    """At the published batch sizes, in the published size; else a small one."""
    size = PUBLISHED[SECTIONS[layer]] if batch in BATCH_SIZES else {}
    return small_case(layer, mode, batch=batch, **{**size, **config})


def timed(layer, mode, seconds, batch=4, group="together", run="run", seed=0, **config):
    one = replace(case(layer, mode, batch=batch, **config), seed=seed)
    # Starts differ by their layout, alike for all that ran in them.
    samples = tuple(
        Sample(seconds * (1 + 0.05 * start), start=start, order=number)
        for number, start in enumerate(s for s in range(STARTS) for _ in range(5))
    )
    result = Result(one.hash, "time", "s", estimate=seconds, low=seconds, high=seconds,
                    samples=samples, group=group, detail={"design": "paired"})  # fmt: skip
    return StoredResult(run, one, result)


def held(layer, mode, peak, batch=4, offset=0):
    one = case(layer, mode, batch=batch)
    detail = {"max_memory": peak, "components": {"offset": offset, "layer": 100}}
    result = Result(one.hash, "memory", "bytes", estimate=peak / 2, low=peak / 2, high=peak / 2,
                    samples=(Sample(peak / 2),), detail=detail)  # fmt: skip
    return StoredResult("run", one, result)


def refused(layer, mode, reason="cannot do this"):
    one = case(layer, mode)
    result = Result(one.hash, "time", "s", outcome="unsupported", reason=reason)
    return StoredResult("run", one, result)


def find(found, layer, mode, metric="time", batch=4):
    key = (layer, mode, metric, batch)
    return next(r for r in found if (r.layer, r.mode, r.metric, r.batch_size) == key)


def test_a_mode_over_its_own_baseline():
    found = rows([timed("linear", "baseline", 1e-3), timed("linear", "hooks", 3e-3)])
    factor = find(found, "linear", "hooks").factor
    assert factor.value == pytest.approx(3.0)
    # Turn by turn in the same starts: what a start does to both sides cancels.
    assert (factor.high - factor.low) / factor.value < 0.04
    assert find(found, "linear", "baseline").factor is None


def test_a_dp_layer_over_the_layer_it_stands_in_for():
    found = rows(
        [
            timed("lstm", "baseline", 1e-3, group="nn"),
            timed("dplstm", "baseline", 5e-3, group="dp"),
            timed("dplstm", "hooks", 10e-3, group="dp"),
        ]
    )
    row = find(found, "dplstm", "hooks")
    assert row.factor.value == pytest.approx(2.0)
    assert row.factor_nn.value == pytest.approx(10.0)
    assert find(found, "dplstm", "baseline").factor_nn.value == pytest.approx(5.0)
    # Measured one after the other: a wider interval than turn by turn.
    narrow, wide = ((f.high - f.low) / f.value for f in (row.factor, row.factor_nn))
    assert wide > 2 * narrow
    assert (row.family, row.variant) == ("lstm", "dp hooks")


def test_memory_is_compared_as_the_peak_of_everything_held():
    found = rows(
        [held("linear", "baseline", 300, offset=100), held("linear", "hooks", 900, offset=100)]
    )
    row = find(found, "linear", "hooks", MAX_MEMORY)
    assert row.estimate == 800
    assert row.factor.value == row.factor.low == row.factor.high == 4.0


def test_batch_sizes_and_layers_are_never_mixed():
    """The fault of the old report, where an assignment did nothing and two layers were averaged."""
    found = rows(
        [
            *(timed("lstm", "baseline", n * 1e-3, batch=n) for n in (4, 8)),
            *(timed("dplstm", "baseline", n * 7e-3, batch=n) for n in (4, 8)),
        ]
    )
    assert len(found) == 4
    for batch in (4, 8):
        row = find(found, "dplstm", "baseline", batch=batch)
        assert row.factor_nn.value == pytest.approx(7.0)


def test_other_suites_in_the_same_run_are_left_out():
    one = timed("linear", "baseline", 1e-3)
    other = replace(one, case=replace(one.case, suite="tour"))
    assert len(rows([one, other])) == 1


SAMPLE = [
    timed("linear", "baseline", 1e-3, batch=16),
    timed("linear", "hooks", 2e-3, batch=16),
    held("linear", "baseline", 3e6, batch=16),
    held("linear", "hooks", 36e6, batch=16),
    timed("lstm", "baseline", 6e-3, batch=16, group="nn"),
    timed("dplstm", "hooks", 90e-3, batch=16, group="dp"),
    refused("lstm", "hooks"),
]


def test_markdown():
    stream = io.StringIO()
    report.to_markdown(rows(SAMPLE), stream, published(), ["cpu: a fast one"])
    text = stream.getvalue()
    assert "- cpu: a fast one" in text
    assert "## Time, × the same layer unwrapped" in text
    assert "| linear | hooks | 2 ± " in text
    assert "## Max memory (everything held at the peak), × the same layer unwrapped" in text
    assert "| linear | hooks | 12 |" in text
    # 0.666322 ms over 0.385688 ms, of the shipped figures.
    assert "| linear | hooks | 2 \\| 1.73 |" in text
    assert "| dplstm | hooks | 15 \\| 13.3 |" in text
    assert "- lstm hooks: unsupported: cannot do this" in text


def markdown(stored, against=None):
    stream = io.StringIO()
    report.to_markdown(rows(stored), stream, against)
    return stream.getvalue()


def test_only_layers_of_the_published_size_are_compared_with_the_published():
    pair = [timed("linear", mode, t, batch=16, in_features=16) for mode, t in
            (("baseline", 1e-3), ("hooks", 2e-3))]  # fmt: skip
    text = markdown(pair, published())
    assert "published |" not in text
    assert "| linear | hooks | 2 \\| " not in text
    assert (
        "- not compared: linear: measured torch.nn.Linear(in_features=16, out_features=512) on "
        "16×16, published torch.nn.Linear(in_features=512, out_features=512) on 16×512"
    ) in text


def test_a_batch_size_that_was_not_published_is_said_to_be_so():
    text = markdown([timed("linear", "baseline", 1e-3), timed("linear", "hooks", 2e-3)],
                    published())  # fmt: skip
    assert "- not compared: linear: arXiv:2109.12298 has batch sizes 16, 32," in text
    assert "not 4" in text
    # Before the first table: a report of all metrics has many.
    assert text.index("not compared") < text.index("##")


def test_what_is_not_compared_is_said_before_the_tables():
    found = rows([timed("linear", "baseline", 1e-3), timed("linear", "hooks", 2e-3)])
    text = printed(lambda console: report.to_terminal(found, console, published()))
    assert text.index("not compared") < text.index("as measured")


def test_results_with_another_seed_or_of_another_run_are_marked():
    text = markdown([timed("linear", "baseline", 1e-3, seed=1),
                     timed("linear", "baseline", 2e-3, seed=2)])  # fmt: skip
    assert "| linear (seed 1) | baseline | 1.00 ms" in text
    assert "| linear (seed 2) | baseline | 2.00 ms" in text
    text = markdown(
        [
            timed("linear", "baseline", 1e-3, run="a"),
            timed("linear", "baseline", 2e-3, run="b"),
            timed("lstm", "baseline", 1.0),
        ]
    )
    assert "| linear (run a) | baseline | 1.00 ms" in text
    assert "| linear (run b) | baseline | 2.00 ms" in text
    assert "| lstm | baseline | 1.00 s" in text


def test_a_factor_is_never_over_a_baseline_with_another_seed():
    found = rows([timed("linear", "baseline", 1e-3, seed=1), timed("linear", "hooks", 2e-3)])
    assert find(found, "linear", "hooks").factor is None


def test_the_memory_of_a_run_and_of_the_report_have_two_names():
    text = markdown([held("linear", "baseline", 3e6, batch=16)])
    assert "## Max memory (everything held at the peak), as measured" in text
    assert "| linear | baseline | 3.00 MB |" in text
    assert "## Memory (the peak of a step above its lowest level), as measured" in text
    assert "| linear | baseline | 1.50 MB |" in text


def test_a_wide_factor_has_the_two_ends_of_its_interval():
    assert report.factor_text(Factor(2.27, 2.15, 2.39)) == "2.27 ± 5.3 %"
    assert report.factor_text(Factor(0.537, 0.0225, 12.8)) == "0.537 [0.0225, 12.8]"
    assert report.factor_text(Factor(29.06, 1.339, 630.6)) == "29.1 [1.34, 631]"
    assert report.factor_text(Factor(12.0, 12.0, 12.0)) == "12"
    assert report.factor_text(None) == "–"


def test_a_run_shows_the_factors_over_torch_nn_at_once():
    from opbench.report.terminal.run import as_text
    from opbench.running.recording import Finished

    stored = [timed("lstm", "baseline", 1e-3), timed("dplstm", "hooks", 7e-3, group="dp")]
    text = as_text(Finished("run", [(each.case, each.result) for each in stored]))
    assert "time, × the torch.nn layer" in text
    assert re.search(r"dplstm +hooks +7 ± ", text)


def test_the_terminal_says_the_same():
    from rich.console import Console

    stream = io.StringIO()
    report.to_terminal(rows(SAMPLE), Console(file=stream, width=140), published())
    assert (
        "max memory (everything held at the peak), × the same layer unwrapped" in stream.getvalue()
    )
    assert "lstm hooks: unsupported: cannot do this" in stream.getvalue()


def test_a_result_file_can_be_read_back(tmp_path):
    found = rows(SAMPLE)
    path = tmp_path / "layers.csv"
    with path.open("w") as stream:
        layers_csv.write(found, stream, ["gpu: none", "run: x"])
    again, notes = read(path)
    assert notes == ["gpu: none", "run: x"]
    assert len(again) == len(found)
    for one, other in zip(found, again):
        assert (one.layer, one.mode, one.metric, one.outcome) == (
            *(other.layer, other.mode, other.metric, other.outcome),
        )
        assert other.estimate == pytest.approx(one.estimate) if one.estimate else True
        assert (one.factor is None) == (other.factor is None)
    import pandas

    frame = pandas.read_csv(path, comment="#")
    assert set(frame["layer"]) == {"linear", "lstm", "dplstm"}


def test_charts_for_both_summaries_and_each_layer(tmp_path):
    from opbench.suites.layers.charts import charts, save

    found = rows(SAMPLE)
    assert sorted(charts(found)) == ["factor_max_memory", "factor_time", "layer_linear",
                                     "layer_lstm"]  # fmt: skip
    written = save(found, tmp_path / "charts", formats=("svg",))
    assert len(written) == 4
    assert all(path.read_text().startswith("<svg") for path in written)
    linear = [row for row in found if row.layer == "linear"]
    png = save(linear, tmp_path, ("png",))[0]
    assert png.read_bytes().startswith(b"\x89PNG")


def test_the_shipped_figures_say_where_they_are_from():
    found = published()
    assert "2109.12298" in found.origin
    assert found.factor("time", "linear", "hooks", 16) == pytest.approx(0.666322 / 0.385688)
    assert found.factor(MAX_MEMORY, "embedding", "hooks", 512) == pytest.approx(8216.82 / 24.6195)
    assert found.factor("time", "dplstm", "hooks", 16) == pytest.approx(80.5727 / 6.05018)
    assert found.factor("time", "linear", "baseline", 16) is None
    assert found.factor("time", "linear", "ghost", 16) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("layer,batch_size\nlinear,16\n", "no column peak_minus_base_MB_median"),
        (
            "layer,batch_size,runtime_ms_median,peak_minus_base_MB_median\nliner,16,1,1\n",
            "line 2: unknown layer 'liner'",
        ),
        (
            "layer,batch_size,runtime_ms_median,peak_minus_base_MB_median\nlinear,16,x,1\n",
            "line 2: could not convert",
        ),
    ],
)
def test_a_file_of_figures_that_cannot_be_used(text, said):
    with pytest.raises(UserError, match=r"f\.csv") as caught:
        parse(text.splitlines(), "f.csv")
    assert said in str(caught.value)
