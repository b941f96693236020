"""Ctrl-C while Python measures: it ends whoever measures, and what is finished is kept."""

from __future__ import annotations

import pytest

import opbench as ob
from opbench.running.listener import Listener
from opbench.running.runner import Runner
from opbench.store import Store

BENCH = '{"benchmark": [{"name": "a", "stmt": "1 + 1"}, {"name": "b", "stmt": "2 + 2"}]}'


class AfterTheFirst(Listener):
    def measured(self, *_arguments: object) -> None:
        raise KeyboardInterrupt


def test_it_ends_the_caller_who_finds_the_rest_in_the_store(tmp_path):
    (tmp_path / "bench.json").write_text(BENCH)
    store = tmp_path / "results.db"
    with pytest.raises(KeyboardInterrupt, match=r"was interrupted; opbench\.load\('.*results\.db'"):
        ob.run(
            tmp_path / "bench.json", num_runs=1, num_repeats=2, store=store,
            listener=AfterTheFirst(),
        )  # fmt: skip
    with Store.open(store, create=False) as opened:
        assert [run.status for run in opened.runs()] == ["interrupted"]
        assert len(opened.results()) == 1


@pytest.mark.parametrize(
    "measure",
    [
        lambda: ob.run("tour", save=False),
        lambda: ob.run_layer_benchmark("linear", batch_size=4, device="cpu"),
    ],
    ids=["run", "layer"],
)
def test_whoever_measures_in_python_is_ended(measure, monkeypatch):
    def interrupted(_runner: Runner) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Runner, "run", interrupted)
    with pytest.raises(KeyboardInterrupt, match="was interrupted"):
        measure()
