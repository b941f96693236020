"""The page at the end of the tour: where the results are, and only for a whole, stored tour."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from opbench.define import suites
from opbench.running.recording import Finished
from opbench.store import Store
from opbench.suites.tour.suite import SUITE
from synthetic import add_run, timed


@pytest.fixture
def run(tmp_path: Path) -> Finished:
    path = tmp_path / "results.db"
    stored = timed("add", 1e-3)
    with Store.open(path) as store:
        run_id = add_run(store, 0, "", stored)
    return Finished(run_id, [(stored.case, stored.result)], store=str(path))


def end(run: Finished, *targets: str, cont: bool = False) -> list[str]:
    return list(SUITE.after_run(run, targets, store=run.store, cont=cont))


def test_the_tour_runs_when_nothing_is_named():
    assert suites.default() == ["tour"]


def test_the_page_stands_next_to_the_store(run, tmp_path):
    (line,) = end(run)
    page = tmp_path / "report.html"
    assert line == f"Charts, and every case in detail: open {page} in a browser"
    assert run.id in page.read_text("utf-8")


@pytest.mark.parametrize(
    ("changes", "targets", "cont"),
    [
        ({}, ("ops",), False),
        ({}, (), True),
        ({"store": ""}, (), False),
        ({"status": "interrupted"}, (), False),
    ],
)
def test_no_page_for_anything_but_a_whole_stored_tour(run, tmp_path, changes, targets, cont):
    assert end(replace(run, **changes), *targets, cont=cont) == []
    assert not (tmp_path / "report.html").exists()


def test_a_page_that_cannot_be_written_costs_one_line(run, tmp_path):
    (tmp_path / "report.html").mkdir()
    (line,) = end(run)
    assert line.startswith(f"No page: cannot write {tmp_path / 'report.html'}: ")
