"""Factors, and the report made of them: on synthetic results, where every answer is known."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from tests.suites.layers.small import case

from opbench.errors import UserError
from opbench.result import Result, Sample
from opbench.store.records import StoredResult
from opbench.suites.layers import csv_file as layers_csv
from opbench.suites.layers import report
from opbench.suites.layers.factors import MAX_MEMORY, rows
from opbench.suites.layers.factors_file import read
from opbench.suites.layers.factors_published import parse, published

STARTS = 4


def timed(layer, mode, seconds, batch=4, group="together"):
    one = case(layer, mode, batch=batch)
    # Starts differ by their layout, alike for all that ran in them.
    samples = tuple(
        Sample(seconds * (1 + 0.05 * start), start=start, order=number)
        for number, start in enumerate(s for s in range(STARTS) for _ in range(5))
    )
    result = Result(one.hash, "time", "s", estimate=seconds, low=seconds, high=seconds,
                    samples=samples, group=group, detail={"design": "paired"})  # fmt: skip
    return StoredResult("run", one, result)


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
    assert "## Peak memory, × the same layer unwrapped" in text
    assert "| linear | hooks | 12 |" in text
    # 0.666322 ms over 0.385688 ms, of the shipped figures.
    assert "| linear | hooks | 2 \\| 1.73 |" in text
    assert "| dplstm | hooks | 15 \\| 13.3 |" in text
    assert "- lstm hooks: unsupported: cannot do this" in text


def test_the_terminal_says_the_same():
    from rich.console import Console

    stream = io.StringIO()
    report.to_terminal(rows(SAMPLE), Console(file=stream, width=140), published())
    assert "peak memory, × the same layer unwrapped" in stream.getvalue()
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
