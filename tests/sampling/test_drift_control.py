"""Cases measured again between the others, and what a run says about other moments."""

from __future__ import annotations

import math

import pytest

from opbench.case import Case
from opbench.plan.groups import Baseline, groups
from opbench.plan.policy import Adaptive, Fixed
from opbench.plan.request import Request
from opbench.result import Result, Sample
from opbench.running.runner import Runner
from opbench.sampling import drift
from opbench.sampling.drift import MOST_CASES, DriftControl, Kept, widen_for_drift
from opbench.stats.prior import Prior

#: Degrees of freedom of a drift that is as good as certain.
KNOWN = 1e9


def cases(count: int, stmt: str = "sum(range(300))") -> list[Case]:
    return [Case("s", f"case{i}", "call", stmt) for i in range(count)]


@pytest.fixture
def run(marked, eventually):
    def call(cases, policy=None, baseline=None, **more):
        kept: dict[str, Result] = {}
        request = Request(
            tuple(groups(cases, baseline)), policy or Adaptive(max_time=0.3, max_starts=3), **more
        )
        runner = Runner(request, lambda case, result, _: kept.update({case.name: result}))
        runner.run()
        assert eventually(lambda: marked() == []), "processes were left behind"
        return runner, kept

    return call


def all_values(kept: Kept) -> list[list[float]]:
    return [[block.value for block in visit] for visit in kept.visits]


def test_a_run_looks_again_at_some_of_its_cases_and_widens_all(run, monkeypatch):
    monkeypatch.setattr(drift, "APART", 0.0)
    monkeypatch.setattr(drift, "TIME_SHARE", 1e9)
    # However busy the machine is: other tests say what counts then.
    monkeypatch.setattr(drift, "LONGEST_BLOCK", 60.0)
    monkeypatch.setattr(Kept, "undisturbed", property(all_values))
    runner, kept = run(cases(8))
    assert len(runner.control.kept) == MOST_CASES
    assert {kept_case.lane.case.name for kept_case in runner.control.kept} == {
        f"case{i}" for i in range(4)
    }
    # The first one is visited after each of the eight, and was mostly sampled often enough before.
    assert len(runner.control.kept[0].visits) in (8, 9)
    found = runner.control.drift
    assert found is not None
    for result in kept.values():
        # Also of a machine so quiet that nothing was seen: then that is what is known.
        assert result.detail["drift"] == found.sd
        assert result.detail["drift_freedom"] == found.freedom
        assert (result.half_width or 0) >= 1.96 * found.sd
        assert (result.half_width or 0) > 0
    assert {r.detail["drift"] for _, r in runner.results} == {found.sd}


def test_pairs_are_looked_at_again_too(run, monkeypatch):
    """Their ratio needs none of it, but the time of either side does."""
    monkeypatch.setattr(drift, "APART", 0.0)
    monkeypatch.setattr(drift, "TIME_SHARE", 1e9)
    monkeypatch.setattr(drift, "LONGEST_BLOCK", 60.0)
    monkeypatch.setattr(Kept, "undisturbed", property(all_values))
    pairs = [
        Case("s", f"case{i}", "call", "sum(range(300))", labels=(("mode", mode),))
        for i in range(6)
        for mode in ("plain", "hooks")
    ]
    runner, _ = run(pairs, baseline=Baseline("mode", "plain"))
    again = [kept.lane.case.name for kept in runner.control.kept]
    assert again == ["case0", "case1", "case2", "case3"]
    found = runner.control.drift
    assert found is not None
    results = [result for _, result in runner.results]
    assert {result.detail.get("drift") for result in results} == {found.sd}


def test_visits_do_not_join_the_samples(run, monkeypatch):
    monkeypatch.setattr(drift, "APART", 0.0)
    monkeypatch.setattr(drift, "TIME_SHARE", 1e9)
    runner, kept = run(cases(3))
    for again in runner.control.kept:
        lane, samples = again.lane, kept[again.lane.case.name].samples
        assert len(again.visits) >= 1
        assert len(lane.samples["time"]) == sum(sample.start == lane.start for sample in samples)


def test_a_short_run_claims_nothing_about_other_moments(run, monkeypatch):
    monkeypatch.setattr(drift, "APART", 1e9)  # however long this machine takes
    runner, kept = run(cases(2))
    assert runner.control.drift is None
    assert all("drift" not in result.detail for result in kept.values())


def test_a_fixed_design_is_left_as_asked(run):
    runner, _ = run(cases(3), Fixed(num_runs=2))
    assert runner.control.kept == []


def test_a_long_case_is_not_kept(run):
    runner, _ = run(cases(1, "import time; time.sleep(0.05)"))
    assert runner.control.kept == []


def test_a_kept_case_that_dies_is_forgotten(run, monkeypatch):
    monkeypatch.setattr(drift, "APART", 0.0)
    monkeypatch.setattr(drift, "TIME_SHARE", 1e9)
    visit = drift.DriftControl.visit

    def deadly(self):
        for kept_case in self.kept[:1]:
            kept_case.lane.session.kill()
        visit(self)

    monkeypatch.setattr(drift.DriftControl, "visit", deadly)
    runner, kept = run(cases(4))
    assert runner.control.kept == []
    assert len(kept) == 4
    assert all(result.ok for result in kept.values())


def visit(level: float, stolen: tuple[float, ...] = ()) -> list[Sample]:
    """Six blocks of a millisecond at a level; of the first ones a share of the wall time stolen."""
    shares = [*stolen, *[0.0] * (6 - len(stolen))]
    return [
        Sample(
            level * (1 + 0.001 * i) / (1 - share),
            wall_ns=int(1e6 * level / (1 - share)),
            cpu_ns=int(1e6 * level),
        )
        for i, share in enumerate(shares)
    ]


class Clock:
    """Seconds that go by as a test says, and a lane whose blocks take three milliseconds."""

    now = 0.0

    def __call__(self) -> float:
        return self.now

    def look(self, _metric: str) -> Sample:
        self.now += 0.003
        return Sample(1.0)


@pytest.mark.parametrize(
    ("seconds", "least", "most"), [(15, 12, 15), (60, 35, 60), (600, 100, 250)]
)
def test_a_short_run_is_visited_often_and_a_long_one_less_and_less(seconds, least, most):
    clock = Clock()
    lanes = [Kept(clock) for _ in range(4)]
    visited = DriftControl(clock=clock, kept=lanes)
    while clock.now < seconds:
        clock.now += 0.3  # a case
        visited.visit()
    assert least <= len(lanes[0].visits) <= most
    assert sum(len(v) for k in lanes for v in k.visits) * 0.003 < 0.08 * clock.now


def test_nobody_is_visited_before_the_children_of_the_last_case_are_gone():
    clock, seen = Clock(), []
    kept = Kept(clock)
    DriftControl(clock=clock, settle=lambda: seen.append(len(kept.visits)), kept=[kept]).visit()
    assert seen == []  # nothing is due at the beginning
    clock.now = 9.0
    DriftControl(clock=clock, settle=lambda: seen.append(len(kept.visits)), kept=[kept]).visit()
    assert (seen, len(kept.visits)) == ([0], 1)


def test_visited_cases_take_turns():
    clock, turns = Clock(), []

    class Lane:
        def __init__(self, name: str) -> None:
            self.name = name

        def look(self, metric: str) -> Sample:
            turns.append(self.name)
            return clock.look(metric)

    clock.now = 9.0
    DriftControl(clock=clock, kept=[Kept(Lane("a")), Kept(Lane("b"))]).visit()
    assert turns == ["a", "b"] * 6


def test_what_was_measured_just_now_waits_and_the_others_do_not_wait_for_it():
    """In a run of few long cases each has just been measured when the next look is due."""
    clock = Clock()
    clock.now = 9.0
    visited = DriftControl(clock=clock, kept=[Kept(clock), Kept(clock, seen=8.9)])
    visited.visit()
    assert [len(kept.visits) for kept in visited.kept] == [1, 0]
    clock.now += 0.95
    visited.visit()
    assert [len(kept.visits) for kept in visited.kept] == [1, 1]
    clock.now += 9.0
    visited.visit()
    assert [len(kept.visits) for kept in visited.kept] == [2, 2]


def control(visits: list[list[Sample]]) -> DriftControl:
    return DriftControl(kept=[Kept(None, visits), Kept(None, visits)])


def test_a_visit_while_the_host_had_no_time_for_this_machine_is_no_drift():
    # No process of this machine took the core, so no switch was seen. The blocks waited.
    quiet = [visit(1.0), visit(1.01), visit(0.99)] * 4
    burst = [*quiet, visit(1.0, stolen=(0.5,) * 6), visit(1.0, stolen=(0.7,) * 5)]
    assert control(burst).drift == control(quiet).drift
    assert control(quiet).drift.sd == pytest.approx(0.01, rel=0.3)


def test_of_a_visit_disturbed_in_part_the_rest_counts():
    quiet = [visit(1.0), visit(1.01), visit(0.99)] * 4
    found = control([*quiet, visit(1.0, stolen=(0.5,) * 2)]).drift
    assert found is not None
    assert found.sd == pytest.approx(0.01, rel=0.3)


def test_a_machine_that_became_slower_did_drift():
    slower = control([visit(1.0), visit(1.1)] * 6).drift
    assert slower is not None
    assert slower.sd > 0.04


def test_where_every_visit_was_held_up_nothing_is_known_of_drift():
    held_up = [visit(1.0), *[visit(1.0 + i / 10, stolen=(0.6,) * 6) for i in range(3)]]
    assert control([*held_up, visit(1.0), visit(1.0)]).drift is None


def result(**more) -> Result:
    return Result("h", "time", "s", estimate=1.0, low=0.99, high=1.01, **more)


def test_drift_widens_an_interval_and_is_no_warning_of_its_case():
    wider = widen_for_drift(result(), Prior(0.02, KNOWN))
    # Two errors add as squares: 1 % of its own, and 1.96 times 2 %.
    assert wider.half_width == pytest.approx(math.hypot(0.01, 1.96 * 0.02), rel=1e-3)
    assert (wider.detail["drift"], wider.detail["drift_freedom"]) == (0.02, KNOWN)
    assert wider.warnings == ()


def test_what_failed_stays_as_it_is():
    failed = Result("h", "time", "s", outcome="crashed", reason="SIGSEGV")
    assert widen_for_drift(failed, Prior(0.02, KNOWN)) == failed
