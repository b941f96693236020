"""`ob.load`: what is stored, as a DataFrame."""

from __future__ import annotations

import pytest

from opbench.api.frames import load
from opbench.case import Case
from opbench.result import Result, Sample
from opbench.store import RunRecord, Store, StoreError


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "results.db") as opened:
        yield opened


@pytest.fixture
def filled(store):
    for number in (1, 2):
        run = RunRecord(f"2026111{number}-000000-aaaa", f"n{number}", created=1e9 + number)
        store.begin_run(run)
        for batch in (16, 32):
            case = Case("layers", "linear", "forward", "f(x)", labels=(("batch", batch),))
            samples = tuple(Sample(batch * 1e-6, order=i) for i in range(3))
            for metric in ("time", "memory"):
                result = Result(
                    case.hash, metric, "s", estimate=batch * 1e-6, samples=samples, created=1e9
                )
                store.add_result(run.id, case, result)
    return store


def test_one_row_per_result(filled):
    frame = load(filled)
    assert len(frame) == 8
    assert frame["run_name"].tolist() == ["n1"] * 4 + ["n2"] * 4
    assert frame["label.batch"].tolist() == [16, 16, 32, 32] * 2
    assert set(frame["n_samples"]) == {3}
    assert str(frame["created"].dt.tz) == "UTC"
    means = frame[frame.metric == "time"].groupby("label.batch")["estimate"].mean()
    assert means.to_dict() == pytest.approx({16: 16e-6, 32: 32e-6})
    assert frame["low"].isna().all()
    assert frame["low"].dtype == float


def test_runs_and_metrics_are_chosen_as_on_the_command_line(filled):
    assert set(load(filled, run="last")["run_name"]) == {"n2"}
    assert len(load(str(filled.path), run=["n1", "last", "last"], metric="time")) == 4
    with pytest.raises(StoreError, match="did you mean n2 or n1"):
        load(filled, run="n3")


def test_one_row_per_sample(filled):
    frame = load(filled.path, run="n1", metric="time", samples=True)
    assert len(frame) == 6
    assert frame["order"].tolist() == [0, 1, 2] * 2
    assert frame["value"].tolist() == [16e-6] * 3 + [32e-6] * 3


def test_a_store_without_results_gives_an_empty_frame_with_its_columns(store, tmp_path):
    for samples in (False, True):
        frame = load(store, samples=samples)
        assert len(frame) == 0
        assert {"case_id", "estimate", "created"} <= set(frame.columns)
    with pytest.raises(StoreError, match="there is no store at"):
        load(tmp_path / "none.db")
