"""`opbench report layers`, of layers and of the step of a whole model."""

from __future__ import annotations

import pytest
from tests.suites.layers.test_factors import timed
from tests.suites.layers.test_model import KNOWN

from opbench.store import RunRecord, Store


@pytest.fixture
def report(tmp_path, opbench_here):
    """Reports on these (case, result) pairs, as a stored run."""

    def call(pairs, *flags):
        with Store.open(tmp_path / "r.db") as store:
            record = RunRecord.new("mine")
            store.begin_run(record)
            store.add_results(record.id, pairs)
            store.finish_run(record.id)
        return opbench_here("report", "layers", "--store", "r.db", *flags)

    return call


@pytest.mark.parametrize(
    "flags",
    [("--figure", "x.svg"), ("--charts", "drawn"), ("--against", "published"), ("-f", "csv")],
)
def test_what_a_step_of_a_model_has_no_factors_for_is_said_with_what_to_use(
    tmp_path, report, flags
):
    done = report(KNOWN, *flags)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"it cannot have {' '.join(flags) if flags[0] == '-f' else flags[0]};" in done.stderr
    assert "opbench report RUN -o report.html" in done.stderr
    assert [path.name for path in tmp_path.iterdir() if path.name in ("x.svg", "drawn")] == []


def test_a_figure_of_a_metric_without_factors_names_one_that_has_them(report):
    pairs = [timed("linear", "baseline", 1e-3), timed("linear", "hooks", 2e-3)]
    done = report([(each.case, each.result) for each in pairs], "--figure", "x.svg", "--metric",
                  "max_memory")  # fmt: skip
    assert done.returncode == 2
    assert "no factors of max_memory over torch.nn to draw; use --metric time" in done.stderr
