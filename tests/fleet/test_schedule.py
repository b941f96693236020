"""Who gets what next, without Ray and without a clock."""

from __future__ import annotations

import random

import pytest

from opbench.case import Case
from opbench.envs.environments import Environment
from opbench.errors import UserError
from opbench.fleet.nodes import Node, check_versions, chosen, nodes_of
from opbench.fleet.options import Fleet, parse_requirements, parse_slots, size
from opbench.fleet.schedule import Schedule
from opbench.fleet.work_units import COUNTED_TOGETHER, work_units
from opbench.plan.groups import PlannedGroup
from opbench.result import Metric

HERE = Environment("current", "python")
TIME = Metric("time", "s", "", sampled=True)
COUNT = Metric("instructions", "instructions", "", tool="callgrind")


def group(name: str, device: str = "cpu") -> PlannedGroup:
    return PlannedGroup((Case("s", name, "call", "pass", device=device),), (HERE,))


def plan(count: int, *metrics: Metric, device: str = "cpu") -> list:
    return work_units([group(f"n{i}", device) for i in range(count)], metrics or (TIME,))


def take(schedule: Schedule, node: str, nodes=("a", "b"), timed=True, device="cpu"):
    return schedule.take(node, device, timed=timed, nodes=nodes)


def test_each_unit_is_handed_out_once():
    schedule = Schedule(plan(3))
    tickets = [take(schedule, node) for node in ("a", "b", "a")]
    assert [task.unit.name for _, task in tickets] == ["s/n0/call", "s/n1/call", "s/n2/call"]
    assert take(schedule, "b") is None
    for ticket, _ in tickets:
        schedule.done(ticket)
    assert schedule.over
    assert schedule.finished == schedule.total == 3


def test_a_lost_unit_goes_to_another_node_first_and_to_the_same_if_there_is_no_other():
    schedule = Schedule(plan(1))
    ticket, _ = take(schedule, "a")
    assert schedule.lost(ticket, "node a is gone") is None
    assert take(schedule, "a") is None, "b could have it"
    assert take(schedule, "a", nodes=("a",)) is not None


def test_after_the_last_retry_the_last_reason_is_reported():
    schedule = Schedule(plan(1), retries=2)
    for death in range(3):
        ticket, _ = take(schedule, "a", nodes=("a",))
        abandoned = schedule.lost(ticket, f"death {death}")
        assert (abandoned is None) == (death < 2)
    assert "gave up after 3 attempts: death 2" in abandoned.reason
    assert schedule.over
    assert schedule.finished == 1


def test_units_that_no_node_can_take_are_abandoned_with_the_reason():
    schedule = Schedule(plan(3))
    ticket, _ = take(schedule, "a")
    assert [lost.task.unit.number for lost in schedule.abandon("no node is left")] == [1, 2]
    assert not schedule.over
    schedule.done(ticket)
    assert schedule.over
    assert schedule.finished == 3


def test_replicas_go_to_different_nodes():
    schedule = Schedule(plan(1), replicas=2)
    assert take(schedule, "a") is not None
    assert take(schedule, "a") is None
    assert take(schedule, "b") is not None


def test_a_continued_run_asks_only_for_what_it_lacks():
    schedule = Schedule(plan(2), replicas=2, done=lambda unit: {"a"} if not unit.number else set())
    assert schedule.total == 3
    assert take(schedule, "a")[1].unit.number == 1, "a has measured the first one"
    assert take(schedule, "b")[1].unit.number == 0


def test_counts_are_apart_from_times_and_many_share_a_unit():
    units = plan(COUNTED_TOGETHER + 1, TIME, COUNT)
    timed, counted = [u for u in units if u.timed], [u for u in units if not u.timed]
    assert [len(u.members) for u in timed] == [1] * (COUNTED_TOGETHER + 1)
    assert [len(u.members) for u in counted] == [COUNTED_TOGETHER, 1]
    assert {u.metrics for u in timed} == {("time",)}
    assert {u.metrics for u in counted} == {("instructions",)}


def test_a_unit_for_the_gpu_waits_for_a_gpu():
    schedule = Schedule(plan(1, device="cuda"))
    assert take(schedule, "a") is None
    assert take(schedule, "a", device="gpu") is not None


@pytest.mark.parametrize("seed", range(20))
def test_whatever_is_lost_every_unit_finishes_exactly_once(seed):
    rng = random.Random(seed)
    schedule = Schedule(plan(40), replicas=2, retries=1000)
    nodes = ["a", "b", "c"]
    running: list[tuple[int, str]] = []
    ended: list[tuple[int, str]] = []
    while not schedule.over:
        node = rng.choice(nodes)
        if (taken := take(schedule, node, nodes)) is not None:
            running.append((taken[0], node))
        if running and rng.random() < 0.5:
            ticket, where = running.pop(rng.randrange(len(running)))
            if rng.random() < 0.3:
                schedule.lost(ticket, "killed")
            else:
                ended.append((schedule.done(ticket).unit.number, where))
    assert len(ended) == len(set(ended)) == 80, "two different nodes for each of forty"
    assert schedule.finished == schedule.total


# -- nodes and options ---------------------------------------------------------------------------


def node(name: str, **more) -> Node:
    facts = {"opbench": "1.0", "cpu": "Neoverse-N1", "memory": 16 * 2**30, "gpus": []}
    return Node(
        name, name, {"CPU": 4.0, **more.pop("resources", {})}, more.pop("labels", {}), facts
    )


def listed(name: str, host: str, number: int, alive: bool = True) -> dict:
    return {
        "NodeID": f"{number:056x}",
        "Alive": alive,
        "NodeName": name,
        "NodeManagerHostname": host,
        "Resources": {"CPU": 1.0},
        "Labels": {},
    }


def test_nodes_are_called_by_their_name_or_host_and_no_two_alike():
    found = nodes_of(
        [listed("10.0.0.1", "h", 1), listed("big", "h", 2), listed("10.0.0.1", "h", 2**200)]
    )
    names = [one.name for one in found]
    assert names[:2] == ["h", "big"]
    assert names[2].startswith("h-")
    later = nodes_of([listed("big", "h", 2, alive=False), listed("big", "h", 3)], found)
    assert [one.name for one in later] == ["big"]


@pytest.mark.parametrize(
    ("require", "said"),
    [
        ({"memory": "64GiB"}, "no node meets memory=64GiB: 2 nodes, with 16.0 GiB"),
        ({"cpu": "EPYC"}, "no node meets cpu=EPYC: 2 nodes, with Neoverse-N1"),
        ({"gpu": "H100"}, "no node meets gpu=H100: 2 nodes, with no GPU"),
        ({"zone": "c"}, "no node meets zone=c: 2 nodes, with a, b"),
        ({"disk": "3"}, "no node meets disk=3: 2 nodes, with 1, nothing of that name"),
        ({"zone": "a", "disk": "1"}, "no node meets all of zone=a, disk=1: each of 2 nodes lacks"),
    ],
)
def test_what_no_node_has_is_said_with_what_they_have(require, said):
    nodes = [
        node("x", labels={"zone": "a"}),
        node("y", labels={"zone": "b"}, resources={"disk": 1}),
    ]
    with pytest.raises(UserError) as caught:
        chosen(nodes, require)
    assert said in str(caught.value)


def test_requirements_choose_nodes_by_label_resource_and_fact():
    nodes = [
        node("x", labels={"zone": "a"}),
        node("y", labels={"zone": "b"}, resources={"disk": 1}),
    ]
    assert [n.name for n in chosen(nodes, {"zone": "b", "disk": "1"})] == ["y"]
    assert [n.name for n in chosen(nodes, {"cpu": "neoverse", "memory": "8GB"})] == ["x", "y"]


def test_a_node_of_another_version_or_of_none_is_named():
    with pytest.raises(UserError, match=r"node x has opbench 1\.0 and this is 2\.0"):
        check_versions([node("x")], "2.0")
    bare = Node("z", "z", facts={"error": "ModuleNotFoundError: No module named 'opbench'"})
    with pytest.raises(UserError, match=r"node z has no opbench .*No module named"):
        check_versions([bare], "2.0")


@pytest.mark.parametrize(
    "wrong",
    [
        "spark",
        "ray:/x:1",
        "ray://host",
        "ray://host:0",
        "ray://host:99999",
        "ray://a b:1",
        "http://h:1",
    ],
)
def test_a_wrong_address_is_refused(wrong):
    with pytest.raises(UserError, match="--on takes ray, or ray://HOST:PORT"):
        Fleet.of(wrong)


def test_slots_requirements_and_sizes_are_read_as_written():
    assert parse_slots("gpu=2") == {"cpu": 1, "gpu": 2}
    assert parse_requirements(["a=b,c=d", "memory=2GiB"]) == {"a": "b", "c": "d", "memory": "2GiB"}
    assert size("64GiB") == 64 * 2**30
    assert size("1.5GB") == 1_500_000_000
    for wrong in ("cpu=0", "tpu=1", "cpu", "cpu=x"):
        with pytest.raises(UserError, match="slots are written"):
            parse_slots(wrong)
    for wrong in (["x"], ["=1"], ["memory=lots"]):
        with pytest.raises(UserError):
            parse_requirements(wrong)
