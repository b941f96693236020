"""Every mistake: one clear line with the nearest valid names, exit code 2, nothing written."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest


def content(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b""
        for path in folder.rglob("*")
        if "__pycache__" not in path.parts
    }


@pytest.fixture
def refused(command, tmp_path):
    """Runs a command that must be refused; gives back the one line it says."""

    def call(*arguments: object) -> str:
        before = content(tmp_path)
        done = command(*arguments)
        assert done.returncode == 2, done.stdout + done.stderr
        assert done.stdout == ""
        lines = done.stderr.strip().splitlines()
        assert len(lines) == 1, done.stderr
        assert lines[0].startswith("opbench: ")
        assert content(tmp_path) == before
        return lines[0]

    return call


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["tuor"], "did you mean tour?"),
        (["no_such.py"], "file not found: no_such.py"),
        (["no_such.toml"], "file not found: no_such.toml"),
        (["bench_smal.py"], "file not found: bench_smal.py; did you mean bench_small.py?"),
        (["notes.txt"], "not a Python, TOML or JSON file"),
        (["FILE", "-a", "m=3"], "unknown axis 'm'"),
        (["FILE", "-a", "moed=plain"], "did you mean mode?"),
        (["FILE", "-a", "mode=plian"], "did you mean plain?"),
        (["FILE", "-a", "n=many"], "axis 'n' takes a whole number, not 'many'"),
        (["FILE", "-a", "n"], "an axis is written AXIS=V1,V2, not 'n'"),
        (["FILE", "-k", "totl"], "did you mean total?"),
        (["FILE", "--metric", "tiem"], "time"),
        (["FILE", "--stage", "forwrd"], "did you mean forward?"),
        (["FILE", "--device", "tpu"], "unknown device 'tpu'"),
        (["FILE", "--device", "gpu:1"], "unknown device 'gpu:1'; did you mean cuda:1?"),
        (["FILE", "--device", "cuda:x"], "a device is written cuda or cuda:0, not 'cuda:x'"),
        (["ops", "-a", "op=add", "--device", "cuda:99"], "--device cuda:99: "),
        (["FILE", "--clock", "cuda"], "time_cuda measures a CUDA device; add --device cuda"),
        (["FILE", "--metric", "device_time"], "device_time measures a CUDA device"),
        (["FILE", "--baseline", "mode"], "a baseline is written AXIS=VALUE"),
        (["FILE", "--baseline", "total"], "for a benchmark of that name: name=total"),
        (["FILE", "--baseline", "moed=plain"], "did you mean mode?"),
        (["FILE", "--baseline", "mode=plian"], "choose from: doubled, plain"),
        (["FILE", "--precision", "200%"], "expected a percentage such as '1%'"),
        (["FILE", "--budget", "soon"], "expected a time such as '60s'"),
        (["FILE", "--max-time-per-case", "-1s"], "expected a time"),
        (["FILE", "--cpus", "9999"], "CPU 9999 is not available here"),
        (["FILE", "--cpus", "3-1"], "expected CPU numbers"),
        (["FILE", "--cpus", "all"], "expected CPU numbers"),
        (["FILE", "--threads", "0"], "--threads"),
        (["FILE", "--num-runs", "0"], "--num-runs"),
        (["FILE", "--seed", "-1"], "--seed"),
        (["FILE", "--metrc", "time"], "--metric"),
        (["FILE", "--store", "results.sqlite"], "expected a path ending in .db"),
        (["FILE", "--store", "mysql://me@here/db"], "stores of kind 'mysql' are not supported"),
        (["FILE", "--cont"], "results.db"),
        (["FILE", "--cont", "--no-save"], "there is no store"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_wrong_run_is_one_line(refused, bench_file, tmp_path, arguments, said):
    (tmp_path / "notes.txt").write_text("not a benchmark")
    line = refused("run", *[bench_file if word == "FILE" else word for word in arguments])
    assert said in line


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["export"], "results.db"),
        (["runs"], "results.db"),
        (["runs", "--store", "elsewhere.db"], "elsewhere.db"),
        (["show", "matmul"], "matches"),
        (["show", "tour/mamtul"], "tour/matmul[n=64"),
        (["show", "add", "--in", "tuor"], "did you mean tour?"),
        (["list", "tuor"], "did you mean tour?"),
        (["lst"], "No such command 'lst'"),
        (["show"], "Missing argument"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_the_other_commands_too(refused, arguments, said):
    assert said in refused(*arguments)


def test_unknown_runs_cases_and_formats_of_a_store(opbench_here, refused, bench_file, fixed):
    assert opbench_here("run", bench_file, "-k", "total", "-a", "n=1", *fixed).returncode == 0
    assert "total" in refused("show", "bench_small/totl", "--in", bench_file)
    assert "did you mean bench_small/total[n=1," in refused("show", "bench_small/totl[n=1")
    assert "json" in refused("export", "--format", "jsn")
    assert "no-such-run" in refused("export", "no-such-run")
    assert "cannot write" in refused("export", "-o", "no/such/folder/x.csv")
    assert "no-such-name" in refused("run", "--cont", "--name", "no-such-name")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[run\n", "line 1: not valid TOML"),
        (
            "[run]\nprecison = 0.1\n[[benchmark]]\nname='a'\nstmt='pass'",
            "run: unknown key 'precison'; did you mean precision?",
        ),
        ("[[benchmark]]\nname = 'a'", "benchmark 'a': stmt: required key is missing"),
        (
            "[[benchmark]]\nname = 'a'\nstmt = '1 +'",
            "benchmark 'a': stmt: not valid Python, line 1",
        ),
        ("[run]\nmetrics = 5\nsuites = ['tour']", "run.metrics: expected a list of names"),
        ("[run]\nsuites = ['tuor']", "did you mean tour?"),
        ("", "nothing to run"),
    ],
)
def test_a_broken_run_file_names_the_place_and_what_was_expected(refused, tmp_path, text, said):
    path = tmp_path / "nightly.toml"
    path.write_text(text)
    assert said in refused("run", path)


def test_a_broken_json_run_file_names_the_line(refused, tmp_path):
    path = tmp_path / "nightly.json"
    path.write_text('{\n"run": {,}\n}')
    assert "nightly.json line 2, column" in refused("run", path)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import no_such_module", "line 1: ModuleNotFoundError"),
        ("x = 1\nraise ValueError('not today')", "line 2: ValueError: not today"),
        ("print('hello')\nx = (", "SyntaxError"),
        ("import sys\nsys.exit(1)", "sys.exit(1)"),
        ("import os\nos.abort()", "SIGABRT"),
        ("x = 1", "defines no benchmark"),
        ("import opbench as ob\n@ob.bench(m=[1])\ndef f(n): pass", "line 2"),
    ],
)
def test_a_users_file_that_cannot_be_read(refused, tmp_path, code, said):
    path = tmp_path / "bench_broken.py"
    path.write_text(code)
    line = refused("run", path)
    assert said in line
    assert str(path) in line


@pytest.mark.parametrize("words", [["run"], ["runs"], ["export"], ["show", "total"]])
def test_what_is_not_a_store_of_ours_is_refused_untouched(refused, bench_file, tmp_path, words):
    foreign, text = tmp_path / "foreign.db", tmp_path / "text.db"
    with closing(sqlite3.connect(foreign)) as theirs:
        theirs.execute("CREATE TABLE customers (id)")
        theirs.commit()
    text.write_text("this is not a database at all")
    target = [bench_file] if words == ["run"] else []
    assert "customers" in refused(*words, *target, "--store", foreign)
    assert str(text) in refused(*words, *target, "--store", text)


def in_a_small_filesystem(options: str, folder: Path) -> list[str]:
    """A command prefix: what follows sees a file system of its own at `folder`."""
    script = f'mount -t tmpfs -o {options} none "$0" && exec "$@"'
    prefix = ["unshare", "-rm", "sh", "-c", script, str(folder)]
    try:
        subprocess.run([*prefix, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this user may not mount a file system of its own")
    return prefix


def test_a_read_only_folder_is_one_line_before_anything_is_measured(bench_file, tmp_path, fixed):
    folder = tmp_path / "results"
    folder.mkdir()
    prefix = in_a_small_filesystem("ro", folder)
    command = [sys.executable, "-m", "opbench.cli.main", "run", str(bench_file), *fixed]
    done = subprocess.run(
        [*prefix, *command, "--store", str(folder / "r.db")], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert "Read-only file system" in done.stderr


def test_a_full_disk_keeps_what_is_finished_and_says_so(bench_file, tmp_path, marked, eventually):
    folder = tmp_path / "results"
    folder.mkdir()
    prefix = in_a_small_filesystem("size=400k", folder)
    kept = tmp_path / "kept"
    kept.mkdir()
    values = ",".join(map(str, range(1, 200)))
    run = (
        f'"{sys.executable}" -m opbench.cli.main run "{bench_file}" -k total -a n={values} '
        f'--num-runs 20 --num-repeats 1 --store "{folder}/r.db"; code=$?; '
        f'cp "{folder}"/* "{kept}"; exit $code'
    )
    done = subprocess.run([*prefix, "sh", "-c", run], capture_output=True, text=True, timeout=600)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    last = done.stderr.strip().splitlines()[-1]
    assert "disk is full" in last
    assert "safe" in last
    finished = [line for line in done.stderr.splitlines() if line.startswith("bench_small/")]
    from opbench.store import Store

    with Store.open(kept / "r.db", create=False) as store:
        stored = {found.case.id for found in store.results()}
    # Each was reported after it was stored.
    assert {line.split("  ")[0] for line in finished} <= stored
    assert stored
    assert eventually(lambda: marked() == [])


def test_a_dependency_that_is_not_there_is_named_in_one_line(capsys):
    from opbench.cli.main import explain

    assert explain(ModuleNotFoundError("No module named 'vl_convert'", name="vl_convert")) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "its dependency vl_convert is not installed in" in line
    with pytest.raises(ModuleNotFoundError):  # a bug of ours
        explain(ModuleNotFoundError("No module named 'opbench.gone'", name="opbench.gone"))
