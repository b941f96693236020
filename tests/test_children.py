"""Children and temporary files end with the process that made them, however that ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from opbench import children

#: Leaves a daemon behind, in a session of its own.
DAEMON = "setsid sh -c 'sleep 600 & sleep 600' >/dev/null 2>&1 & echo started; {end}"


def test_a_child_gets_its_input_and_gives_its_output_and_exit_code():
    done = children.run(children.program("sh", "-c", "cat; echo no >&2; exit 3"), input="yes")
    assert (done.stdout, done.stderr, done.returncode) == ("yes", "no\n", 3)


def test_a_child_that_crashes_is_seen_to_crash():
    done = children.run(children.program("sh", "-c", "kill -SEGV $$"))
    assert done.returncode == -signal.SIGSEGV


def test_a_program_that_is_missing_is_one_line():
    done = children.run(children.program("no-such-program"))
    assert done.returncode == 127
    assert done.stderr == "cannot start no-such-program: No such file or directory\n"


def test_what_a_child_leaves_behind_ends_with_it(marked, eventually):
    done = children.run(children.program("sh", "-c", DAEMON.format(end="exit 0")))
    assert done.stdout == "started\n"
    assert eventually(lambda: marked() == [])


def test_a_child_that_takes_too_long_is_ended_with_all_it_started(marked, eventually):
    with pytest.raises(subprocess.TimeoutExpired):
        children.run(children.program("sh", "-c", DAEMON.format(end="sleep 600")), timeout=0.5)
    assert eventually(lambda: marked() == [])


STARTER = """
import sys, time
from pathlib import Path
from opbench import children
with children.temporary_folder("opbench-test-", Path(sys.argv[1])) as folder:
    (folder / "below").mkdir()
    (folder / "below" / "file").write_text("x")
    children.remove_at_end(Path(sys.argv[1]) / "later")
    (Path(sys.argv[1]) / "later").write_text("y")
    children.run(children.program("sh", "-c", sys.argv[2]), stdout=None)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("whole_group", [False, True], ids=["process", "group"])
def test_all_of_it_ends_with_a_killed_starter(tmp_path, marked, eventually, number, whole_group):
    words = [sys.executable, "-c", STARTER, str(tmp_path), DAEMON.format(end="sleep 600")]
    starter = subprocess.Popen(words, stdout=subprocess.PIPE, start_new_session=True)
    assert starter.stdout is not None
    assert starter.stdout.readline() == b"started\n"
    assert len(list(tmp_path.iterdir())) == 2
    (os.killpg if whole_group else os.kill)(starter.pid, number)
    starter.wait()
    assert eventually(lambda: marked() == [])
    assert eventually(lambda: list(tmp_path.iterdir()) == [])
    starter.stdout.close()


def test_a_guard_has_left_the_group_before_its_work_begins():
    # A group that was killed as soon as the work had begun took the guard with it.
    code = "import os; print(os.getpgid(os.getppid()) == os.getppid(), os.getpgrp())"
    done = children.run(children.program(sys.executable, "-I", "-S", "-c", code))
    assert done.stdout.split() == ["True", str(os.getpgrp())]


def test_temporary_files_of_a_child_go_with_it(tmp_path, eventually):
    code = (
        "import sys, time; from pathlib import Path; from opbench import children\n"
        "path = Path(sys.argv[1]) / 'half'; children.remove_at_end(path); path.write_text('x')\n"
        "print('started', flush=True); time.sleep(600)"
    )
    words = children.program(sys.executable, "-c", code, str(tmp_path))
    with children.started(words, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"started\n"
        assert (tmp_path / "half").exists()
    assert eventually(lambda: list(tmp_path.iterdir()) == [])


def test_a_guard_that_is_killed_takes_its_child_with_it(marked, eventually):
    with children.started(children.program("sleep", "600")) as process:
        assert eventually(lambda: len(marked()) == 2)
        process.kill()
        process.wait()
        assert eventually(lambda: marked() == [])


def test_temporary_files_are_gone_after_the_block_and_after_the_process(tmp_path):
    code = (
        "import sys; from pathlib import Path; from opbench import children\n"
        "with children.temporary_folder('t-', Path(sys.argv[1])) as folder:\n"
        "    assert folder.is_dir()\n"
        "assert not folder.exists()\n"
        "kept = Path(sys.argv[1]) / 'kept'; children.remove_at_end(kept); kept.write_text('')\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
    assert done.returncode == 0
    assert list(tmp_path.iterdir()) == []


def test_brief_programs_end_with_us(marked, eventually):
    code = (
        "import subprocess, time; from opbench import children\n"
        "subprocess.Popen(['sleep', '600'], preexec_fn=children.dying_with_us())\n"
        "print('started', flush=True); time.sleep(600)"
    )
    starter = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert starter.stdout is not None
    assert starter.stdout.readline() == b"started\n"
    assert eventually(lambda: len(marked()) == 2)
    starter.kill()
    starter.communicate()
    assert eventually(lambda: marked() == [])


def test_output_without_end_is_read_as_it_comes(tmp_path):
    """What a file prints at import is bounded in memory and takes no place on the disk."""
    from opbench.define.collecting import PRINTED_KEPT, UserFileError, collected

    path = tmp_path / "loud.py"
    path.write_text(
        "import os\nfor _ in range(300):\n    os.write(1, b'x' * 99_999 + b'\\n')\nos._exit(5)"
    )
    with pytest.raises(UserFileError) as caught:
        collected(path, sys.executable)
    assert "ended Python (exit code 5): xxx" in str(caught.value)
    assert len(caught.value.traceback) <= PRINTED_KEPT


def test_a_daemon_that_holds_the_output_open_is_not_waited_for(tmp_path, marked, eventually):
    from opbench.define.userfile import targets_from

    path = tmp_path / "bench_daemon.py"
    path.write_text(
        "import subprocess, opbench as ob\n"
        "subprocess.Popen(['sleep', '600'], start_new_session=True)\n"
        "@ob.bench\ndef f(): pass\n"
    )
    began = time.monotonic()
    assert [d.name for d in targets_from(path).definitions] == ["f"]
    assert time.monotonic() - began < 60
    assert eventually(lambda: marked() == [])


def test_a_file_that_writes_into_the_harness_s_pipe_is_one_line(tmp_path):
    from opbench.define.collecting import UserFileError, collected

    path = tmp_path / "rude.py"
    path.write_text(
        "import os\n"
        "for fd in range(3, 1024):\n"
        "    try: os.write(fd, b'hello\\n')\n"
        "    except OSError: pass\n"
    )
    with pytest.raises(UserFileError, match="broke the harness's pipe"):
        collected(Path(path), sys.executable)


UNGUARDED = """
import subprocess, sys, time
from opbench import children
first = subprocess.Popen(["sleep", "600"], start_new_session=True)
with children.ending_with_us():
    # As a daemon is: its own session, and a child of its own in another.
    subprocess.Popen(["sh", "-c", "setsid sleep 601 & wait"], start_new_session=True)
    time.sleep(0.5)
print(first.pid, flush=True)
time.sleep(600)
"""


def test_daemons_that_somebody_else_starts_end_when_we_are_killed(marked, eventually):
    process = subprocess.Popen([sys.executable, "-c", UNGUARDED], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    before = int(process.stdout.readline())
    assert len(marked()) >= 4
    process.kill()
    process.wait()
    process.stdout.close()
    # What ran before the block is not ours to end.
    assert eventually(lambda: [int(pid) for pid in marked()] == [before])
    os.kill(before, signal.SIGKILL)
    assert eventually(lambda: marked() == [])


def test_a_later_process_with_the_same_number_is_left_alone():
    from opbench.worker.ending import tidy

    process = subprocess.Popen(["sleep", "600"])
    tidy.end(b"%d" % process.pid, b"%d" % (tidy.start_of(process.pid) - 1))
    assert process.poll() is None
    tidy.end(b"%d" % process.pid, b"%d" % tidy.start_of(process.pid))
    assert process.wait() == -signal.SIGKILL
    tidy.end(b"%d" % process.pid, b"1")  # it has ended


ENDER = """
import os, signal, sys, time
sys.path.insert(0, sys.argv[1])
from worker.ending import orphans
"""


def files_of_an_ender(code: str, folder: Path) -> list[str]:
    """What a process leaves in the folder (`sys.argv[2]`) that ends children of its own."""
    package = Path(children.__file__).parent
    words = [sys.executable, "-c", ENDER + code, str(package), str(folder)]
    subprocess.run(words, check=True)
    return [path.name for path in folder.iterdir()]


def test_what_removes_temporary_files_is_waited_for_on_a_busy_machine(tmp_path):
    """It may not run for seconds; the guard ends nobody who ends by themselves within ten."""
    code = (
        "pids = []\n"
        "for name in ('spared', 'other'):\n"
        "    pid = os.fork()\n"
        "    if not pid:\n"
        "        time.sleep(1.5)\n"
        "        open(os.path.join(sys.argv[2], name), 'w').close()\n"
        "        os._exit(0)\n"
        "    pids.append(pid)\n"
        "orphans.kill_all(spare=lambda pid: pid == pids[0])\n"
    )
    assert files_of_an_ender(code, tmp_path) == ["spared"]


def test_what_removes_temporary_files_is_spared_however_late_it_becomes_ours(tmp_path):
    """The process that it works for dies between a look at the children and the next."""
    code = (
        "orphans.become_subreaper()\n"
        "reading, writing = os.pipe()\n"
        "first = os.fork()\n"
        "if not first:\n"
        "    second = os.fork()\n"
        "    if not second:\n"
        "        time.sleep(1)\n"
        "        open(os.path.join(sys.argv[2], 'spared'), 'w').close()\n"
        "        os._exit(0)\n"
        "    os.write(writing, b'%d' % second)\n"
        "    time.sleep(600)\n"
        "second = int(os.read(reading, 20))\n"
        "def spare(pid):\n"
        "    if pid == first and second not in orphans.child_pids():\n"
        "        os.kill(first, signal.SIGKILL)\n"
        "        while second not in orphans.child_pids():\n"
        "            time.sleep(0.01)\n"
        "    return pid == second\n"
        "orphans.kill_all(spare)\n"
    )
    assert files_of_an_ender(code, tmp_path) == ["spared"]
