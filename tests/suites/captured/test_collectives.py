"""Collectives of captured ranks: matched, refused, counted, and replayed in real process groups."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from opbench.capture.calls import Capture, OperatorCall, Step
from opbench.capture.reading import read
from opbench.capture.values import GroupSpec, Opaque, TensorSpec, TorchConstant
from opbench.capture.writing import write
from opbench.errors import UserError
from opbench.report.table import printed, to_terminal
from opbench.suites.captured.collectives import report
from opbench.suites.captured.collectives.blocks import planned
from opbench.suites.captured.collectives.matching import (
    Collective,
    by_rank,
    left_out,
    matched,
    waits_of,
)
from opbench.suites.captured.collectives_command import place_of
from opbench.suites.captured.findings.ranks import message_bytes

HEADER = {"opbench": "capture", "version": 1, "steps": 1, "threads": 1, "device": "cpu"}
BOTH = GroupSpec((0, 1), "gloo")
SUM = TorchConstant("reduce_op", "SUM")


def reduce_of(size: int, group: object = BOTH, op: object = SUM, **more: object) -> OperatorCall:
    tensor = TensorSpec("float32", (size,))
    settings = {"counts": {"backward": 1}, "awaited_seconds": {"backward": 0.5}, **more}
    return OperatorCall(0, "c10d::allreduce_", "default", ([tensor], group, op, None), **settings)  # type: ignore[arg-type]


def capture(rank: int, *calls: OperatorCall, ranks: int = 2, order: str = "") -> Capture:
    numbered = tuple(replace(call, index=index) for index, call in enumerate(calls))
    places = [int(each) for each in order] or range(len(calls))
    steps = tuple(Step(place, (0,) * len(numbered[place].tensors)) for place in places)
    header = {**HEADER, "rank": rank, "ranks": ranks}
    return Capture(numbered, header, steps, name=f"step.rank{rank}")


def both(*calls: OperatorCall, order: str = "") -> list[Capture]:
    return [capture(rank, *calls, order=order) for rank in range(2)]


# -- matching --------------------------------------------------------------------------------------


def test_unique_collectives_are_matched_by_their_order_and_counted():
    found = matched(both(reduce_of(8), reduce_of(4), order="0101"))
    assert [(each.bytes, each.per_step, each.group_size) for each in found] == [
        (32, 2, 2), (16, 2, 2),
    ]  # fmt: skip
    assert {each.name for each in found} == {"c10d::allreduce_ SUM"}
    assert not any(each.obstacle for each in found)


def test_files_in_any_order_are_those_of_all_ranks_once():
    first, second = both(reduce_of(8))
    assert by_rank([second, first]) == [first, second]
    for wrong in ([first], [first, first], [first, second, second]):
        with pytest.raises(UserError, match="the program had 2 ranks; name the file of each, once"):
            by_rank(wrong)
    alone = replace(first, header=HEADER)
    assert by_rank([alone]) == [alone]


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ((reduce_of(8), reduce_of(5)), r"number 2 of the step is .*\[4\].* and .*\[5\]"),
        ((reduce_of(8), reduce_of(4, op=TorchConstant("reduce_op", "MAX"))), "SUM.*MAX"),
        ((reduce_of(8),), "2 and 1 per step"),
        ((), "2 and 0 per step"),
    ],
)
def test_ranks_that_would_wait_for_ever_are_an_error(other, said):
    first = capture(0, reduce_of(8), reduce_of(4))
    with pytest.raises(UserError, match=said):
        matched([first, capture(1, *other)])


def test_a_step_without_collectives_is_an_error():
    with pytest.raises(UserError, match="no collective in the captured step"):
        matched([capture(0), capture(1)])


def test_ranks_may_bring_different_sizes_where_the_collective_allows_it():
    def gathered(size: int) -> OperatorCall:
        own, parts = TensorSpec("float32", (size,)), [TensorSpec("float32", (8,))] * 2
        return replace(reduce_of(8), operator="c10d::allgather_", args=([parts], [own], BOTH))

    (found,) = matched([capture(0, gathered(8)), capture(1, gathered(6))])
    assert found.bytes == 64, "of all ranks together"


def test_groups_of_a_mesh_are_replayed_side_by_side():
    """Two pairs of ranks, each with a group of its own."""
    pairs = [GroupSpec((0, 1), "gloo"), GroupSpec((2, 3), "gloo")]
    captures = [capture(rank, reduce_of(8, pairs[rank // 2]), ranks=4) for rank in range(4)]
    (found,) = matched(captures)
    assert (found.obstacle, found.group_size) == ("", 2)
    captures[3] = capture(3, reduce_of(8, GroupSpec((1, 3), "gloo")), ranks=4)
    (found,) = matched(captures)
    assert "name different groups" in found.obstacle


@pytest.mark.parametrize(
    ("group", "said"),
    [
        (Opaque("torch.ScriptObject"), "recorded without its process group: capture"),
        (GroupSpec((0, 1), "mpi"), "its backend is mpi; gloo and nccl are replayed"),
        (GroupSpec((0, 1), "nccl"), "nccl is replayed with tensors on cuda only"),
        (GroupSpec((0, 7), "gloo"), "the group of rank 0 is not one of the 2 ranks"),
        (GroupSpec((0,), "gloo"), "the group of rank 1 is not one of the 2 ranks"),
    ],
)
def test_a_call_that_cannot_be_replayed_says_why(group, said):
    (found,) = matched(both(reduce_of(8, group)))
    assert said in found.obstacle


def test_an_object_or_a_sparse_tensor_is_refused():
    (found,) = matched(both(reduce_of(8, op=Opaque("thing"))))
    assert "a thing cannot be recorded" in found.obstacle
    sparse = TensorSpec("float32", (8,), layout="sparse_coo")
    (found,) = matched(both(replace(reduce_of(8), args=([sparse], BOTH, SUM, None))))
    assert "sparse" in found.obstacle


def test_messages_and_unknown_operators_are_left_out_with_the_reason():
    names = ("c10d::send", "c10d::monitored_barrier_", "_c10d_functional::wait_tensor")
    odd = [replace(reduce_of(8), operator=name) for name in names]
    captures = both(reduce_of(8), *odd)
    assert len(matched(captures)) == 1
    reasons = left_out(captures)
    assert list(reasons) == ["c10d::send", "c10d::monitored_barrier_"]
    assert "between two ranks" in reasons["c10d::send"]


# -- times while captured --------------------------------------------------------------------------


def test_the_captured_time_is_the_mean_of_the_ranks_per_call():
    early = reduce_of(8, counts={"backward": 4}, awaited_seconds={"backward": 8.0})
    late = reduce_of(8, counts={"backward": 4}, awaited_seconds={"backward": 4.0})
    (found,) = matched([capture(0, early), capture(1, late)])
    assert found.captured == pytest.approx(1.5)
    (untimed,) = matched([capture(0, early), capture(1, reduce_of(8, awaited_seconds={}))])
    assert untimed.captured is None
    on_gpu = reduce_of(8, device_seconds={"backward": 0.25})
    (found,) = matched(both(on_gpu))
    assert found.captured == pytest.approx(0.25), "the GPU's own time, where it is known"


def test_the_wait_for_a_functional_collective_counts_as_its_time():
    text = "_c10d_functional::all_reduce"
    given = TensorSpec("float32", (8,))
    reduce = OperatorCall(0, text, "default", (given, "sum", BOTH), outputs=(given,),
                          counts={"forward": 2}, seconds={"forward": 2.0})  # fmt: skip
    wait = OperatorCall(1, "_c10d_functional::wait_tensor", "default", (given,),
                        counts={"forward": 2}, seconds={"forward": 6.0})  # fmt: skip
    order = (Step(0, (0,), (1,)), Step(1, (1,), (1,)), Step(0, (0,), (2,)), Step(1, (2,), (2,)))
    header = {**HEADER, "rank": 0, "ranks": 1}
    one = Capture((reduce, wait), header, order)
    assert waits_of(one) == {0: 3.0}
    (found,) = matched([one])
    assert found.captured == pytest.approx(1.0 + 3.0)
    assert found.name == "_c10d_functional::all_reduce SUM"


def test_the_size_is_that_of_the_larger_side():
    part, whole = TensorSpec("float16", (4,)), TensorSpec("float16", (8,))
    gather = OperatorCall(0, "c10d::_allgather_base_", "default", (whole, part, BOTH))
    assert message_bytes(gather) == 16
    view = TensorSpec("float16", (4,), offset=1000, alias=0)
    assert message_bytes(replace(gather, args=(whole, view, BOTH))) == 16
    functional = OperatorCall(
        0, "_c10d_functional::all_gather_into_tensor", "default", (part, 2, BOTH), outputs=(whole,)
    )
    assert message_bytes(functional) == 16
    assert message_bytes(replace(gather, operator="c10d::barrier")) == 0


# -- the table -------------------------------------------------------------------------------------


def shown(*times: tuple[float | None, float], starts: int = 5, ranks: int = 2) -> str:
    """The table of collectives of 1 MB, each with its time while captured and alone."""
    calls = (reduce_of(250_000),) * ranks
    found = [Collective(calls, 2, captured) for captured, _ in times]
    blocks = [[{"blocks": [alone] * 3, "reason": ""} for _, alone in times] for _ in range(starts)]
    listed = report.table(report.replayed(found, blocks), {"c10d::send": "why not"}, "more")
    return " ".join(printed(lambda console: to_terminal([listed], console), 150).split())


def test_the_table_has_the_bandwidth_and_the_sums_of_a_step():
    text = shown((0.003, 0.001), (0.001, 0.0005))
    assert "c10d::allreduce_ SUM 2 1.00 MB 2 3.00 ms 1.000 ms ± 0.12 % 1.00 GB/s" in text
    # Twice per step each: 6 + 2 ms while captured, 2 + 1 ms alone.
    assert "Per step: 4 collectives, 8.00 ms while captured, 3.00 ms alone" in text
    assert "for 5.00 ms the ranks waited for each other, or for a core" in text
    assert "c10d::send: not replayed: why not" in text


def test_nobody_waited_where_the_step_was_as_fast():
    assert "4.00 ms alone." in shown((0.001, 0.002))
    assert "waited for each other" not in shown((0.003, 0.001), ranks=1)
    assert "Per step" not in shown((None, 0.001)), "a sum of one of the two is no comparison"


def test_one_start_is_too_few_and_the_table_says_so():
    assert "rest on a single start of the ranks, too few" in shown((0.003, 0.001), starts=1)
    assert "too few" not in shown((0.003, 0.001), starts=3)


def test_a_collective_that_failed_in_a_start_has_a_reason_and_no_time():
    found = matched(both(reduce_of(8)))
    starts = [[{"blocks": [1.0], "reason": ""}], [{"blocks": [], "reason": "timed out"}]]
    (one,) = report.replayed(found, starts)
    assert (one.alone, one.reason) == (None, "timed out")


def test_the_environment_of_torchrun_makes_a_process_one_rank():
    assert place_of({}) is None
    assert place_of({"RANK": "1"}) is None
    assert place_of({"RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "1"}) == (3, 4, 1)


def test_blocks_last_long_enough_and_are_not_endless():
    assert planned(1e-3) == (10, 25)
    assert planned(10.0) == (1, 5)
    assert planned(0.0) == (1000, 25)


# -- real process groups ---------------------------------------------------------------------------

#: Ranks call these, whichever they are and however many.
STEP = """
import torch
import torch.distributed as dist
from torch.ops import _c10d_functional as functional

import opbench


def step(rank, ranks, store):
    dist.init_process_group("gloo", rank=rank, world_size=ranks, store=store)
    group = dist.new_group(list(range(ranks)))
    x, y = torch.ones(64), torch.empty(64 * ranks)
    with opbench.record("step.jsonl"):
        dist.all_reduce(x, op=dist.ReduceOp.MAX)
        dist.all_reduce(x, group=group, async_op=True).wait()
        dist.all_gather([y[:64] for _ in range(ranks)], x)
        dist.broadcast(x, 0)
        functional.wait_tensor(functional.all_reduce(x, "sum", group.group_name))
        dist.barrier()
    group = None
    dist.destroy_process_group()
"""
COLLECTIVES = [
    "c10d::allreduce_ MAX", "c10d::allreduce_ SUM", "c10d::allgather_", "c10d::broadcast_",
    "_c10d_functional::all_reduce SUM", "c10d::barrier",
]  # fmt: skip
#: The ranks are forked, when torch is imported.
FORKED = """
import os
import sys

child = os.fork()
step(0 if child else 1, 2, dist.FileStore(sys.argv[1], 2))
if child:
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_single_rank_records_and_replays_every_kind(tmp_path, monkeypatch):
    import torch.distributed as dist

    from opbench.suites.captured.collectives.replaying import replay

    monkeypatch.chdir(tmp_path)
    program: dict = {}
    exec(compile(STEP, "step", "exec"), program)
    program["step"](0, 1, dist.HashStore())
    # One that gloo refuses, and a limit of a millisecond, which a replay does not take over.
    text = (tmp_path / "step.jsonl").read_text()
    assert '"SUM"},null]' in text
    text = text.replace('"SUM"},null]', '"SUM"},null,true,1]').replace('"MAX"', '"PREMUL_SUM"')
    (tmp_path / "step.jsonl").write_text(text)
    found = matched(by_rank([read(tmp_path / "step.jsonl")]))
    assert [each.name for each in found][1:] == COLLECTIVES[1:]
    assert all(each.captured for each in found)
    rendezvous = {"rank": 0, "world_size": 1, "store": dist.HashStore()}
    refused, *measured = replay(found, 0, 0, 60.0, rendezvous)
    assert "Cannot use ReduceOp" in refused.reason
    assert all(each.blocks and not each.reason for each in measured), measured


@pytest.mark.slow
def test_two_ranks_replay_what_they_recorded_together(tmp_path, opbench_here):
    (tmp_path / "program.py").write_text(STEP + FORKED)
    recorded = subprocess.run(
        [sys.executable, "program.py", str(tmp_path / "store")],
        cwd=tmp_path, stderr=subprocess.PIPE, text=True, timeout=600,
        env={**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"},
    )  # fmt: skip
    assert recorded.returncode == 0, recorded.stderr
    files = [f"step.rank{rank}.jsonl" for rank in range(2)]
    for name in files:
        calls = {call.operator: call for call in read(tmp_path / name).calls}
        assert calls["_c10d_functional::all_reduce"].group == BOTH
        assert calls["c10d::broadcast_"].awaited_seconds["data"] > 0
    done = opbench_here("collectives", *files, "--starts", "2", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for name in COLLECTIVES:
        (row,) = [line for line in done.stdout.splitlines() if line.startswith(f" {name} ")]
        assert row.split()[len(name.split())] == "2", row
        assert "±" in row
    assert "Per step: 6 collectives" in done.stdout


#: In the interpreter of rank 1, before anything else.
KILLING = """
import os
import signal
import sys

if '"rank": 1' in sys.orig_argv[-1]:
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_rank_that_is_killed_ends_the_command_with_one_line(tmp_path, opbench_here, monkeypatch):
    for rank, each in enumerate(both(reduce_of(8))):
        write(each, tmp_path / f"step.rank{rank}.jsonl")
    (tmp_path / "sitecustomize.py").write_text(KILLING)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    done = opbench_here("collectives", "step.rank0.jsonl", "step.rank1.jsonl")
    assert done.returncode == 2
    assert done.stderr.strip() == "opbench: rank 1 was ended by SIGKILL"


@pytest.mark.slow
def test_a_collective_that_cannot_end_costs_its_limit_and_nothing_else(tmp_path, opbench_here):
    tensor = TensorSpec("float32", (8,))
    broadcast = replace(reduce_of(8), operator="c10d::broadcast_", args=([tensor], BOTH, 0, 0))
    for rank, sizes in enumerate(([4, 4], [8, 0])):
        # Rank 1 keeps everything for rank 0, which expects a half and sends one.
        args = (tensor, tensor, BOTH, [], sizes)
        exchange = replace(reduce_of(8), operator="c10d::alltoall_base_", args=args)
        write(capture(rank, exchange, broadcast), tmp_path / f"step.rank{rank}.jsonl")
    files = [f"step.rank{rank}.jsonl" for rank in range(2)]
    done = opbench_here("collectives", *files, "--starts", "1", "--timeout", "5")
    assert done.returncode == 0, done.stderr
    assert "c10d::alltoall_base_: not replayed: " in done.stdout
    (row,) = [line for line in done.stdout.splitlines() if line.startswith(" c10d::broadcast_ ")]
    assert "±" in row, "in a group of its own"
