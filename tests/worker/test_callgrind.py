"""Instruction counts with a real Valgrind: identical, isolated, and blamed on the right function.

One worker under Callgrind, of plain Python, serves the whole file: a start takes seconds.
"""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from opbench.analyse.functions import difference, stats_of
from opbench.case import Case
from opbench.counting import instructions, valgrind
from opbench.counting.addresses import RETURNS_ARE_SEEN
from opbench.counting.statements import compiled
from opbench.envs.environments import current
from opbench.result import Result
from opbench.worker.callgrind.plans import plan_for
from opbench.workers.pool import Kind, Pool
from opbench.workers.session import SessionEnded

pytestmark = pytest.mark.valgrind

TIMEOUT = 300.0
CPP = Case("t", "cpp", "call", "x = x * 3 + 1;", "volatile long x = 3;", language="cpp")

#: A function with a frame and a plain branch in it, called by one that goes on for long.
BRANCH = Case(
    "t",
    "branch",
    "call",
    "x = caller(x);",
    "long x = 3;",
    """
#if defined(__aarch64__)
#define BRANCH "b 1f\\n1:"
#else
#define BRANCH "jmp 1f\\n1:"
#endif
extern "C" __attribute__((noinline)) long leaf(long x) { asm volatile("" : "+r"(x)); return x + 1; }
extern "C" __attribute__((noinline)) long branching(long x) {
    x = leaf(x);
    asm volatile(BRANCH : "+r"(x));
    return x * leaf(x);
}
extern "C" __attribute__((noinline)) long caller(long x) {
    long sum = branching(x);
    for (int i = 0; i < 500; i++) asm volatile("" : "+r"(sum));
    return sum & 7;
}
""",
    language="cpp",
)

#: One function that calls another, each with lines of its own.
NESTED = Case(
    "t",
    "nested",
    "call",
    "x = 0;\nfor (int i = 0; i < 20; i++)\n    x += outer(i);",
    "volatile long x = 3;",
    """extern "C" __attribute__((noinline)) long inner(long n) {
    long sum = 0;
    for (long i = 0; i < n; i++) asm volatile("" : "+r"(sum));
    return sum;
}
extern "C" __attribute__((noinline)) long outer(long n) { return inner(n) + inner(2 * n); }
""",
    language="cpp",
)


#: The same five hundred stores, to variables of the setup and of the statement.
VOLATILE = (
    replace(CPP, stmt="for (int i = 0; i < 500; i++) x = i;"),
    replace(CPP, stmt="volatile int y = 3; for (int i = 0; i < 500; i++) y = i;"),
)


def case_of(stmt: str, setup: str = "", name: str = "case", **more) -> Case:
    return Case("t", name, "call", stmt, setup, **more)


@pytest.fixture(scope="module")
def pool() -> Iterator[tuple[Pool, Kind]]:
    with Pool() as pool:
        together = [CPP, BRANCH, NESTED, *VOLATILE]
        pool.libraries[current()] = compiled(together, current()).libraries
        kind = pool.counting_kind(case_of("pass"), current())
        # Together: pytest changes a variable of the environment from phase to phase, and what an
        # interpreter copies of it shifts its heap, by which memset takes an instruction more.
        pool.workers(kind, [0, 1])
        yield pool, kind


@pytest.fixture
def count(pool) -> Callable[..., dict[str, Result]]:
    """The results of a case, counted in a fresh child of the worker with the given number."""
    return functools.partial(counted, pool)


def counted(pool, case: Case, start: int = 0, **options) -> dict[str, Result]:
    worker = pool[0].workers(pool[1], [start])[0]
    session = worker.open()
    try:
        session.prepare(case, 0, TIMEOUT)
        answer = session.measure("instructions", options, options.get("timeout", TIMEOUT))
    finally:
        session.kill()
    return {result.metric: result for result in instructions.results(case, answer, {})}


def named(result: Result) -> bool:
    """A system's own Python is mostly stripped; then the warning must say what to install."""
    said = [warning.text for warning in result.warnings if warning.code == "nameless"]
    assert all("install its debug symbols" in text for text in said)
    return not said


SMALL_SET = {
    "dict": ("d = {k: 1 for k in names}", "names = [str(i) for i in range(30)]"),
    "allocate": ("x = [bytes(n) for n in sizes]", "sizes = list(range(0, 3000, 100))"),
    "call": ("f(1)", "def f(n):\n    return n + 1"),
    # Keeps two blocks with every call, until the collector would run.
    "cycle": ("a = []; a.append(a)", ""),
}
SMALL_CASES = {name: case_of(stmt, setup, name) for name, (stmt, setup) in SMALL_SET.items()}


@pytest.fixture(scope="module")
def of_a_fresh_worker(pool) -> dict[str, Result]:
    """The counts of the small set, the first that another worker makes."""
    return {name: counted(pool, case, 1)["instructions"] for name, case in SMALL_CASES.items()}


def test_counts_of_two_workers_are_identical(count, of_a_fresh_worker):
    """The figure for the standard set on a small one, without torch: two starts, filtered."""
    for name, two in of_a_fresh_worker.items():
        one = count(SMALL_CASES[name])["instructions"]
        # Where the interpreter's allocator has no name, it cannot be left out: an instruction or
        # two of a call, as its blocks happen to lie.
        exact = named(one)
        slack = {"rel": 0, "abs": 0} if exact else {"rel": 0.001, "abs": 2}
        assert two.estimate == pytest.approx(one.estimate, **slack), name
        # What the C library does with a block depends on where it lies, and on the processor.
        assert (one.half_width or 0) < 0.001, f"{name}: two repeats differ"
        assert [warning.code for warning in one.warnings] == ([] if exact else ["nameless"])


@pytest.mark.slow
def test_what_was_made_before_does_not_change_a_count(count):
    """Objects of a setup fill pools of small blocks; a call must not meet the edge of one."""
    found = set()
    for many in (0, 40, 160):
        setup = f"class C:\n    pass\nkept = [object.__new__(C) for _ in range({many})]"
        result = count(case_of("y = [C(), C()]", setup))["instructions"]
        found.add(result.estimate)
    assert len(found) == 1


def test_a_count_depends_on_the_case_alone(count, of_a_fresh_worker):
    """Not on what the worker served before: again after other cases, backwards."""
    with pytest.raises(SessionEnded):
        count(case_of("kept = [object() for _ in range(5000)]; 1 / 0"), start=1)
    for name in ("cycle", "allocate"):
        first = of_a_fresh_worker[name]
        again = count(SMALL_CASES[name], start=1)["instructions"]
        assert again.estimate == pytest.approx(first.estimate, rel=0 if named(first) else 0.001)


def test_the_work_of_other_threads_is_counted(count):
    """In a thread of the statement's own, and in one that was there before."""
    data = "import threading\nr = list(range(20000))\n"
    inline = count(case_of("sum(r)", data), number=3)["instructions"].estimate or 0
    started = "t = threading.Thread(target=sum, args=(r,)); t.start(); t.join()"
    pool = "from concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor(1)"
    for case in (case_of(started, data), case_of("pool.submit(sum, r).result()", data + pool)):
        found = count(case, number=3)["instructions"].estimate or 0
        assert inline < found < 1.5 * inline, case.stmt
    # A thread that did its work in the setup adds nothing.
    before = data + f"t = threading.Thread(target=sum, args=(r * 5,)); t.start(); t.join()\n{pool}"
    assert (count(case_of("pass", before))["instructions"].estimate or 0) < 100


def test_the_longer_a_call_the_fewer_are_counted():
    """By instructions of a call; a number that was asked for stays."""
    calls = [plan_for(length)[1] for length in (1_000, 3_000_000, 30_000_000, 1_000_000_000)]
    assert calls[0] == 100
    assert calls == sorted(calls, reverse=True)
    assert calls[1] < 20
    assert plan_for(30_000_000, number=7, repeats=3)[1:3] == (7, 3)


@pytest.mark.slow
def test_a_long_statement_is_counted_fewer_times(count):
    """Three hundred calls of a short one, some thirty of one that takes longer."""
    short = count(case_of("x = 1"))["instructions"]
    assert short.detail["calls"] == 100
    asked = count(case_of("x = 1"), number=7, repeats=3)["instructions"]
    assert asked.detail["calls"] == 7
    assert len(asked.samples) == 3
    long = count(case_of("sum(r)", "r = list(range(400_000))"))["instructions"]
    assert long.detail["calls"] < 20
    assert long.estimate == pytest.approx(20 * (short_sum(count)), rel=0.01)


@pytest.mark.slow
def test_what_takes_long_without_instructions_is_counted_as_often(count):
    """The kernel works here, as if the machine were slow: the number of calls stays the same."""
    waits = count(case_of("os.urandom(20_000_000)", "import os"))["instructions"]
    assert waits.detail["calls"] == 100


def short_sum(count) -> float:
    return count(case_of("sum(r)", "r = list(range(20_000))"), number=10)["instructions"].estimate


@pytest.fixture(scope="module")
def of_nothing(pool) -> dict[str, Result]:
    return counted(pool, case_of("pass"))


def test_a_count_is_plausible_and_the_empty_loop_is_off(count, of_nothing):
    nothing = of_nothing["instructions"].estimate
    assert nothing is not None
    assert abs(nothing) < 5
    # Twice the work is twice the count, but for what is done once per call of `sum`.
    ten, twenty = (count(case_of(f"sum(r[:{n}])", "r = [1.5] * 20")) for n in (10, 20))
    gained = (twenty["instructions"].estimate or 0) - (ten["instructions"].estimate or 0)
    assert 20 < gained < 1000


def test_raw_count_and_allocations_stand_beside_it(count, of_nothing):
    found = count(case_of("x = bytearray(5000)"))
    raw, filtered = found["instructions_raw"].estimate, found["instructions"].estimate
    assert raw is not None
    assert filtered is not None
    assert raw >= filtered > 0
    if named(found["instructions"]):  # else Python's own allocator is not recognisable
        assert raw > filtered
    # Its buffer is from the C library's allocator, the object itself from Python's own.
    complete = not found["allocations"].warnings
    assert found["allocations"].estimate == pytest.approx(1 + complete, abs=0.1)
    assert "SIMD" in found["instructions"].detail["source"]
    assert of_nothing["allocations"].estimate == pytest.approx(0, abs=0.05)


def test_an_extra_call_is_found_and_blamed_on_the_right_function(count):
    setup = "f = 'a-b-c'.replace\ng = 'a b c'.split"
    before = count(case_of("f('a', 'b')", setup))["instructions"]
    after = count(case_of("f('a', 'b'); g()", setup))["instructions"]
    assert (after.estimate or 0) > (before.estimate or 0) + 50
    blamed = [row.function for row in difference(before, after)[:8]]
    # Without symbols at least the file is named.
    assert any(("split" if named(after) else "python") in name for name in blamed), blamed
    assert stats_of(after).delta(stats_of(before)).sum() > 0


def test_what_must_happen_before_each_call_is_not_counted(count):
    plain = count(case_of("len(x)", "x = [1, 2]"))["instructions"].estimate or 0
    work = "x = sorted(range(200), reverse=True)"
    each = (
        count(case_of("len(x)", "x = []", before=work, timing_mode="each"))["instructions"].estimate
        or 0
    )
    assert abs(each - plain) < 400  # a hundred toggles instead of one


def test_a_difference_of_two_statements(count):
    case = case_of(
        "sum(r); len(r)", "r = list(range(50))", timing_mode="difference", minus="sum(r)"
    )
    alone = count(case_of("len(r)", "r = list(range(50))"))["instructions"].estimate or 0
    assert (count(case)["instructions"].estimate or 0) == pytest.approx(alone, abs=100)


@pytest.mark.usefixtures("compiler")
def test_a_cpp_loop_is_counted_too(count):
    found = count(CPP)["instructions"]
    assert 2 <= (found.estimate or 0) <= 10
    assert "session_" in stats_of(found).stats()[0].function
    assert "unrepeatable" not in {warning.code for warning in found.warnings}


@pytest.mark.usefixtures("compiler")
@pytest.mark.parametrize("case", VOLATILE, ids=["setup", "statement"])
def test_what_is_volatile_is_stored_every_time(count, case):
    """In the frame of a coroutine GCC takes it for an ordinary variable, and drops the loop."""
    assert 1000 <= (count(case)["instructions"].estimate or 0) <= 5000


def test_code_that_does_not_repeat_is_told_and_an_empty_statement_is_not(count, of_nothing):
    grows = count(case_of("x.append(1); sum(x)", "x = []"))
    codes = [{w.code for w in found["instructions"].warnings} for found in (grows, of_nothing)]
    assert "unrepeatable" in codes[0]
    assert "unrepeatable" not in codes[1]


@pytest.mark.usefixtures("compiler")
def test_code_after_a_call_is_the_callers(count):
    """Callgrind on Arm takes a plain branch for a call, and then books it to what was called."""
    rows = stats_of(count(BRANCH)["instructions"]).stats()
    found = {row.function.split(" ")[0]: row.count / 100 for row in rows}
    assert found["caller"] > 1000
    assert found["leaf"] == pytest.approx(2 * round(found["leaf"] / 2), abs=0.01)
    assert 1 < found["leaf"] < found["branching"] < 30


@pytest.mark.usefixtures("compiler")
def test_a_function_with_all_it_calls_and_the_lines_of_both(count):
    stats = stats_of(count(NESTED)["instructions"])
    own = {row.function: row.count for row in stats.stats()}
    inner, outer = (f"{name} [statements.so]" for name in ("inner", "outer"))
    lines = dict(stats.lines())
    assert lines["global_setup:3"] * stats.number_per_run > 0.5 * own[inner]
    assert lines["stmt:3"] > 0
    if RETURNS_ARE_SEEN:
        whole = {row.function: row.count for row in stats.stats(inclusive=True)}
        assert whole[inner] == own[inner]
        assert whole[outer] == own[outer] + own[inner]
        assert max(whole.values()) == stats.counts()
    else:
        with pytest.raises(ValueError, match="Arm"):
            stats.stats(inclusive=True)


LIBC = "import ctypes\nlibc = ctypes.CDLL(None)\nbox = (ctypes.c_long * 9)()"
ENDS = [
    (case_of("import sys\nsys.exit(3)"), "failed", "called sys.exit(3)"),
    (case_of("import os\nos._exit(3)"), "failed", "exited with status 3"),
    (case_of("import ctypes\nctypes.string_at(0)"), "crashed", "SIGSEGV"),
    (case_of("import os\nos.abort()"), "crashed", "SIGABRT"),
    (case_of("y = nowhere"), "failed", "NameError"),
    (case_of("y = ("), "failed", "was never closed"),
    (case_of("x", "1 / 0"), "failed", "ZeroDivisionError"),
    # A heap that is corrupted, under Valgrind too.
    (case_of("libc.free(ctypes.c_void_p(ctypes.addressof(box) + 8))", LIBC), "crashed", ""),
]


def test_whatever_it_does_ends_one_child(pool, count, of_nothing):
    worker = pool[0].workers(pool[1], [0])[0]
    for case, outcome, reason in ENDS:
        with pytest.raises(SessionEnded) as caught:
            count(case)
        assert caught.value.outcome == outcome, case.stmt
        assert reason in caught.value.reason
    with pytest.raises(SessionEnded) as caught:
        count(case_of("while True: pass"), timeout=2.0)
    assert caught.value.outcome == "timeout"
    # The same worker counts on, and as before.
    assert pool[0].workers(pool[1], [0]) == [worker]
    again = count(case_of("pass"))["instructions"]
    assert again.ok
    assert again.estimate == pytest.approx(of_nothing["instructions"].estimate, abs=1)


def test_several_threads_are_unsupported_with_the_reason():
    assert "one thread" in instructions.unsupported(case_of("pass", threads=2))
    assert "cuda" in instructions.unsupported(case_of("pass", device="cuda"))
    assert instructions.unsupported(case_of("pass")) == ""


def test_without_valgrind_there_is_one_line_of_advice(monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    assert instructions.unsupported(case_of("pass")) == (
        "counting instructions needs Valgrind: apt install valgrind libc6-dbg"
    )


def test_valgrind_may_be_elsewhere(monkeypatch, tmp_path):
    program = shutil.which(valgrind.program())
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setenv("OPBENCH_VALGRIND", str(program))
    assert instructions.unsupported(case_of("pass")) == ""
    assert valgrind.command("/tmp")[0][0] == program
    monkeypatch.setenv("OPBENCH_VALGRIND", str(tmp_path / "nothing"))
    assert "names no program" in instructions.unsupported(case_of("pass"))


def test_another_processor_is_told_clearly(monkeypatch):
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    assert "not on riscv64" in instructions.unsupported(case_of("pass"))


def test_the_request_is_what_valgrinds_header_assembles_to():
    from opbench.worker.callgrind.requests import MACHINE_CODE

    assert MACHINE_CODE["x86_64"].hex() == (
        "4889f831d248c1c70348c1c70d48c1c73d48c1c7334887db4889d0c3"
    )
    assert MACHINE_CODE["aarch64"].hex() == (
        "e40300aa030080d28c0dcc938c35cc938ccdcc938cf5cc934a010aaae00303aac0035fd6"
    )


def test_the_request_does_nothing_without_valgrind():
    code = (
        "from opbench.worker.callgrind.requests import requests\n"
        "r = requests(); r.toggle(); r.start()\n"
        "print(r.under_valgrind)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert (done.stdout.strip(), done.returncode) == ("False", 0)


@pytest.mark.usefixtures("own_pool")
def test_from_the_command_line_to_functions(opbench_here, tmp_path):
    (tmp_path / "mine.py").write_text(
        "from opbench.snippets import GroupedSetup, GroupedStmts\n"
        "split = GroupedStmts('t.split()', setup=GroupedSetup('t = \"a b\"'), num_threads=(1, 2))\n"
        "crash = GroupedStmts('import ctypes; ctypes.string_at(0)')\n"
        "plus = GroupedStmts('y = x + 1', setup=GroupedSetup('x = 1'))\n"
    )
    done = opbench_here("run", "mine.py", "--metric", "instructions,time", "--jobs", "1",
                   "--num-runs", "1", "--num-repeats", "1", "--pool")  # fmt: skip
    assert done.returncode == 1, done.stderr  # one case crashed
    assert "crashed SIGSEGV" in done.stdout
    assert "instructions are counted for one thread" in " ".join(done.stdout.split())
    names = (
        "nameless" not in done.stdout
    )  # else this interpreter has no symbols, and the run says so
    shown = opbench_here(
        "show", "mine/split[language=python,runtime=eager,threads=1]", "--functions"
    )
    assert not names or "split" in shown.stdout
    assert "total per call" in shown.stdout
    flame = ["--flame", "plus.svg"] if RETURNS_ARE_SEEN else []
    kept = opbench_here("show", "mine/plus", "--callgrind", "plus.out", *flame)
    assert kept.returncode == 0, kept.stderr
    if flame:
        assert "instructions per call" in (tmp_path / "plus.svg").read_text()
        whole = opbench_here("show", "mine/plus", "--inclusive").stdout
        assert "100.0%" in whole
    exported = (tmp_path / "plus.out").read_text()
    assert ("fn=_PyEval_EvalFrameDefault" if names else "fn=") in exported
    before = (tmp_path / "mine.py").read_text()
    (tmp_path / "mine.py").write_text(before.replace("'y = x + 1'", "'y = x + 1; str(x)'"))
    opbench_here("run", "mine.py", "-k", "plus", "--metric", "instructions", "--pool")
    compared = opbench_here("compare", "last~1", "last", "--functions")
    assert compared.returncode == 0, compared.stderr
    assert ("long_to_decimal_string" if names else "python") in compared.stdout, compared.stdout
    wrong = opbench_here("show", "mine/plus", "--functions", "--match", "(")
    assert wrong.returncode == 2
    assert "regular expression" in wrong.stderr
