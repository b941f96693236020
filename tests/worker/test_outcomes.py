"""Whatever the code under test does ends one child, and becomes that case's outcome."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from opbench.workers.process import NotInstalled, Worker, WorkerError
from opbench.workers.session import SessionEnded

MEGABYTE = 1 << 20


def alive(pid: int) -> bool:
    return state(pid) not in ("", "Z", "X")


def state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def measured(worker, case, *, timeout=120.0, memory_limit=0):
    """One block of the case in a fresh child."""
    session = worker.open(memory_limit=memory_limit)
    session.prepare(case, 0, timeout)
    return session.block("time", 1, timeout)


def end_of(worker, case, **options) -> SessionEnded:
    with pytest.raises(SessionEnded) as caught:
        measured(worker, case, **options)
    return caught.value


@pytest.fixture(scope="module")
def worker():
    """One for all: whatever a child of it does, the next test finds it well."""
    started = Worker(sys.executable, ())
    yield started
    started.close()


def still_works(worker, python_case) -> bool:
    return measured(worker, python_case("x = 1"))["n"] == 1


def test_what_it_prints_does_not_mix_with_the_messages(worker, python_case):
    case = python_case(
        'import sys\nprint("{\\"ok\\": false}", flush=True)\nsys.stderr.write("x" * 200_000)'
    )
    assert measured(worker, case)["value"] > 0


def test_prints_are_kept_for_the_message_about_a_crash(worker, python_case):
    case = python_case('import os\nprint("the last words", flush=True)\nos.abort()')
    assert "the last words" in end_of(worker, case).output


@pytest.mark.parametrize(
    ("code", "outcome", "reason"),
    [
        ("import sys\nsys.exit(3)", "failed", "called sys.exit(3)"),
        ("raise ValueError('no good')", "failed", "ValueError: no good"),
        ("raise KeyboardInterrupt", "failed", "KeyboardInterrupt"),
        ("raise ValueError", "failed", "ValueError"),
        ("next(iter(()))", "failed", "StopIteration"),
        ("import os\nos._exit(5)", "failed", "its process exited with status 5"),
        ("import ctypes\nctypes.string_at(0)", "crashed", "SIGSEGV"),
        ("import os\nos.abort()", "crashed", "SIGABRT"),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", "crashed", "SIGKILL"),
        ("raise NotImplementedError('no such dtype')", "unsupported", "no such dtype"),
        (
            "class Unsupported(Exception): pass\nraise Unsupported('needs CUDA')",
            "unsupported",
            "needs CUDA",
        ),
        # More than any machine can address, so that none sets about giving it.
        ("x = bytearray(1 << 60)", "out_of_memory", "MemoryError"),
        ("1 +", "failed", "SourceError: statement, line 1"),
    ],
)
@pytest.mark.parametrize("when", ["setup", "stmt"])
def test_each_end_has_its_outcome_and_its_reason(
    worker, python_case, code, outcome, reason, when, eventually
):
    if when == "setup" and "SourceError" in reason:
        reason = "SourceError: setup, line 1"
    case = python_case(**{"stmt": "pass", when: code})
    session = worker.open()
    ended = None
    try:
        session.prepare(case, 0, 120)
        session.block("time", 1, 120)
    except SessionEnded as error:
        ended = error
    assert ended is not None
    assert ended.outcome == outcome
    assert reason in ended.reason
    assert "\n" not in ended.reason
    session.close()
    assert eventually(lambda: not alive(session.pid))
    assert still_works(worker, python_case)


def test_a_failure_says_at_which_line_of_the_case(worker, python_case):
    ended = end_of(worker, python_case(setup="def f():\n    return {}['x']", stmt="f()"))
    assert ended.reason == "KeyError: 'x' (at `return {}['x']`)"
    assert "Traceback" in ended.traceback
    # The loop around it is a generator, for which Python makes this another error.
    ended = end_of(worker, python_case(setup="g = iter(())", stmt="next(g)"))
    assert ended.reason == "StopIteration (at `next(g)`)"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("if False: yield int", "the generator yielded nothing; yield what is to be called"),
        ("yield 5", "the generator yielded an object of type int; yield what is to be called"),
        ("yield", "the generator yielded None; yield what is to be called"),
        ("next(iter(()))\n    yield int", "StopIteration (at `next(iter(()))`)"),
    ],
)
def test_a_generator_that_yields_no_callable_is_told_what_to_yield(
    worker, python_case, body, reason
):
    setup = f"def f():\n    {body}\n_gen = f()\ncall = next(_gen)"
    assert reason in end_of(worker, python_case("call()", setup=setup)).reason


@pytest.mark.parametrize(
    "code",
    [
        "class E(Exception):\n    def __str__(self): raise ValueError\nraise E",
        "raise ValueError('\\udc80 no text')",
        "class E(Exception):\n    def __str__(self): return 5\nraise E",
    ],
)
def test_an_exception_that_cannot_be_read_is_still_told(worker, python_case, code):
    ended = end_of(worker, python_case(code))
    assert ended.outcome == "failed"
    assert ended.reason.split()[0] in ("E", "ValueError:")
    (ended.reason + ended.traceback).encode("utf-8")


def test_a_hang_is_ended_when_its_time_is_over(worker, python_case, eventually):
    session = worker.open()
    session.prepare(python_case("while True: pass"), 0, 120)
    with pytest.raises(SessionEnded) as caught:
        session.block("time", 1, 0.3)
    assert caught.value.outcome == "timeout"
    assert caught.value.reason == "no answer within 0.3 s"
    assert eventually(lambda: not alive(session.pid))
    assert still_works(worker, python_case)


def test_signals_it_ignores_do_not_keep_a_hang_alive(worker, python_case, eventually):
    code = (
        "import signal, time\nfor s in (1, 2, 3, 13, 15, 20):\n    signal.signal(s, signal.SIG_IGN)"
    )
    session = worker.open()
    session.prepare(python_case(code + "\nwhile True: time.sleep(1)"), 0, 120)
    with pytest.raises(SessionEnded):
        session.block("time", 1, 0.3)
    assert eventually(lambda: not alive(session.pid))


@pytest.mark.parametrize(
    "code",
    [
        "x = bytearray(600 << 20)",
        "x = []\nwhile True: x.append(bytearray(1 << 20))",
        "x = []\nwhile True: x.append(object())",
        "x = ''\nwhile True: x = [x, x.__class__, {}]",
    ],
)
def test_eating_memory_meets_the_limit_of_the_child(worker, python_case, code):
    ended = end_of(worker, python_case(code), memory_limit=100 * MEGABYTE)
    assert ended.outcome == "out_of_memory"
    assert still_works(worker, python_case)


def test_torch_out_of_memory_and_torch_unsupported(start_worker, python_case):
    pytest.importorskip("torch", reason="the words of torch's own errors")
    worker = start_worker("torch")
    hungry = python_case(
        "x = torch.empty(8 << 30, dtype=torch.uint8).fill_(1)", globals="import torch"
    )
    ended = end_of(worker, hungry, memory_limit=4096 * MEGABYTE)
    assert ended.outcome == "out_of_memory"
    for statement, reason in (
        ("torch.linalg.qr(torch.ones(2, 2, dtype=torch.float16))", "Half"),
        ("x = torch.ones(2, requires_grad=True)\ntorch.heaviside(x, x).sum().backward()",
         "derivative for aten::heaviside is not implemented"),
    ):  # fmt: skip
        ended = end_of(worker, python_case(statement, globals="import torch"))
        assert ended.outcome == "unsupported"
        assert reason in ended.reason


def test_garbage_in_every_file_descriptor_stays_its_own_problem(worker, python_case):
    neighbour = worker.open()
    neighbour.prepare(python_case("x = 1"), 0, 120)
    code = (
        "import os\n"
        "for fd in range(3, 64):\n"
        "    for garbage in (b'garbage\\n', b'\\x00\\xff\\n', b'[]\\n'):\n"
        "        try:\n"
        "            os.write(fd, garbage)\n"
        "        except OSError:\n"
        "            pass"
    )
    ended = end_of(worker, python_case(code))
    assert ended.outcome == "failed"
    assert "channel" in ended.reason
    assert neighbour.block("time", 1, 120)["n"] == 1
    assert still_works(worker, python_case)


#: A complete answer to `block`: only its token is missing.
PERFECT = (
    b'{"ok":true,"value":1e-12,"n":1,"wall_ns":1,"cpu_ns":1,"switches":0,"queued_ns":0,'
    b'"peak_bytes":0,"seconds":0}'
)


@pytest.mark.parametrize(
    "line",
    [b"{}", b'{"ok": false, "error": 5}', b'{"ok": true}', b'{"ok": true, "value": "x"}', PERFECT],
)
def test_messages_it_forges_fail_its_own_case_only(start_worker, python_case, line):
    from opbench.plan.policy import Adaptive
    from opbench.sampling.lane import Lane

    worker = start_worker()
    forge = (
        "import os\nfor fd in range(3, 64):\n"
        f"    try: os.write(fd, {line!r} + b'\\n')\n    except OSError: pass"
    )
    lane = Lane.fork(worker, python_case(forge), Adaptive(timeout=120), 0, 0)
    with pytest.raises(SessionEnded) as caught:
        lane.block("time", 0)
    assert caught.value.outcome == "failed"
    assert still_works(worker, python_case)


def test_a_child_that_closes_its_channel_and_goes_on_is_ended(worker, python_case, eventually):
    case = python_case("import os, time\nos.closerange(3, 64)\ntime.sleep(600)")
    session = worker.open()
    session.prepare(case, 0, 120)
    began = time.monotonic()
    with pytest.raises(SessionEnded) as caught:
        session.block("time", 1, 600)
    assert caught.value.outcome == "failed"
    assert "closed" in caught.value.reason
    assert time.monotonic() - began < 300
    assert eventually(lambda: not alive(session.pid))
    assert still_works(worker, python_case)


GRANDCHILD = """
import os, subprocess, sys, time
started = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]{how})
"""


@pytest.mark.parametrize("how", ["", ", start_new_session=True"])
@pytest.mark.parametrize("end", ["os.abort()", "raise ValueError", "pass", "time.sleep(600)"])
def test_what_a_child_started_does_not_outlive_it(
    start_worker, python_case, marked, eventually, how, end
):
    worker = start_worker()
    session = worker.open()
    session.prepare(python_case(end, setup=GRANDCHILD.format(how=how)), 0, 120)
    assert eventually(lambda: len(marked()) == 3)  # worker, child, grandchild
    try:
        session.block("time", 1, 1.0)
    except SessionEnded:
        pass
    session.close()
    assert eventually(lambda: marked() == [worker.pid])


def test_a_daemon_of_a_child_does_not_outlive_it(start_worker, python_case, marked, eventually):
    daemon = (
        "import os, time\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        "        time.sleep(600)\n"
        "    os._exit(0)\n"
        "os.wait()"
    )
    worker = start_worker()
    session = worker.open()
    session.prepare(python_case("pass", setup=daemon), 0, 120)
    neighbour = worker.open()
    neighbour.prepare(python_case("pass", setup=daemon), 0, 120)
    assert eventually(lambda: len(marked()) == 5)
    session.close()
    # The other's daemon stays: its case may need it.
    assert eventually(lambda: len(marked()) == 3)
    assert neighbour.block("time", 1, 120)["n"] == 1
    neighbour.close()
    assert eventually(lambda: marked() == [worker.pid])


def test_a_paused_session_is_stopped_and_can_be_woken_or_killed(worker, python_case, eventually):
    session = worker.open()
    session.prepare(python_case("x = 1"), 0, 120)
    session.pause()
    assert eventually(lambda: state(session.pid) == "T")
    assert session.block("time", 1, 120)["n"] == 1
    session.pause()
    assert eventually(lambda: state(session.pid) == "T")
    session.kill()
    assert eventually(lambda: not alive(session.pid))
    assert still_works(worker, python_case)


def test_a_session_that_dies_in_its_pause_says_so_at_its_next_turn(worker, python_case):
    session = worker.open()
    session.prepare(python_case("x = 1"), 0, 120)
    session.pause()
    os.kill(session.pid, signal.SIGKILL)
    assert still_works(worker, python_case)
    with pytest.raises(SessionEnded) as caught:
        session.block("time", 1, 120)
    assert caught.value.outcome == "crashed"
    assert caught.value.reason == "SIGKILL"


def test_children_die_with_a_killed_worker(start_worker, python_case, marked, eventually):
    worker = start_worker()
    sessions = [worker.open() for _ in range(2)]
    for session in sessions:
        session.prepare(python_case("x = 1", setup=GRANDCHILD.format(how="")), 0, 120)
    sessions[0].pause()
    assert eventually(lambda: len(marked()) == 5)
    os.kill(worker.pid, signal.SIGKILL)
    assert eventually(lambda: not any(alive(session.pid) for session in sessions))
    with pytest.raises(WorkerError):
        sessions[1].block("time", 1, 120)
    with pytest.raises(WorkerError):
        worker.open()
    worker.close()
    assert eventually(lambda: marked() == [])


RUNNER = """
import sys
from opbench.case import Case
from opbench.workers.process import Worker
worker = Worker(sys.executable, ())
running, paused = worker.open(), worker.open()
for session in (running, paused):
    session.prepare(Case("t", "n", "call", "while True: pass", setup={setup!r}), 0, 120)
paused.pause()
print("ready", flush=True)
running.block("time", 1, 600)
"""


def test_workers_and_children_die_with_a_killed_runner(marked, eventually):
    code = RUNNER.format(setup=GRANDCHILD.format(how=""))
    runner = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        assert runner.stdout is not None
        assert runner.stdout.readline() == "ready\n"
        # Runner, worker, two children, two grandchildren, of which one may just be starting.
        assert eventually(lambda: len(marked()) == 6)
    finally:
        runner.kill()
        runner.wait()
    assert eventually(lambda: marked() == [])


def test_a_worker_that_cannot_import_its_framework_says_why(start_worker):
    with pytest.raises(NotInstalled, match="no_such_framework is not installed for ") as caught:
        start_worker("no_such_framework").wait_ready()
    assert caught.value.ended.outcome == "unsupported"
    with pytest.raises(WorkerError, match="did not start"):
        start_worker("os", env={"PYTHONHOME": "/nonexistent"}).wait_ready()


def test_a_missing_submodule_to_preload_costs_nothing(start_worker, python_case):
    assert still_works(start_worker("json", "json.no_such_part"), python_case)


def test_a_second_prepare_runs_the_setup_anew_with_its_seed(worker, python_case):
    session = worker.open()
    case = python_case("assert made == [seed], made", globals="made = []", setup="made[:] = [seed]")
    for seed in (0, 7):
        session.prepare(case, seed, 120)
        session.block("time", 3, 120)


def test_a_convolution_leaves_no_file_of_its_own_behind(worker, python_case, tmp_path):
    seen = tmp_path / "pid"
    case = python_case(
        "convolution(x)",  # large enough for oneDNN to write code of its own for it
        globals="import os, pathlib, torch\n"
        "convolution, x = torch.nn.Conv2d(64, 64, 3), torch.zeros(16, 64, 56, 56)",
        # Numbers of processes come around: one that was not ours may have left such a file.
        setup="pathlib.Path(f'/tmp/perf-{os.getpid()}.map').unlink(missing_ok=True)\n"
        f"pathlib.Path({str(seen)!r}).write_text(str(os.getpid()))",
    )
    measured(worker, case)
    assert not Path(f"/tmp/perf-{seen.read_text()}.map").exists()


def test_the_user_s_own_limit_of_memory_is_respected(start_worker, python_case):
    """`ulimit -S -d`: below what a child would be given, and not raised."""
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    own = 32 << 30 if hard == resource.RLIM_INFINITY else hard // 2
    resource.setrlimit(resource.RLIMIT_DATA, (own, hard))
    try:
        worker = start_worker()
        worker.wait_ready()
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
    check = "import resource\nassert resource.getrlimit(resource.RLIMIT_DATA)[0] == {}"
    for limit, expected in ((2 * own, own), (own // 2, own // 2)):
        measured(worker, python_case(check.format(expected)), memory_limit=limit)
