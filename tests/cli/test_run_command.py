"""`opbench run` and the commands that read what it stored, as a person drives them."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shlex
import subprocess
import sys
from itertools import takewhile

import pytest

from opbench.report.naming import shortened
from opbench.store import Store


@pytest.fixture
def run(command, bench_file, fixed):
    """Measures the small file, quickly."""

    def call(*arguments: object, code: int = 0):
        done = command("run", bench_file, *fixed, *arguments)
        assert done.returncode == code, done.stdout + done.stderr
        return done

    return call


@pytest.fixture
def stored(tmp_path):
    def read(where: str = ".opbench/results.db"):
        with Store.open(tmp_path / where, create=False) as store:
            return store.results(samples=True)

    return read


def ids(done) -> list[str]:
    """Of a dry run's lines."""
    return re.findall(r"^bench_\w+/\S+", done.stdout, re.MULTILINE)


def rows(done) -> list[str]:
    """What the rows of the first table are called."""
    lines = iter(done.stdout.splitlines())
    next(line for line in lines if "────" in line)
    return [row.split("  ")[0].strip() for row in takewhile(str.strip, lines)]


def test_a_run_shows_its_table_and_stores_each_result_with_its_samples(run, stored):
    done = run("--name", "first", "--num-runs", "3")
    assert len(rows(done)) == 5
    assert re.search(r"Run \S+ finished: 5 ok; results in \.opbench/results\.db", done.stdout)
    results = stored()
    common, short = shortened(found.case.id for found in results)
    assert common in done.stdout
    assert list(short.values()) == rows(done)
    for found in results:
        # Three runs of two calls each, every one with its worker start.
        assert [sample.n for sample in found.result.samples] == [2, 2, 2]
        assert {sample.start for sample in found.result.samples} == {0, 1, 2}
        assert found.result.policy == "fixed runs=3 repeats=2"
        assert found.result.low < found.result.estimate < found.result.high


def test_a_run_ends_with_commands_that_work(run, command):
    # The first has no run to compare with; the third has a baseline, and nothing else.
    for options in ((), (), ("-a", "mode=plain", "--baseline", "mode=plain")):
        last = run("-k", "total", *options).stderr.strip().splitlines()[-1]
        assert last.startswith("Next: opbench report ")
        for text in last.removeprefix("Next: ").split(" · "):
            done = command(*shlex.split(text)[1:])
            assert done.returncode == 0, done.stderr
    assert "Next:" not in run("-k", "total", "--no-save").stderr


def test_a_run_offers_a_comparison_only_with_a_run_that_has_its_cases(command, tmp_path, fixed):
    path = tmp_path / "bench_two.py"
    path.write_text(
        "import opbench as ob\n@ob.bench\ndef fine(): pass\n"
        "@ob.bench\ndef broken(): raise ValueError\n"
    )
    offered = [
        "opbench compare 'last~1' last" in command("run", path, *fixed, "-k", name).stderr
        for name in ("fine", "fine", "broken", "broken", "fine")
    ]
    assert offered == [False, True, False, False, False]


def test_a_dry_run_lists_the_cases_and_touches_nothing(command, bench_file, tmp_path):
    before = sorted(tmp_path.rglob("*"))
    done = command("run", bench_file, "--dry-run", "-a", "n=3")
    assert done.returncode == 0
    assert "bench_small/total[n=3,mode=plain]/call" in done.stdout
    assert "; about 16 s of sampling. Nothing was measured." in done.stdout
    counted = command("run", bench_file, "--dry-run", "--metric", "instructions")
    assert "of sampling" not in counted.stdout
    assert [p for p in sorted(tmp_path.rglob("*")) if "__pycache__" not in p.parts] == before


def test_no_save_shows_and_stores_nothing(run, tmp_path):
    done = run("--no-save", "-k", "ordered")
    assert "; not saved" in done.stdout
    assert not (tmp_path / ".opbench").exists()


def test_cases_are_chosen_by_substring_axis_and_stage(command, bench_file):
    def listed(*options: str) -> list[str]:
        chosen = command("list", bench_file, *options).stdout.splitlines()
        dry = ids(command("run", bench_file, "--dry-run", *options))
        assert dry == chosen
        return chosen

    assert listed("-k", "plain", "-k", "ordered") == [
        "bench_small/total[n=1,mode=plain]/call",
        "bench_small/total[n=10,mode=plain]/call",
        "bench_small/ordered[n=100]/forward",
    ]
    assert listed("-a", "n=5,6", "-a", "mode=plain", "--stage", "call") == [
        "bench_small/total[n=5,mode=plain]/call",
        "bench_small/total[n=6,mode=plain]/call",
    ]
    assert listed("-a", "stage=forward") == ["bench_small/ordered[n=100]/forward"]


def test_the_list_of_a_run_file_is_what_it_would_measure(command, tmp_path):
    def listed(*options: str) -> list[str]:
        chosen = command("list", file, *options).stdout.splitlines()
        planned = command("run", file, "--dry-run", *options).stdout
        assert re.findall(r"^tour/\S+", planned, re.MULTILINE) == chosen
        return chosen

    file = tmp_path / "few.toml"
    file.write_text('[run]\nsuites = ["tour"]\nkeep = ["matmul"]\n[run.axes]\nn = [64]\n')
    assert listed() == [
        "tour/matmul[n=64,dtype=float32]/forward",
        "tour/matmul[n=64,dtype=float64]/forward",
    ]
    # Options on the command line override the file, as for `opbench run`.
    assert listed("-a", "n=256", "-a", "dtype=float64") == [
        "tour/matmul[n=256,dtype=float64]/forward"
    ]


def test_list_names_suites_and_hashes(command, bench_file):
    assert "tour" in command("list").stdout
    line = command("list", bench_file, "-k", "ordered", "--hash").stdout
    assert re.fullmatch(r"[0-9a-f]{12}  bench_small/ordered\[n=100\]/forward\n", line)


def test_seed_and_threads_reach_the_case(run, stored):
    run("-k", "ordered", "--seed", "7", "--threads", "2")
    (found,) = stored()
    assert (found.case.seed, found.case.threads) == (7, 2)


def test_workers_are_pinned_to_the_cpus_asked_for(opbench, tmp_path, fixed):
    cpu = max(os.sched_getaffinity(0))
    path = tmp_path / "bench_pinned.py"
    path.write_text(
        "import os\nimport opbench as ob\n\n@ob.bench\ndef pinned():\n"
        f"    assert os.sched_getaffinity(0) == {{{cpu}}}\n"
    )
    done = opbench("run", path, *fixed, "--cpus", cpu)
    assert done.returncode == 0, done.stdout


def test_memory_beside_time(run, stored):
    run("-k", "ordered", "--metric", "time,memory")
    assert {found.result.metric for found in stored()} == {"time", "memory"}
    memory = next(found.result for found in stored() if found.result.metric == "memory")
    # sorted() of 100 items makes a list: at least 100 pointers of 8 bytes.
    assert 800 <= memory.estimate < 2000


#: No load makes a sleep shorter, and none makes it longer by much.
SLEEPS = """
import time
import opbench as ob


@ob.bench(ms=[30], mode=["plain", "doubled"])
def nap(ms, mode):
    time.sleep(ms * (2 if mode == "doubled" else 1) / 1000)
"""


@pytest.fixture
def sleeps(tmp_path):
    path = tmp_path / "bench_sleeps.py"
    path.write_text(SLEEPS)
    return path


def test_a_comparison_with_a_baseline_has_a_column_for_each_side(command, sleeps, stored):
    done = command(
        "run", sleeps, "--baseline", "mode=plain", "--num-runs", "6", "--num-repeats", "2"
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert re.search(r"^ +plain +doubled *$", done.stdout, re.MULTILINE)
    row = next(line for line in done.stdout.splitlines() if "ms=30" in line)
    # What the verdict is, and the ratio, is up to the machine; to sleep takes no less than asked.
    low, high = map(float, re.search(r"\[(\S+), (\S+)\]", row).groups())
    assert low < high
    times = {(s.case.axes["ms"], s.case.axes["mode"]): s.result.estimate for s in stored()}
    assert times[30, "plain"] >= 0.0299
    assert times[30, "doubled"] >= 0.0599
    assert {found.result.group for found in stored()} != {""}


OUTCOMES = """
import os, sys, time, ctypes
import opbench as ob

ENDS = ["fine", "prints", "raises", "exits", "segfault", "abort", "hang", "memory", "cannot",
        "ends"]

@ob.bench(end=ENDS)
def case(end):
    if end == "prints":
        print("{}" * 10, file=sys.stderr)
    elif end == "raises":
        raise ValueError("not today")
    elif end == "exits":
        sys.exit(3)
    elif end == "ends":
        print("the library does not know this flag", file=sys.stderr, flush=True)
        os._exit(1)
    elif end == "segfault":
        ctypes.string_at(0)
    elif end == "abort":
        os.abort()
    elif end == "hang":
        time.sleep(600)
    elif end == "memory":
        bytearray(1 << 45)
    elif end == "cannot":
        raise NotImplementedError("no kernel for this")
"""


def test_whatever_a_case_does_the_others_go_on_and_the_table_says_why(
    opbench, tmp_path, fixed, stored, marked, eventually
):
    path = tmp_path / "bench_ends.py"
    path.write_text(OUTCOMES)
    # A busy machine may keep any case waiting for a second or two; only one waits for ever.
    done = opbench("run", path, *fixed, "--timeout", "10s")
    assert done.returncode == 1, done.stdout + done.stderr
    outcomes = {found.case.axes["end"]: found.result.outcome_text for found in stored()}
    assert outcomes.pop("raises").startswith("failed: ValueError: not today")
    whole = re.search(r"The whole traceback: opbench show '(\S+)'", done.stdout)
    assert whole is not None
    assert 'raise ValueError("not today")' in opbench("show", whole[1]).stdout
    assert outcomes.pop("hang").startswith("timeout: no answer within")
    assert outcomes.pop("exits").startswith("failed: called sys.exit(3)")
    assert outcomes == {
        "fine": "ok",
        "prints": "ok",
        "ends": "failed: its process exited with status 1",
        "segfault": "crashed SIGSEGV",
        "abort": "crashed SIGABRT",
        "memory": "out_of_memory: MemoryError",
        "cannot": "unsupported: no kernel for this",
    }
    for text in ("crashed SIGSEGV", "ValueError: not today", "no answer within"):
        assert text in done.stdout
    assert "bench_ends/case[end=cannot]/call: unsupported: no kernel for this" in done.stdout
    assert "2 ok" in done.stdout
    assert eventually(lambda: marked() == [])


def test_what_a_process_printed_before_it_ended_is_shown(command, tmp_path, fixed):
    path = tmp_path / "bench_ends.py"
    path.write_text(OUTCOMES)
    done = command("run", path, *fixed, "-a", "end=ends")
    assert "failed: its process exited with status 1" in done.stdout
    shown = re.search(r"What it printed before it ended: opbench show '(\S+)'", done.stdout)
    assert shown is not None
    assert "    the library does not know this flag" in command("show", shown[1]).stdout


def test_what_cannot_be_done_is_no_failure(command, tmp_path, fixed):
    path = tmp_path / "bench_ends.py"
    path.write_text(OUTCOMES)
    done = command("run", path, *fixed, "-a", "end=fine,cannot")
    assert done.returncode == 0
    assert "1 ok, 1 unsupported" in done.stdout


def test_a_metric_that_no_case_has_is_not_success(command, tmp_path, fixed):
    path = tmp_path / "bench_ends.py"
    path.write_text(OUTCOMES)
    done = command("run", path, *fixed, "-a", "end=cannot")
    assert done.returncode == 3
    assert "time: nothing measured; unsupported: no kernel for this" in done.stdout


#: What sleeps: a load on the machine neither shortens it, nor lengthens it by much.
PAIR = """
import time
import opbench as ob

@ob.bench(mode=["lean", "fat"])
def case(mode):
    time.sleep(0.003 if mode == "lean" else 0.06)
"""


def test_a_gate_on_the_baseline_of_a_run(command, tmp_path, fixed):
    (tmp_path / "bench_pair.py").write_text(PAIR)
    quick = ("--precision", "50%", "--max-time-per-case", "1s", "--fail-on", "slower:50%")
    done = command("run", "bench_pair.py", *quick, "--baseline", "mode=lean")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "gate: 1 case failed" in done.stdout
    other = command("run", "bench_pair.py", *quick, "--baseline", "mode=fat")
    assert other.returncode == 0, other.stdout + other.stderr
    assert "gate" not in other.stdout
    alone = command("run", "bench_pair.py", *quick[-2:], *fixed, "-a", "mode=fat")
    assert alone.returncode == 3
    assert "gate: nothing was compared; give --baseline" in alone.stdout


def test_a_side_that_fails_is_the_stronger_message(command, tmp_path, fixed):
    (tmp_path / "bench_pair.py").write_text(PAIR.replace("time.sleep(", "assert mode == 'lean', ("))
    done = command("run", "bench_pair.py", *fixed, "--baseline", "mode=lean", "--fail-on", "slower")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "gate: 1 case not measured" in done.stdout


def test_cont_of_a_complete_run_measures_nothing_and_shows_everything(run, command, stored):
    first = run("--name", "mine")
    before = [found.result.created for found in stored()]
    done = command("run", "--cont", "--name", "mine")
    assert done.returncode == 0
    assert done.stderr.startswith("Run ")
    assert " is complete; nothing to measure.\n" in done.stderr
    assert rows(done) == rows(first)
    assert [found.result.created for found in stored()] == before


def test_runs_and_exports_read_what_was_stored(run, command, tmp_path):
    run("-k", "total", "--name", "nightly")
    run("-k", "ordered")
    listed = command("runs").stdout
    assert "nightly" in listed
    assert "4 ok" in listed
    assert "1 ok" in listed
    rows = list(csv.DictReader(io.StringIO(command("export", "nightly").stdout)))
    assert len(rows) == 4
    assert {row["label.mode"] for row in rows} == {"plain", "doubled"}
    data = json.loads(command("export", "all", "--format", "json").stdout)
    assert len(data["results"]) == 5
    page = command("export", "last", "--format", "md").stdout
    assert "| `bench_small/ordered[n=100]/forward` |" in page
    done = command("export", "all", "-o", "all.csv")
    assert done.returncode == 0
    assert len((tmp_path / "all.csv").read_text().splitlines()) == 6


def test_show_finds_a_case_by_any_unique_part_of_its_name_or_hash(run, command, stored):
    run("-k", "ordered")
    (found,) = stored()
    for name in (found.case.id, found.case.hash[:8], "ordered"):
        done = command("show", name)
        assert done.returncode == 0, done.stderr
        assert found.case.id in done.stdout
        assert "ordered(*args)" in done.stdout


def test_the_script_of_a_case_runs_alone_and_agrees_with_the_stored_time(
    command, sleeps, tmp_path, stored
):
    done = command("run", sleeps, "-k", "plain", "-a", "ms=100", "--max-time-per-case", "1s")
    assert done.returncode == 0
    (found,) = stored()
    script = tmp_path / "alone.py"
    script.write_text(command("show", found.case.hash, "--script").stdout)
    alone = subprocess.run(
        [sys.executable, "-I", script], capture_output=True, text=True, env={}, timeout=600
    )
    assert alone.returncode == 0, alone.stderr
    seconds = float(re.search(r"median_seconds (\S+)", alone.stdout).group(1))
    # To sleep takes no less than asked; how much longer is up to the machine.
    assert 0.1 <= seconds < 1
    assert 0.1 <= found.result.estimate < 1


def test_the_example_that_init_writes_can_be_listed(command):
    assert command("init", "bench_mine.py").returncode == 0
    done = command("list", "bench_mine.py")
    assert done.returncode == 0, done.stderr
    assert "bench_mine/" in done.stdout
    assert command("init", "bench_mine.py").returncode == 2


def test_the_package_is_a_command_too_and_a_run_remembers_it_as_one(bench_file, fixed, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "opbench", "run", str(bench_file), "-k", "total", *map(str, fixed)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    with Store.open(tmp_path / ".opbench/results.db", create=False) as store:
        (record,) = store.runs()
    assert record.command.startswith("opbench run ")
