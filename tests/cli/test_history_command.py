"""`opbench history` as people and programs see it.

After an intended change: `OPBENCH_UPDATE_GOLDEN=1 pytest tests/cli/test_history_command.py`, then
read the difference.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from nights import CASE, machine, nights_in, scatter
from opbench.analyse.history import history
from opbench.report.history import as_text, listed

GOLDEN = Path(__file__).parent / "golden" / "history.txt"


@pytest.fixture
def nights(tmp_path):
    with nights_in(tmp_path / "results.db") as opened:
        yield opened


def a_season(nights) -> None:
    """A new numpy that costs 6 %, a crash, a bad night, a newer opbench."""
    for night in range(18):
        facts = {"fingerprint": "f2" if night >= 9 else "f1", "version": f"0.{1 + (night > 13)}.0"}
        if night == 5:
            nights.add(None, outcome="crashed", reason="SIGSEGV", **facts)
        elif night == 12:
            nights.add(1.6e-5, **facts)
        else:
            nights.add(1.2e-5 * scatter(night) * (1.06 if night >= 9 else 1), **facts)


def test_output_is_what_it_was(nights):
    a_season(nights)
    nights.add(2.4e-5, on=machine("ffff0000", "Xeon 8480C"), name="laptop")
    shown = as_text(history(nights.store, CASE.id), width=80)
    if os.environ.get("OPBENCH_UPDATE_GOLDEN"):
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(shown, encoding="utf-8")
    assert shown == GOLDEN.read_text(encoding="utf-8")
    assert max(map(len, shown.splitlines())) <= 80
    assert "\x1b" not in shown


@pytest.mark.parametrize("width", [60, 80, 200])
@pytest.mark.parametrize("count", [1, 2, 5, 30, 400])
def test_it_fits_whatever_the_width(nights, width, count):
    for night in range(count):
        nights.add(1e-5 * scatter(night) * (1.1 if night > count // 2 else 1))
    shown = as_text(history(nights.store, CASE.id), width)
    assert max(map(len, shown.splitlines())) <= width
    assert len(shown.splitlines()) < 70


@pytest.mark.parametrize("value", [0.0, -1e-9, 5e-324, 1e300])
def test_odd_values_are_drawn_too(nights, value):
    for _ in range(8):
        nights.add(value)
    assert "No change of level in 8 values." in as_text(history(nights.store, CASE.id))


def test_one_run_gets_no_verdict(nights):
    nights.add()
    shown = as_text(history(nights.store, CASE.id))
    assert "One value: too few to detect a change." in shown
    assert "●" not in shown


def test_runs_are_counted_once_and_values_apart_from_them(nights):
    """A run of two commits has two points; a crashed one has a point without a value."""
    run = nights.add()
    nights.add_to(run, 1e-5, case=replace(CASE, stmt="layer(y)"))
    nights.add(None, outcome="crashed", reason="SIGSEGV")
    shown = as_text(history(nights.store, CASE.id))
    assert "· 2 runs\n" in shown
    assert "2 values; detecting a change of level takes 6." in shown


def test_runs_without_a_value_are_said_to_have_none(nights):
    nights.add(None, outcome="failed", reason="RuntimeError: no")
    shown = as_text(history(nights.store, CASE.id))
    assert "No value." in shown
    assert "RuntimeError: no" in shown


def test_bytes_are_more_or_less_and_not_slower(nights):
    for night in range(8):
        run = nights.add()
        nights.add_to(run, 2e6 if night < 4 else 1e6, half=0, metric="memory", unit="bytes")
    assert "▼ smaller by 50 % between" in as_text(history(nights.store, CASE.id, "memory"))


def test_many_points_are_abbreviated_around_what_matters():
    assert listed(24, []) == list(range(24))
    assert listed(100, [50]) == [0, 1, 48, 49, 50, 51, *range(92, 100)]


def test_the_command(nights, opbench_here, tmp_path):
    a_season(nights)
    store = ("--store", tmp_path / "results.db")
    done = opbench_here("history", "linear", *store)
    assert done.returncode == 0, done.stderr
    assert "▲ slower by 7.0 % between run 20261123-120000-0008 (commit 8888888)" in done.stdout
    assert "\x1b" not in done.stdout
    page = json.loads(opbench_here("history", "linear", "--last", 16, "--json", *store).stdout)
    (series,) = page["series"]
    assert len(series["points"]) == 16
    (change,) = series["changes"]
    assert (change["from_run"], change["to_run"]) == (
        "20261123-120000-0008",
        "20261124-120000-0009",
    )
    assert change["differences"][0] == {
        "kind": "package",
        "name": "numpy",
        "before": "2.2.6",
        "after": "2.3.5",
    }


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("lineer",), "did you mean linear"),
        (("linear", "--metric", "memory"), "it has time"),
        (("linear", "--last", "0"), "'--last': expected greater than or equal to 1, found '0'"),
        (("linear", "--last", "x"), "'--last': expected a valid integer, found 'x'"),
    ],
)
def test_mistakes_are_one_line(nights, opbench_here, tmp_path, arguments, says):
    nights.add()
    done = opbench_here("history", *arguments, "--store", tmp_path / "results.db")
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_without_a_store_it_says_so(opbench_here):
    done = opbench_here("history", "linear")
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no store" in done.stderr
