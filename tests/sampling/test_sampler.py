"""The order of execution, with real workers of plain Python: who runs, when, and who is stopped."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest

from opbench.envs.environments import Environment
from opbench.plan.groups import Slot
from opbench.plan.policy import Adaptive, Fixed
from opbench.result import Metric
from opbench.sampling import sampler as sampling
from opbench.sampling.lane import Lane
from opbench.sampling.outcome import sampled_result
from opbench.sampling.sampler import Sampler
from opbench.workers.process import Worker

#: Loose, so that it ends early: these tests look at the order, not at the numbers. The time is only
#: a limit for a busy machine, where a child's set-up may take a third of a second: what the time
#: of a case cannot pay is not started.
QUICK = Adaptive(precision=0.5, max_time=4.0, warmup_seconds=0.02, timeout=120)

#: Long enough to be precise early: of an empty statement little is left but noise.
WORK = "sum(range(999))"

HERE = Environment("here", sys.executable)

#: Each child signs the register; each call looks whether any other one runs.
ALONE = """
import os, pathlib, time
def others_run():
    for file in pathlib.Path({folder!r}).iterdir():
        if file.name != str(os.getpid()):
            try:
                stat = pathlib.Path("/proc", file.name, "stat").read_text()
            except OSError:
                continue
            if stat.rpartition(")")[2].split()[0] not in "TZX":
                return True
    return False
"""
SIGN = "pathlib.Path({folder!r}, str(os.getpid())).touch()"
#: A signal takes a moment to arrive; a sibling that keeps running does not stop in that time.
LOOK = "deadline = time.monotonic() + 15\nwhile others_run(): assert time.monotonic() < deadline"


@pytest.fixture
def workers() -> Iterator:
    """Workers by start number, each knows its number."""
    started: dict[int, Worker] = {}

    def get(starts) -> list[Worker]:
        for start in starts:
            if start not in started:
                env = {"START": str(start)}
                started[start] = Worker(sys.executable, (), start=start, env=env)
        return [started[start] for start in starts]

    yield get
    for worker in started.values():
        worker.close()


@pytest.fixture
def group(workers):
    samplers: list[Sampler] = []

    def make(cases, policy=QUICK, **more) -> Sampler:
        slots = [Slot(case, HERE) for case in cases]
        rng = random.Random(7)
        samplers.append(Sampler(slots, policy, lambda _, starts: workers(starts), rng=rng, **more))
        return samplers[-1]

    yield make
    for sampler in samplers:
        sampler.close()


def sequence(group) -> list[tuple[str, int, int]]:
    """(case, start, session) in the order of the blocks."""
    found = [
        (sample.order, (member.case.name, sample.start, sample.session))
        for member in group.members
        for sample in member.samples
    ]
    return [place for _order, place in sorted(found)]


@pytest.mark.parametrize("names", [["one"], ["one", "two", "three"]])
def test_only_the_lane_whose_turn_it_is_runs(group, python_case, tmp_path, names):
    folder = str(tmp_path)
    cases = [
        python_case(
            LOOK, name, globals=ALONE.format(folder=folder), setup=SIGN.format(folder=folder)
        )
        for name in names
    ]
    sampled = group(cases, replace(QUICK, max_starts=3))
    members = sampled.sample()
    assert [member.ended for member in members] == [None] * len(names)
    assert all(member.samples for member in members)


def test_blocks_are_interleaved_in_random_order_and_every_start_is_used(group, python_case):
    # So many rounds that they are not alike by chance, and time for them on a busy machine.
    policy = replace(QUICK, max_starts=3, min_rounds=30, max_time=60.0)
    sampled = group([python_case(WORK, name) for name in "abc"], policy)
    sampled.sample()
    order = sequence(sampled)
    assert {name for name, _, _ in order} == set("abc")
    starts = {name: {s for n, s, _ in order if n == name} for name in "abc"}
    assert starts["a"] == starts["b"] == starts["c"]
    assert len(starts["a"]) >= 3
    # Blocks of the same children, cut into rounds: each child has its turn, not always the same.
    first = next(iter(order))[1]
    of_start = [name for name, start, _ in order if start == first]
    rounds = [tuple(of_start[i : i + 3]) for i in range(0, len(of_start) - 2, 3)]
    assert all(set(turn) == set("abc") for turn in rounds)
    assert len(set(rounds)) > 1


def test_a_single_case_takes_its_turns_over_all_its_starts(group, python_case):
    # No more starts than three, whatever this machine's layouts scatter.
    policy = replace(QUICK, max_starts=3, min_rounds=12, max_time=60.0)
    sampled = group([python_case("sum(range(99))")], policy)
    (member,) = sampled.sample()
    starts = [start for _, start, _ in sequence(sampled)]
    assert set(starts) == {0, 1, 2}
    assert len({tuple(starts[i : i + 3]) for i in range(0, len(starts) - 2, 3)}) > 1
    assert member.stopped in ("precise", "starts", "time")
    place = {"environment": "current", "fingerprint": "f", "policy": "p", "group": ""}
    result = sampled_result(member, Metric("time", "s", ""), QUICK, place)
    assert result.detail["starts"] == 3


def test_a_long_set_up_does_not_leave_a_case_with_a_single_block(group, python_case):
    case = replace(python_case("sum(range(99))"), setup="import time\ntime.sleep(0.4)")
    (member,) = group([case], replace(QUICK, max_time=0.3, precision=1e-9)).sample()
    assert member.stopped == "time"
    # All rounds, as long as they cost next to nothing; which they do not where a block is held up.
    assert 1 < len(member.samples) <= QUICK.min_rounds


#: Stays for a while, and notes how many others it met; to meet one that is on its way, longer.
MEET = """
import os, pathlib, time
mine = pathlib.Path({folder!r}, str(os.getpid()))
mine.touch()
end = time.monotonic() + ({patience} if os.path.exists({log!r}) else 0.3)
met = 0
while not met and time.monotonic() < end:
    time.sleep(0.01)
    met = len(list(mine.parent.iterdir())) - 1
time.sleep(0.3)
mine.unlink()
with open({log!r}, "a") as log:
    log.write(f"{{met}} ")
"""


@pytest.mark.parametrize(
    ("independent", "patience", "met"), [(True, 20, [0, 1, 1, 1, 1]), (None, 0.3, [0] * 5)]
)
def test_children_set_up_side_by_side_where_that_cannot_disturb_them(
    group, python_case, tmp_path, independent, patience, met
):
    folder, log = tmp_path / "here", tmp_path / "log"
    folder.mkdir()
    case = python_case(WORK, setup=MEET.format(folder=str(folder), log=str(log), patience=patience))
    case = replace(case, independent=independent)
    # Its time pays for all five starts, however long a busy machine takes to set them up.
    policy = replace(QUICK, max_starts=5, max_time=60.0)
    group([case], policy, cpus=(0, 1)).sample()
    # The first child shows how much memory one needs, so it is alone in any case.
    assert [int(each) for each in log.read_text().split()] == met


def test_the_first_children_of_a_comparison_set_up_side_by_side(group, python_case, tmp_path):
    """They will live together anyway, and show together what they need."""
    folder, log = tmp_path / "here", tmp_path / "log"
    folder.mkdir()
    setup = MEET.format(folder=str(folder), log=str(log), patience=20)
    setup = setup.replace("os.path.exists", "bool")  # the first waits for the other, too
    cases = [replace(python_case(WORK, name, setup=setup), independent=True) for name in "ab"]
    group(cases, replace(QUICK, max_time=0.1), cpus=(0, 1)).sample()
    assert {int(each) for each in log.read_text().split()} == {1}


@pytest.mark.parametrize("cpus", [(), (0, 1)], ids=["alone", "beside"])
def test_a_long_call_of_a_comparison_is_warmed_up_once_as_soon_as_it_is_known(
    group, python_case, cpus
):
    cases = [
        replace(python_case("time.sleep(0.06)", name, setup="import time"), independent=True)
        for name in "ab"
    ]
    policy = replace(QUICK, max_time=0.5, warmup_seconds=0.2)
    for member in group(cases, policy, cpus=cpus).sample():
        first, *others = member.lanes
        assert first.warmup["first"] >= 0.06
        # What a first call takes is not known of those that make it at the same time.
        assert all((lane.warmup["first"] is None) == bool(cpus) for lane in others)
        assert first.warmup["calls"] >= 2
        assert [lane.warmup["calls"] for lane in others] == [1] * len(others)
        assert {lane.n for lane in member.lanes} == {1}
        assert {lane.per_call for lane in others} == {first.per_call}


def test_the_fixed_design_sets_up_each_run_anew_with_the_next_seed(group, python_case, tmp_path):
    log = tmp_path / "seeds"
    case = python_case("x = 1", setup=f"open({str(log)!r}, 'a').write(f'{{seed}} ')", seed=5)
    sampled = group([case], Fixed(num_runs=7, num_repeats=3))
    (member,) = sampled.sample()
    assert [int(seed) for seed in log.read_text().split()] == [5, 6, 7, 8, 9, 10, 11]
    samples = member.samples
    assert [sample.n for sample in samples] == [3] * 7
    # Run by run in turn over the worker starts: 0, 1, 2, 0, 1, 2, 0.
    assert [start for _, start, _ in sequence(sampled)] == [0, 1, 2, 0, 1, 2, 0]
    assert member.stopped == "runs"


@pytest.mark.parametrize(
    ("seconds", "children", "untimed"), [(0.0, 3, 156), (0.11, 3, 6), (1.1, 1, 1)]
)
def test_a_long_run_is_not_preceded_by_other_calls(
    group, python_case, tmp_path, seconds, children, untimed
):
    # Two runs of two calls in each child: each run wakes its child with two calls, the first with
    # fifty; or only the first one, with one call where that takes so long that a cold start does
    # not explain it.
    log = tmp_path / "calls"
    case = python_case(
        f"log.write('x'); log.flush(); time.sleep({seconds})",
        setup=f"import time\nlog = open({str(log)!r}, 'a')",
    )
    group([case], Fixed(num_runs=2 * children, num_repeats=2, starts=children)).sample()
    assert len(log.read_text()) == 2 * children * 2 + untimed


@pytest.mark.parametrize(
    ("seconds", "names", "woken"), [(0.06, "a", 0), (0.01, "a", 1), (0.06, "ab", 1)]
)
def test_a_long_call_is_woken_only_to_begin_like_those_it_is_compared_with(
    group, python_case, tmp_path, monkeypatch, seconds, names, woken
):
    monkeypatch.setattr(sampling, "WAIT_SHARE", 0.0)  # no block is taken again: calls are counted
    cases = [
        python_case(
            f"log.write('x'); log.flush(); time.sleep({seconds})",
            name,
            setup=f"import time\nlog = open({str(tmp_path / name)!r}, 'a')",
        )
        for name in names
    ]
    for member in group(cases, replace(QUICK, max_time=1.0, max_starts=1)).sample():
        warm_up = sum(lane.warmup["calls"] for lane in member.lanes)
        timed = sum(sample.n + woken for sample in member.samples)
        assert len((tmp_path / member.case.name).read_text()) == warm_up + timed


def test_cases_that_do_not_fit_together_are_measured_alone_and_say_so(group, python_case):
    sampled = group([python_case(WORK, name) for name in "ab"], memory_free=1)
    sampled.sample()
    names = [name for name, _, _ in sequence(sampled)]
    # One after the other, not turn by turn.
    assert names == sorted(names) or names == sorted(names, reverse=True)
    assert set(names) == {"a", "b"}
    assert sampled.design.relation == "separate"


def test_starts_that_do_not_fit_together_are_measured_in_turns(group, python_case, workers):
    (worker,) = workers([0])
    lane = Lane.fork(worker, python_case("x = 1"), QUICK, 0, 0)
    lane.warm_up(0.01)
    lane.session.close()
    # Half of the free memory holds one child, not three.
    sampled = group([python_case("x = 1")], memory_free=3 * lane.own_bytes)
    sampled.sample()
    starts = [start for _, start, _ in sequence(sampled)]
    assert starts == sorted(starts)
    assert set(starts) == {0, 1, 2, 3, 4}


def test_fixed_runs_that_do_not_fit_get_a_child_each(group, python_case):
    sampled = group([python_case("x = 1")], Fixed(num_runs=4, num_repeats=1), memory_free=1)
    (member,) = sampled.sample()
    assert len({(s.start, s.session) for s in member.samples}) == 4


@pytest.mark.parametrize("policy", [QUICK, Fixed(num_runs=6, num_repeats=1)])
def test_one_failing_start_fails_the_case_and_the_others_go_on(group, python_case, policy):
    fails = python_case(
        "if os.environ['START'] == '2': raise ValueError('only here')", "fails", globals="import os"
    )
    sampled = group([fails, python_case(WORK, "fine")], policy)
    broken, fine = sampled.sample()
    assert broken.ended is not None
    assert "only here" in broken.ended.reason
    assert fine.ended is None
    assert {sample.start for sample in fine.samples} >= {0, 1, 2}


def test_children_are_gone_when_a_group_is_closed(group, python_case, marked, eventually, workers):
    cases = [python_case(WORK, "a"), python_case("pass", "b", setup="raise ValueError")]
    sampled = group(cases)
    sampled.sample()
    sampled.close()
    alive = [worker.pid for worker in workers(range(3))]
    assert eventually(lambda: set(marked()) >= set(alive))
    assert eventually(lambda: all(worker.idle for worker in workers(range(3))))
    children = set(marked()) - {worker.pid for worker in workers(range(12))}
    assert eventually(lambda: not children & set(marked()))


def test_estimates_are_reported_while_it_goes_on(group, python_case):
    reports = []
    sampled = group([python_case(WORK)], on_estimate=lambda *what: reports.append(what))
    sampled.sample()
    case, estimate, spent = reports[-1]
    assert case.name == "snippet"
    assert estimate.low <= estimate.value <= estimate.high
    assert spent > 0


def test_the_sides_of_a_start_share_a_cpu_which_each_set_draws_anew(group, python_case):
    sampled = group([python_case(WORK, name) for name in "ab"], cpus=(0, 1))
    sampled.sample()
    sets: dict[int, list[int | None]] = {}
    for member in sampled.members:
        for start in {lane.start for lane in member.lanes}:
            cpus = [lane.cpu for lane in member.lanes if lane.start == start]
            assert sets.setdefault(start, cpus) == cpus
    assert {cpu for cpus in sets.values() for cpu in cpus} == {0, 1}


@pytest.mark.parametrize("more", [{"threads": 2}, {"device": "cuda"}])
def test_code_that_uses_several_cpus_or_none_is_left_alone(group, python_case, more):
    slots = group([replace(python_case("x = 1", name), **more) for name in "ab"], cpus=(0, 1))
    assert slots._cpu_of(0) is None
    assert group([python_case("x = 1", "alone")], cpus=(0, 1))._cpu_of(0) is None
