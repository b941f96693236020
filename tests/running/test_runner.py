"""A whole run: budget, second pass, and what becomes of each result."""

from __future__ import annotations

import time
from functools import partial

import pytest

from opbench.case import Case
from opbench.plan.budget import Budget
from opbench.plan.groups import Baseline, PlannedGroup, groups
from opbench.plan.policy import Adaptive, Fixed
from opbench.plan.request import Request
from opbench.result import Result
from opbench.running import runner as runner_module
from opbench.running.listener import Listener
from opbench.running.runner import Runner
from opbench.workers.pool import MIN_KEPT, Pool


def case(name: str, stmt: str = "sum(range(100))", **more) -> Case:
    return Case("s", name, "call", stmt, **more)


class Journal(Listener):
    def __init__(self) -> None:
        self.passes: list[int] = []
        self.groups: list[list[str]] = []

    def second_pass(self, cases: int, seconds: float) -> None:
        self.passes.append(cases)

    def measuring(self, cases) -> None:
        self.groups.append([case.name for case in cases])


class Sink(list):
    def __call__(self, case: Case, result: Result, replacing: bool) -> None:
        self.append((case.name, result, replacing))

    def of(self, name: str) -> list[Result]:
        return [result for found, result, _ in self if found == name]


@pytest.fixture
def run(marked, eventually):
    def call(cases, policy=None, listener=None, done=(), baseline=None, sink=None, **more):
        sink = Sink() if sink is None else sink
        request = Request(tuple(groups(cases, baseline)), policy or Fixed(num_runs=3), **more)
        runner = Runner(request, sink, listener or Journal(), done)
        runner.run()
        assert eventually(lambda: marked() == []), "processes were left behind"
        return runner, sink

    return call


def test_each_case_has_one_result_which_is_told_at_once(run):
    runner, sink = run([case("a"), case("b"), case("c", unsupported="no such kernel")])
    assert [(name, result.outcome, again) for name, result, again in sink] == [
        ("a", "ok", False),
        ("b", "ok", False),
        ("c", "unsupported", False),
    ]
    assert [found.name for found, _ in runner.results] == ["a", "b", "c"]
    assert {result.policy for _, result in runner.results} == {"fixed runs=3 repeats=20"}


def test_what_is_done_is_not_measured_again(run):
    first, _ = run([case("a"), case("b")])
    journal = Journal()
    keys = [result.key() for found, result in first.results if found.name == "a"]
    _, sink = run([case("a"), case("b")], listener=journal, done=keys)
    assert [name for name, _, _ in sink] == ["b"]
    assert journal.groups == [["b"]]


#: Never precise enough: the budget decides.
GREEDY = Adaptive(precision=1e-9, max_time=0.3, warmup_seconds=0.02, max_starts=3)


def test_what_is_left_of_the_budget_goes_to_the_noisiest_case_first(run, monkeypatch):
    journal, sink = Journal(), Sink()

    def clock() -> float:
        """The budget is spent once a case was measured again, however long this machine takes."""
        return 1e9 if any(again for _, _, again in sink) else 0.0

    monkeypatch.setattr(runner_module, "Budget", partial(Budget, clock=clock))
    noisy = "time.sleep(0.0005 + random.random() * 0.004)"
    cases = [case("steady"), case("noisy", noisy, globals="import random, time")]
    runner, _ = run(cases, GREEDY, journal, sink=sink, budget=4.0)
    firsts = [(name, result) for name, result, again in sink if not again]
    assert [name for name, _ in firsts] == ["steady", "noisy"]
    assert journal.passes == [2]
    seconds = [(name, result) for name, result, again in sink if again]
    assert seconds, "nothing was measured again"
    widest = max(firsts, key=lambda pair: pair[1].half_width)[0]
    assert seconds[0][0] == widest
    # New samples joined the old ones, from worker starts of their own.
    before, after = dict(firsts)[widest], seconds[0][1]
    assert after.samples[: len(before.samples)] == before.samples
    old, new = ({s.start for s in r.samples} for r in (before, after))
    assert old < new
    joined = {sample.start for sample in after.samples[len(before.samples) :]}
    assert not joined & old, "what is measured later is another start, whatever its number"
    assert len({sample.order for sample in after.samples}) == len(after.samples)
    # Replaced, not doubled.
    assert sorted(found.name for found, _ in runner.results) == ["noisy", "steady"]


def test_a_budget_is_shared_by_the_cases_of_the_first_pass(run):
    slow = "time.sleep(0.01)"
    cases = [case(name, slow, globals="import time") for name in "abcd"]
    greedy = Adaptive(precision=1e-9, max_time=600.0, warmup_seconds=0.02, max_starts=3)
    began = time.monotonic()
    _, sink = run(cases, greedy, budget=2.0)
    # Without a share of the budget the first case alone would take ten minutes.
    assert time.monotonic() - began < 300
    spent = {name: sink.of(name)[0].detail["seconds"] for name in "abcd"}
    assert set(spent) == set("abcd")


def test_without_a_budget_there_is_no_second_pass(run):
    journal = Journal()
    _, sink = run([case("a")], GREEDY, journal)
    assert journal.passes == []
    assert not any(again for _, _, again in sink)


def test_a_group_is_told_as_a_group_and_a_failing_member_fails_alone(run):
    labelled = [
        case("x", labels=(("mode", "base"),)),
        case("x", "raise ValueError('no')", labels=(("mode", "bad"),)),
        case("x", "sum(range(150))", labels=(("mode", "new"),)),
    ]
    runner, _ = run(labelled, Fixed(num_runs=6), baseline=Baseline("mode", "base"))
    found = {one.axes["mode"]: result for one, result in runner.results}
    assert {mode: result.outcome for mode, result in found.items()} == {
        "base": "ok",
        "bad": "failed",
        "new": "ok",
    }
    assert found["base"].group == found["new"].group != ""


def test_an_exact_metric_that_fails_leaves_no_child_beside_the_next_case(run, tmp_path):
    flag = str(tmp_path / "seen")
    leaves = f"import os\nopen({flag!r}, 'w').write(str(os.getpid()))\nraise ValueError"
    looks = (
        "import os, time\ndeadline = time.monotonic() + 30\n"
        f"while os.path.exists('/proc/' + open({flag!r}).read()):\n"
        "    assert time.monotonic() < deadline, 'it is still there'"
    )
    _, sink = run([case("leaves", leaves), case("looks", looks)], metrics=("memory",))
    assert [(name, result.outcome) for name, result, _ in sink] == [
        ("leaves", "failed"),
        ("looks", "ok"),
    ], sink.of("looks")[0].reason


def test_parts_of_a_call_are_the_mean_of_several_starts_and_one_may_fail_alone(run):
    setup = (
        "import os\nparts = {}\ndef watch_parts():\n"
        "    return parts, lambda: {'all': 4}, lambda: None"
    )
    marks = "parts['start %d' % os.getppid()] = 1000\nparts['both'] = 3000"
    _, sink = run([case("marks", marks, setup=setup)], metrics=("parts",))
    (found,) = sink.of("marks")
    starts = [name for name in found.detail["parts"] if name.startswith("start")]
    assert len(starts) == 5, "each start has a process of its own"
    assert found.detail["parts"]["both"] == pytest.approx(3e-6)
    assert found.estimate == pytest.approx(4e-6)
    assert found.detail["held"] == {"all": 4}


def test_a_framework_that_is_not_installed_makes_its_cases_unsupported(run):
    cases = [case("a", framework="numpy", preload=("no_such_framework",)), case("b")]
    _, sink = run(cases)
    assert sink.of("a")[0].outcome == "unsupported"
    assert "no_such_framework" in sink.of("a")[0].reason
    assert sink.of("b")[0].ok


def test_interrupting_passes_through_after_the_children_are_ended(run, marked, eventually):
    class Impatient(Journal):
        def measured(self, case, result) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run([case("a"), case("b")], listener=Impatient())
    assert eventually(lambda: marked() == [])


def test_a_pool_makes_room_without_ending_a_worker_in_use(marked, eventually):
    from opbench.envs.environments import current

    with Pool() as pool:
        kinds = [pool.kind(case("x", preload=(name,)), current()) for name in ("json", "csv")]
        used = pool.workers(kinds[0], range(3))
        sessions = [worker.open() for worker in used]
        pool.workers(kinds[1], range(MIN_KEPT + 2))
        assert all(worker.alive for worker in used)
        for session in sessions:
            session.prepare(case("x"), 0, 20)
            session.close()
        # Now nobody needs them, and there are too many.
        pool.workers(kinds[1], [MIN_KEPT + 3])
        assert not any(worker.alive for worker in used)
    assert eventually(lambda: marked() == [])


def test_planned_groups_keep_the_order_of_the_cases():
    cases = [case(name) for name in "abc"]
    assert Request((PlannedGroup(tuple(cases)),), Fixed()).cases == cases


def test_what_a_setup_goes_on_without_is_in_the_result(run):
    given = case("most", setup="opbench_left_out = {3: 'RuntimeError: not here'}")
    _, sink = run([given, case("all")])
    assert sink.of("most")[0].detail["left_out"] == {"3": "RuntimeError: not here"}
    assert "left_out" not in sink.of("all")[0].detail
