"""The kept samples of real pairs: what is in them, how they are packed, and how they are judged."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from perf.holdout.judge import played, share
from perf.holdout.pairs import every_pair, setup_of
from perf.holdout.samples import DATA, Measured, read

KEPT = sorted(DATA.glob("*.npz"))


def test_every_kind_of_pair_is_in_both_halves():
    pairs = every_pair()
    found = Counter((pair.question, pair.half) for pair in pairs)
    assert found["different", "tune"] + found["different", "judge"] >= 40
    assert all(found[question, half] == 10
               for question in ("identical", "injected") for half in ("tune", "judge"))  # fmt: skip
    kinds = {half: {p.name for p in pairs if p.question == "different" and p.half == half}
             for half in ("tune", "judge")}  # fmt: skip
    assert kinds["tune"] == kinds["judge"]


def test_sides_differ_in_the_statement_alone():
    for number, pair in enumerate(every_pair()):
        base, new = pair.cases(number)
        assert base.setup == new.setup
        assert (base.stmt == new.stmt) == (pair.question == "identical")
    # 51 calls against 50 are 2 % more.
    calls = [len(case.stmt.splitlines()) for case in every_pair()[-1].cases(0)]
    assert calls == [50, 51]


def test_a_child_makes_only_what_its_statements_name():
    lines = setup_of("x + w", "x.sum()").splitlines()
    assert [line.split(" = ")[0] for line in lines[3:]] == ["x", "w"]


def measured(rng: np.random.Generator, tilt: float) -> Measured:
    """Twenty pairs of each question over forty starts; ratios scatter by `tilt` between starts."""
    questions = ["different"] * 20 + ["identical"] * 20 + ["injected"] * 20
    shape = (60, 40, 2, 2, 5)
    logs = rng.normal(-11, 0.01, shape)
    logs += rng.normal(0, 0.05, shape[:2])[:, :, None, None, None]
    logs[:, :, :, 1] += rng.normal(0, tilt, shape[:2])[:, :, None, None]
    logs[40:, :, :, 1] += math.log(1.02)
    names = [f"{question} {number}" for number, question in enumerate(questions)]
    waits, switches = np.zeros(shape), np.zeros(shape, dtype=int)
    return Measured(names, questions, ["judge"] * 60, logs, waits, switches, "a machine")


def test_what_is_written_is_read(tmp_path: Path):
    kept = measured(np.random.default_rng(1), 0.01)
    kept.waits[0, 0, 0, 0, 0], kept.switches[0, 0, 0, 0, 0] = 0.5, 3
    kept.write(tmp_path / "kept.npz")
    again = read(tmp_path / "kept.npz")
    assert (again.names, again.questions, again.halves) == (kept.names, kept.questions, kept.halves)
    assert np.abs(again.logs - kept.logs).max() < 1e-4
    assert again.about == "a machine"
    first = again.samples(0, 0)[0]
    # Waited half of the time and was interrupted: marked, as in a run.
    assert [sample.contended for sample in first] == [True] + [False] * 9
    assert first[0].switches == 3


def test_intervals_that_are_right_are_judged_so():
    tallies = played(measured(np.random.default_rng(2), 0.01), "judge", 4, 10)
    assert share(tallies["different"].holds) >= 0.93
    assert share(tallies["identical"].different) <= 0.08
    assert share(tallies["injected"].slower) > share(tallies["identical"].slower)


def test_intervals_for_endless_starts_are_judged_more_strictly():
    few = played(measured(np.random.default_rng(3), 0.03), "judge", 30, 4)["different"]
    # Thirty of the forty starts come near to the mean of all of them, whatever the interval says.
    assert share(few.holds) == 1
    assert 0.85 < share(few.holds_endless) < 1


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_intervals_hold_on_the_half_that_nothing_was_tuned_on(path: Path):
    kept = read(path)
    assert kept.starts >= 40
    assert len(kept.of("different", "judge")) >= 20
    tallies = played(kept, "judge", 4, 10)
    assert share(tallies["different"].holds) >= 0.92
    assert share(tallies["identical"].different) <= 0.08
