"""Cases that compute the same are given the same inputs and compared before they are timed."""

from __future__ import annotations

import mmap
from dataclasses import replace

import numpy as np
import pytest

from opbench.case import Case, Parity
from opbench.plan.groups import groups
from opbench.plan.policy import Fixed
from opbench.plan.request import Request
from opbench.running.listener import Listener
from opbench.running.runner import Runner
from opbench.worker.parity import tensors
from opbench.workers.pool import Pool
from opbench.workers.session import SessionHandle

SETUP = "rng = np.random.default_rng(seed)\nx = rng.standard_normal((50, 40)).astype('float32')"


def case(name: str, stmt: str, *, rank: int = 0, setup: str = SETUP, **more) -> Case:
    parity = Parity("tests/one", ("x",), (("y", "y"),), rank=rank, **more)
    return Case(
        "tests",
        name,
        "call",
        stmt,
        setup,
        "import numpy as np",
        framework="numpy",
        preload=("numpy",),
        parity=parity,
    )


class Journal(Listener):
    def __init__(self) -> None:
        self.compared: list[list[str]] = []

    def comparing(self, cases) -> None:
        self.compared.append([one.name for one in cases])


def run(*cases: Case, metrics=("time",)):
    journal = Journal()
    request = Request(tuple(groups(cases)), Fixed(num_runs=2, num_repeats=2, starts=1), metrics)
    found = Runner(request, lambda *_: None, journal).run()
    return {(one.name, result.metric): result for one, result in found}, journal


def test_a_case_alone_is_compared_with_nobody():
    results, journal = run(case("alone", "y = x + x"))
    assert results["alone", "time"].ok
    assert journal.compared == []


def test_inputs_are_made_once_so_another_seed_does_not_matter():
    """The second draws other numbers by itself, and is given those of the first."""
    other = SETUP.replace("default_rng(seed)", "default_rng(12345)")
    results, journal = run(
        case("doubled", "y = 2 * x"), case("added", "y = x + x", setup=other), metrics=("time",)
    )
    assert {key: result.outcome for key, result in results.items()} == {
        ("doubled", "time"): "ok",
        ("added", "time"): "ok",
    }
    assert journal.compared == [["doubled", "added"]]  # once for both, before either is timed


def test_all_workers_import_before_the_first_call_is_waited_for(monkeypatch):
    happened = []
    start, exchange = Pool._start, SessionHandle.begin_exchange
    monkeypatch.setattr(Pool, "_start", lambda *args: happened.append("start") or start(*args))
    monkeypatch.setattr(
        SessionHandle,
        "begin_exchange",
        lambda *args, **files: happened.append("exchange") or exchange(*args, **files),
    )
    other = replace(case("second", "y = x + x"), framework="python", preload=("json", "numpy"))
    results, _ = run(case("first", "y = 2 * x"), other)
    assert all(result.ok for result in results.values())
    assert happened[:4] == ["start", "start", "exchange", "exchange"]


@pytest.fixture
def begun(monkeypatch) -> list[tuple[str, ...]]:
    """A core for a second child; of each exchange, what was done with the file of the inputs."""
    found: list[tuple[str, ...]] = []
    exchange = SessionHandle.begin_exchange

    def begin(*args, **files):
        found.append(tuple(files))
        return exchange(*args, **files)

    monkeypatch.setattr(SessionHandle, "begin_exchange", begin)
    monkeypatch.setattr(Runner, "_cores_for", lambda *_: 2)
    return found


def test_the_second_sets_up_beside_the_first_and_waits_for_its_inputs(begun, tmp_path):
    """The first goes on only when the second has set up, and makes other inputs than it would."""
    there = tmp_path / "there"
    wait = f"\nimport os, time\nwhile not os.path.exists({str(there)!r}): time.sleep(0.01)\n"
    makes, *values = SETUP.split("\n")
    first = "\n".join([makes + wait, *values])
    second = SETUP.replace("default_rng(seed)", "default_rng(1)")
    second = f"open({str(there)!r}, 'w').close()\n" + second
    results, _ = run(
        case("first", "y = 2 * x", setup=first),
        case("second", "y = x + x", setup=second, rank=1),
        case("third", "y = x + x", setup=SETUP.replace("(seed)", "(2)"), rank=2),
        case("wrong", "y = 3 * x", rank=3),
    )
    assert [result.outcome for result in results.values()] == ["ok", "ok", "ok", "mismatch"]
    assert begun == [("announces",), ("awaits",), (), ()]


def test_who_waits_for_a_reference_that_fails_takes_its_place(begun):
    results, _ = run(
        case("broken", "y = x + x", setup="time.sleep(nowhere)"),
        case("right", "y = 2 * x", rank=1),
        case("same", "y = x + x", setup=SETUP.replace("(seed)", "(1)"), rank=2),
        case("wrong", "y = 3 * x", rank=3),
    )
    assert [result.outcome for result in results.values()] == ["failed", "ok", "ok", "mismatch"]
    assert begun == [("announces",), ("awaits",), ("announces",), ("awaits",), ()]


@pytest.mark.parametrize(("short", "again"), [("first", 2), ("second", 1)])
def test_memory_that_runs_out_beside_another_is_tried_alone(begun, tmp_path, short, again):
    once = f"import os\nif not os.path.exists({str(tmp_path / 'tried')!r}):\n"
    once += f"    open({str(tmp_path / 'tried')!r}, 'w').close()\n    raise MemoryError\n"
    setups = {name: (once if name == short else "") + SETUP for name in ("first", "second")}
    results, _ = run(
        case("first", "y = 2 * x", setup=setups["first"]),
        case("second", "y = x + x", setup=setups["second"], rank=1),
    )
    assert [result.outcome for result in results.values()] == ["ok", "ok"]
    assert len(begun) == 2 + again


def test_a_mismatch_is_an_outcome_of_every_metric_with_the_largest_error():
    results, _ = run(
        case("right", "y = x + x"),
        case("wrong", "y = x + x\ny[3, 4] += 0.5", rank=1),
        metrics=("time", "memory"),
    )
    assert results["right", "time"].ok
    assert results["right", "memory"].ok
    for metric in ("time", "memory"):
        result = results["wrong", metric]
        assert result.outcome == "mismatch"
        assert "y: it has" in result.reason
        assert "off by 0.5" in result.reason


def test_the_reference_is_the_one_of_lowest_rank_whatever_the_order():
    results, journal = run(case("wrong", "y = 3 * x", rank=7), case("right", "y = 2 * x", rank=1))
    assert journal.compared == [["right", "wrong"]]
    assert results["right", "time"].ok
    assert results["wrong", "time"].outcome == "mismatch"


def test_when_the_reference_fails_the_next_one_takes_its_place():
    results, _ = run(
        case("broken", "y = x + nowhere"),
        case("right", "y = 2 * x", rank=1),
        case("wrong", "y = 3 * x", rank=2),
    )
    assert results["broken", "time"].outcome == "failed"
    assert "nowhere" in results["broken", "time"].reason
    assert results["right", "time"].ok
    assert results["wrong", "time"].outcome == "mismatch"


def test_in_place_statements_are_compared_after_one_call():
    results, _ = run(case("in place", "x *= 2\ny = x"), case("new", "y = 2 * x", rank=1))
    assert [result.outcome for result in results.values()] == ["ok", "ok"]


def test_large_outputs_are_compared_by_a_sample_of_them():
    setup = SETUP.replace("(50, 40)", "(1500, 1500)")
    results, _ = run(
        case("right", "y = x + x", setup=setup),
        case("same", "y = 2 * x", setup=setup, rank=1),
        case("wrong", "y = np.where(x > 0, 2 * x, 0)", setup=setup, rank=2),
    )
    assert [result.outcome for result in results.values()] == ["ok", "ok", "mismatch"]


def test_lists_of_inputs_and_outputs_are_handed_over_one_by_one():
    setup = "rng = np.random.default_rng(seed)\nx = [rng.standard_normal(3) for _ in range(2)]"
    other = setup.replace("default_rng(seed)", "default_rng(1)")
    results, _ = run(
        case("list", "y = [2 * one for one in x]", setup=setup),
        case("tuple", "y = tuple(one + one for one in x)", setup=other, rank=1),
        case("short", "y = [2 * x[0]]", setup=other, rank=2),
    )
    assert results["tuple", "time"].ok
    assert "it gives 1 tensor, not 2" in results["short", "time"].reason


def test_what_nobody_can_read_is_measured_and_marked():
    results, _ = run(case("right", "y = 2 * x"), case("text", "y = 'words'", rank=1))
    result = results["text", "time"]
    assert result.ok
    (warning,) = [one for one in result.warnings if one.code == "unchecked"]
    assert "a value of type str cannot be compared" in warning.text


@pytest.mark.parametrize(
    ("compare", "outcome"), [("values", "mismatch"), ("statistics", "ok"), ("shape", "ok")]
)
def test_random_results_are_compared_by_their_statistics(compare, outcome):
    draws = SETUP + "\nown = np.random.default_rng({})"
    first = case("one", "y = own.standard_normal(5000)", setup=draws.format(1), compare=compare)
    second = case(
        "two", "y = own.standard_normal(5000)", setup=draws.format(2), compare=compare, rank=1
    )
    results, _ = run(first, second)
    assert results["two", "time"].outcome == outcome


def test_what_is_compared_is_no_part_of_a_cases_identity():
    one = case("one", "y = 2 * x")
    assert one.hash == replace(one, parity=None).hash
    assert Case.from_dict(one.to_dict()) == one


def test_zeros_without_memory_are_read_as_zeros():
    """Of `sgn` torch gives such a gradient; what lies where its numbers would be is anything."""
    torch = pytest.importorskip("torch")
    full = torch.full((64,), -1.0)
    del full  # leaves its numbers where the next allocation of this size finds them
    data = torch.ones(64, requires_grad=True)
    torch.sgn(data).backward(torch.ones(64))
    header, found = tensors.read(data.grad)
    assert header["shape"] == [64]
    assert bytes(found) == bytes(4 * 64)


def test_given_inputs_are_mapped_and_what_is_written_to_them_stays_in_the_child(tmp_path):
    values = np.arange(12, dtype="float32").reshape(3, 4)
    header, data = tensors.read(values)
    path = tmp_path / "input0"
    path.write_bytes(data)
    given = tensors.fill(np.zeros((3, 4), "float32"), {**header, "file": str(path)})
    assert type(given) is np.ndarray
    assert (given == values).all()
    given += 1
    assert path.read_bytes() == bytes(data)
    base = given
    while isinstance(base, np.ndarray):
        base = base.base
    assert isinstance(base, mmap.mmap)
