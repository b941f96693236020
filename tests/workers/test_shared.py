"""The pool of starts that outlives a command: what is shared, what is not, and who may use it."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.workers.conftest import is_alive

from opbench.case import Case
from opbench.worker.pool import folder
from opbench.workers.process import NotInstalled, Worker, WorkerDied, environment_of
from opbench.workers.shared import PoolError, Supervisor

CLIENT = """
import sys, time
from opbench.case import Case
from opbench.workers.process import Worker, environment_of
from opbench.workers.shared import Supervisor

supervisor = Supervisor()
control = supervisor.lease(sys.executable, (), start=0, env=environment_of({}), cpus=())
worker = Worker(sys.executable, (), leased=control)
session = worker.open()
print(worker.start_id, worker.pid, session.pid, flush=True)
session.prepare(Case("s", "n", "call", "pass", setup=SETUP), 0, 60)
time.sleep(600)
"""
DAEMON = "import subprocess; subprocess.Popen(['sleep', '600'], start_new_session=True)"


def client(setup: str = "pass", before: str = "") -> subprocess.Popen[str]:
    code = before + CLIENT.replace("SETUP", repr(setup))
    command = [sys.executable, "-c", code]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


# -- what is shared -------------------------------------------------------------------------


def test_the_next_command_gets_the_same_starts_in_new_workers(connect, lease):
    first = connect()
    workers = [lease(first, start=number) for number in range(3)]
    starts, pids = [w.start_id for w in workers], {w.pid for w in workers}
    assert len({*starts}) == 3
    for worker in workers:
        worker.close()
    first.close()
    again = [lease(connect(), start=number) for number in range(3)]
    assert [worker.start_id for worker in again] == starts
    assert not pids & {worker.pid for worker in again}
    assert again[0].open().prepare(Case("s", "n", "call", "pass"), 0, 60)["ok"]


def test_a_benchmark_does_not_see_what_another_left_behind(connect, lease, marked, eventually):
    supervisor = connect()
    worker = lease(supervisor)
    before = len(marked())  # the start and its worker
    trace = "import sys, os, builtins; builtins.left = 1; os.environ['LEFT'] = '1'; "
    session = worker.open()
    session.prepare(Case("s", "n", "call", "pass", setup=trace + DAEMON), 0, 60)
    assert eventually(lambda: len(marked()) == before + 2)  # the child and its daemon
    worker.close()
    assert eventually(lambda: len(marked()) == before - 1)  # only the start is left
    look = "import os, builtins\nassert not hasattr(builtins, 'left') and 'LEFT' not in os.environ"
    lease(supervisor).open().prepare(Case("s", "n", "call", "pass", setup=look), 0, 60)


@pytest.mark.parametrize("change", ["env", "cwd", "umask", "limits", "affinity"])
def test_what_a_worker_inherits_is_part_of_its_key(change, connect, lease, tmp_path, monkeypatch):
    supervisor = connect()
    known = lease(supervisor).start_id
    monkeypatch.setenv("TERM", "of-another-terminal")
    assert lease(supervisor).start_id == known
    restore = None
    if change == "env":
        monkeypatch.setenv("SOME_SWITCH_OF_A_LIBRARY", "1")
    elif change == "cwd":
        monkeypatch.chdir(tmp_path)
    elif change == "umask":
        old = os.umask(0o027)
        restore = lambda: os.umask(old)  # noqa: E731
    elif change == "limits":
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft - 1, hard))
        restore = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))  # noqa: E731
    else:
        cpus = os.sched_getaffinity(0)
        if len(cpus) < 2:
            pytest.skip("there is only one CPU")
        os.sched_setaffinity(0, {min(cpus)})
        restore = lambda: os.sched_setaffinity(0, cpus)  # noqa: E731
    try:
        worker = lease(supervisor)
        assert worker.start_id != known
        if change == "affinity":
            assert os.sched_getaffinity(worker.pid) == {min(cpus)}
        elif change == "cwd":
            assert Path(f"/proc/{worker.pid}/cwd").resolve() == tmp_path
    finally:
        if restore is not None:
            restore()


def test_a_start_whose_files_changed_is_replaced(connect, lease, tmp_path):
    module = tmp_path / "preloaded.py"
    module.write_text("VALUE = 1\n")
    supervisor, path = connect(), str(tmp_path)
    first = lease(supervisor, "preloaded", PYTHONPATH=path)
    assert lease(supervisor, "preloaded", PYTHONPATH=path).start_id == first.start_id
    module.write_text("VALUE = 'two'\n")
    second = lease(supervisor, "preloaded", PYTHONPATH=path)
    assert second.start_id != first.start_id
    check = "import preloaded\nassert preloaded.VALUE == 'two', preloaded.VALUE"
    second.open().prepare(Case("s", "n", "call", "pass", setup=check), 0, 60)
    # The command that has the old one goes on with it.
    first.open().prepare(Case("s", "n", "call", "pass"), 0, 60)


def test_an_installed_package_replaces_the_starts(connect, lease, tmp_path):
    supervisor, path = connect(), str(tmp_path)
    first = lease(supervisor, PYTHONPATH=path)
    (tmp_path / "thing-1.0.dist-info").mkdir()
    assert lease(supervisor, PYTHONPATH=path).start_id != first.start_id


def test_what_is_not_installed_is_said_as_by_any_worker(connect, lease):
    with pytest.raises(NotInstalled, match="no_such_module is not installed for"):
        lease(connect(), "no_such_module")


# -- ends -----------------------------------------------------------------------------------


@pytest.mark.parametrize("setup", ["pass", "import time; time.sleep(600)", DAEMON])
def test_sessions_end_with_the_connection_of_a_killed_client(setup, connect, eventually, marked):
    supervisor = connect()
    process = client(setup)
    _, worker, session = map(str, process.stdout.readline().split())
    process.kill()
    process.wait()
    assert eventually(lambda: not is_alive(int(worker)) and not is_alive(int(session)))
    assert eventually(lambda: [each["state"] for each in supervisor.starts()] == ["idle"])
    assert len(marked()) == 1  # the start


def test_a_worker_that_cannot_see_the_end_of_its_client_is_killed(connect, eventually, marked):
    supervisor = connect()
    process = client()
    _, worker, session = process.stdout.readline().split()
    os.kill(int(worker), signal.SIGSTOP)
    process.kill()
    process.wait()
    assert eventually(lambda: not is_alive(int(worker)) and not is_alive(int(session)))
    assert eventually(lambda: [each["state"] for each in supervisor.starts()] == ["idle"])


def test_all_of_it_ends_with_a_killed_supervisor_and_a_new_one_serves(
    connect, lease, eventually, marked
):
    first = connect()
    worker = lease(first)
    session = worker.open()
    os.kill(first.pid, signal.SIGKILL)
    assert eventually(lambda: not worker.alive and not is_alive(session.pid))
    assert eventually(lambda: not marked())
    with pytest.raises(PoolError, match="ended"):
        first.starts()
    second = connect()  # past the socket that was left behind
    assert second.pid != first.pid
    assert lease(second).start_id != worker.start_id


@pytest.mark.parametrize("victim", ["supervisor", "start"])
def test_what_is_killed_while_it_starts_is_nobodys_fault(connect, eventually, tmp_path, victim):
    """So that whoever asked for the worker asks again."""
    (tmp_path / "slow.py").write_text("import time; time.sleep(600)")
    supervisor = connect()
    env = environment_of({"PYTHONPATH": str(tmp_path)})
    control = supervisor.lease(sys.executable, ("slow",), start=0, env=env, cpus=())
    worker = Worker(sys.executable, ("slow",), leased=control)
    assert eventually(lambda: [each["state"] for each in supervisor.starts()])
    (start,) = supervisor.starts()
    os.kill(supervisor.pid if victim == "supervisor" else start["pid"], signal.SIGKILL)
    with pytest.raises(WorkerDied, match="was killed while it started"):
        worker.wait_ready(60)
    assert not worker.alive


def test_idle_starts_end_and_the_supervisor_with_the_last(connect, lease, eventually, marked):
    supervisor = connect(idle=0.5)
    lease(supervisor).close()
    assert eventually(lambda: not marked())
    supervisor.close()
    assert eventually(lambda: not is_alive(supervisor.pid))


def test_what_was_idle_while_the_machine_slept_is_not_used(connect, lease, eventually):
    supervisor = connect(idle=3.0)
    worker = lease(supervisor)
    worker.close()
    assert eventually(lambda: [each["state"] for each in supervisor.starts()] == ["idle"])
    os.kill(supervisor.pid, signal.SIGSTOP)  # as if nothing ran
    time.sleep(3.5)
    os.kill(supervisor.pid, signal.SIGCONT)
    assert lease(supervisor).start_id != worker.start_id


def test_a_start_that_hangs_is_replaced(connect, lease):
    supervisor = connect()
    worker = lease(supervisor)
    worker.close()
    (start,) = supervisor.starts()
    os.kill(start["pid"], signal.SIGSTOP)
    assert lease(supervisor).start_id != worker.start_id
    assert not is_alive(start["pid"])


def test_stopping_ends_what_is_idle_now_and_the_rest_with_its_command(
    connect, lease, eventually, opbench
):
    supervisor = connect()
    lease(supervisor, start=0).close()
    used = lease(supervisor, start=1)
    assert eventually(lambda: sum(s["state"] == "idle" for s in supervisor.starts()) == 1)
    listed = opbench("workers").stdout
    assert "1 in use, 1 idle for" in listed
    assert "plain Python" in listed
    assert (
        opbench("workers", "--stop").stdout == "Ended 1 worker; 1 in use end with their command.\n"
    )
    assert opbench("workers").stdout == "No workers are kept.\n"
    assert used.open().prepare(Case("s", "n", "call", "pass"), 0, 60)["ok"]
    assert is_alive(supervisor.pid)
    used.close()
    assert eventually(lambda: not is_alive(supervisor.pid))


# -- bounds ---------------------------------------------------------------------------------


def test_no_more_starts_than_the_limit(connect, lease, eventually):
    supervisor = connect(count=2)
    workers = [lease(supervisor, start=number, KIND="a") for number in range(2)]
    with pytest.raises(PoolError, match="the pool is full: it has 2 workers"):
        lease(supervisor, start=2, KIND="a")
    for number, worker in enumerate(workers, 1):  # one after the other: the order is tested
        worker.close()
        assert eventually(
            lambda n=number: [s["state"] for s in supervisor.starts()].count("idle") == n
        )
    with pytest.raises(PoolError, match="full"):
        lease(supervisor, start=2, KIND="a")  # which would only be ended by the next of its kind
    lease(supervisor, KIND="b")  # takes the place of the one that was idle longest
    left = {each["id"] for each in supervisor.starts()}
    assert len(left) == 2
    assert workers[0].start_id not in left


def test_no_more_memory_than_the_limit(connect, lease, eventually):
    probe = connect()
    lease(probe).close()
    (start,) = probe.starts()
    probe.retire()
    probe.close()
    assert eventually(lambda: not is_alive(probe.pid))
    supervisor = connect(memory=2.5 * start["bytes"])
    for number in range(2):
        lease(supervisor, start=number)
    with pytest.raises(PoolError, match="the pool is full: its workers hold"):
        lease(supervisor, start=2)


def test_a_start_that_grows_is_ended(connect, lease, eventually, tmp_path):
    """A thread of a framework that leaks, as far as a test can have one."""
    (tmp_path / "leaky.py").write_text(
        "import threading, time\n"
        "def leak():\n"
        "    time.sleep(1)\n"
        "    global held\n"
        "    held = bytearray(200_000_000)\n"
        "threading.Thread(target=leak, daemon=True).start()\n"
    )
    supervisor = connect(memory=100e6)
    lease(supervisor, "leaky", PYTHONPATH=str(tmp_path)).close()
    assert eventually(lambda: not supervisor.starts())


# -- who may use it -------------------------------------------------------------------------


def test_a_folder_that_others_may_enter_is_refused(runtime):
    where = runtime / "opbench"
    where.mkdir(mode=0o755)
    where.chmod(0o755)
    with pytest.raises(PoolError, match="is open to other users; fix: chmod 700"):
        Supervisor()


def test_a_link_is_no_folder(runtime, tmp_path):
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (runtime / "opbench").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PoolError, match="is not a folder of yours"):
        Supervisor()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can make files of another user")
def test_a_folder_of_another_user_is_refused(runtime):
    (runtime / "opbench").mkdir(mode=0o700)
    os.chown(runtime / "opbench", 65534, 65534)
    with pytest.raises(PoolError, match="belongs to another user"):
        Supervisor()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_another_user_gets_no_answer_even_where_the_folder_lets_him_in(connect, runtime):
    connect()
    (runtime / "opbench").chmod(0o711)
    (runtime / "opbench" / "socket").chmod(0o777)
    code = (
        "import os, socket\n"
        f"os.chdir({str(runtime / 'opbench')!r})\n"
        "os.setuid(65534)\n"
        "s = socket.socket(socket.AF_UNIX); s.settimeout(30)\n"
        "s.connect('socket'); print(s.recv(100))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    (runtime / "opbench").chmod(0o700)
    assert done.stdout == "b''\n", done.stderr


def test_a_client_with_other_privileges_starts_its_own_workers(connect, lease):
    lease(connect())
    # Switches the randomisation of addresses off, as a debugger does.
    before = "import ctypes; ctypes.CDLL(None).personality(0x0040000)\n"
    assert ctypes.CDLL(None).personality(0xFFFFFFFF) == 0
    process = client(before=before)
    _, error = process.communicate(timeout=600)
    assert "PoolError: the pool was started with other personality" in error


def test_a_socket_that_nobody_listens_at_is_replaced(runtime, connect, lease):
    where = runtime / "opbench"
    where.mkdir(mode=0o700)
    left = socket.socket(socket.AF_UNIX)
    place = folder.Folder(str(where))
    left.bind(place.entry(folder.SOCKET))
    left.close()
    place.close()
    assert lease(connect()).start_id


def test_a_supervisor_of_another_version_makes_place(runtime, connect, lease, tmp_path, eventually):
    import shutil

    import opbench

    (runtime / "opbench").mkdir(mode=0o700)
    other = tmp_path / "worker"
    shutil.copytree(Path(opbench.__file__).parent / "worker", other)
    with (other / "session.py").open("a") as source:
        source.write("# as of tomorrow\n")
    read_end, write_end = os.pipe()
    command = [sys.executable, str(other / "main.py"), "pool.supervisor"]
    subprocess.run(
        [*command, str(runtime / "opbench"), str(write_end), "{}"], pass_fds=[write_end], check=True
    )
    os.close(write_end)
    assert os.read(read_end, 1) == b""
    os.close(read_end)
    lock = next(
        int(pid.name)
        for pid in Path("/proc").iterdir()
        if pid.name.isdecimal() and str(other).encode() in _command_of(pid)
    )
    supervisor = connect()
    assert supervisor.pid != lock
    assert lease(supervisor).start_id
    assert eventually(lambda: not is_alive(lock))


def _command_of(process: Path) -> bytes:
    try:
        return (process / "cmdline").read_bytes()
    except OSError:
        return b""


def test_two_clients_that_begin_it_at_once_share_one(runtime, connect):
    code = (
        "from opbench.workers.shared import Supervisor\n"
        "import time; s = Supervisor(); print(s.pid, flush=True); time.sleep(2)"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    found = {int(process.communicate(timeout=600)[0]) for process in processes}
    assert len(found) == 1
    assert connect().pid in found


def test_a_deleted_working_directory_costs_nothing_but_the_pool(
    connect, lease, tmp_path, monkeypatch
):
    supervisor = connect()
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(PoolError, match="what workers inherit cannot be read"):
        lease(supervisor)


def test_nonsense_ends_the_connection_and_nothing_else(connect, lease, runtime):
    supervisor = connect()
    place = folder.Folder(str(runtime / "opbench"))
    for nonsense in (b"{}\n", b"\xff\n", b'{"op": "lease", "spec": {}, "start": 0}\n', b"[" * 99):
        sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(30)
        sock.connect(place.entry(folder.SOCKET))
        assert b"hello" in sock.recv(1000)
        sock.sendall(nonsense)
        if nonsense.endswith(b"\n"):
            assert sock.recv(1000) == b""
        sock.close()
    place.close()
    assert lease(supervisor).start_id
