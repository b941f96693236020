"""`opbench ab` for real: two commits of a small project, two environments, and one against itself.

Plain Python, so that workers start in a tenth of a second. What is measured sleeps, and the second
commit four times as long: a load on the machine cannot shorten a sleep, and lengthens it by
little, so it can neither hide the difference nor invent one.
"""

from __future__ import annotations

import itertools
import re
import subprocess
from collections.abc import Callable
from importlib.metadata import version as version_of
from pathlib import Path

import pytest

from opbench.report.page.contents import gather
from opbench.store import Store

Command = Callable[..., subprocess.CompletedProcess[str]]
Commit = Callable[[dict[str, str]], str]

WORK = """
from time import sleep


def grown():
    sleep(0.005 * {repeats})


def kept():
    sleep(0.01)
"""

BENCH = """
import opbench as ob
from work import grown as work_grown, kept as work_kept


@ob.bench(group="work")
def grown():
    work_grown()


@ob.bench(group="work")
def kept():
    work_kept()
"""

#: Stops by precision long before the time is up, even where each block takes ten times as long.
QUICK = ("--max-time-per-case", "10s", "--precision", "40%")

#: Where the question is what is measured and shown, not how large it is.
ROUGH = ("--max-time-per-case", "0.2s", "--precision", "50%")


@pytest.fixture
def project(git_project: Commit, tmp_path: Path) -> tuple[Path, str, str]:
    """A project and its two commits; the second takes four times as long in `grown`."""
    before = git_project({"work.py": WORK.format(repeats=1), "bench_work.py": BENCH})
    after = git_project({"work.py": WORK.format(repeats=4)})
    return tmp_path / "project", before, after


def tables(text: str) -> list[list[str]]:
    """Lines of the table, as words."""
    row = re.compile(r"\[[\d.]+, [\d.]+\].* (slower|faster|same|unknown) *$")
    return [line.split() for line in text.splitlines() if row.search(line)]


def of(text: str, name: str) -> str:
    (found,) = [" ".join(words) for words in tables(text) if words[0] == name]
    return found


def test_a_commit_that_does_more_work_is_found_and_fails_the_gate(
    opbench: Command, opbench_here: Command, project: tuple[Path, str, str]
) -> None:
    folder, before, after = project
    ran = opbench(
        "ab", "--commit", before[:10], "--commit", after[:10], "bench_work.py", *QUICK,
        "--fail-on", "slower:20%", "--name", "growth", cwd=folder,
    )  # fmt: skip
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert of(ran.stdout, "grown").endswith("▲ slower")
    for side in (before, after):
        assert f"/grown[group=work]/call  {side[:10]}  time  " in ran.stderr
    assert "gate: 1 case failed" in ran.stdout  # `kept` may be called anything but 20 % slower
    assert re.search(r"^Next: opbench report \S+ -o report.html · opbench show ", ran.stderr, re.M)

    with Store.open(folder / ".opbench/results.db") as store:
        run = store.find_run("growth")
        results = store.results(run=run, samples=True)
    by_side = {(s.case.name, s.result.environment): s.result for s in results}
    assert set(by_side) == {
        (name, commit[:12]) for name in ("grown", "kept") for commit in (before, after)
    }
    for result in by_side.values():
        assert result.detail["design"] == "interleaved"
        assert len({sample.start for sample in result.samples}) == 6  # worker starts per side
    assert by_side["grown", before[:12]].estimate >= 0.005
    assert by_side["grown", after[:12]].estimate >= 0.02

    # Blocks of both sides alternate: each is measured in the moments of the other.
    order = sorted(
        (sample.order, side)
        for (name, side), result in by_side.items()
        if name == "grown"
        for sample in result.samples
    )
    turns = sum(a[1] != b[1] for a, b in itertools.pairwise(order))
    assert turns > len(order) / 4

    # The stored run gives the same table again, by whatever its sides are called.
    table = tables(ran.stdout)
    for sides in (("last",), ("growth",), (before[:8], after[:8]), (before[:12], after[:12])):
        again = opbench_here("compare", *sides, cwd=folder)
        assert again.returncode == 0, again.stderr
        assert tables(again.stdout) == table
    assert opbench_here("compare", "last", "--fail-on", "slower", cwd=folder).returncode == 1

    # Its columns have the names that `ab` showed, and its page compares the same sides.
    names = f"{before[:10]} {after[:10]} ratio"
    assert names in " ".join(ran.stdout.split())
    for sides in (("last",), (before[:8], after[:8])):
        again = opbench_here("compare", *sides, cwd=folder)
        assert names in " ".join(again.stdout.split())
    with Store.open(folder / ".opbench/results.db") as store:
        (comparison,) = gather(store, "growth").comparisons
    assert (comparison.base, comparison.new) == (before[:10], after[:10])

    # It cannot be completed as if it were an ordinary run.
    continued = opbench_here("run", "--cont", cwd=folder)
    assert continued.returncode == 2
    assert "opbench ab" in continued.stderr
    assert len(continued.stderr.strip().splitlines()) == 1


@pytest.mark.slow
def test_a_commit_against_itself_blames_nobody_by_much(
    opbench_here: Command, project: tuple[Path, str, str]
) -> None:
    folder, before, _ = project
    ran = opbench_here(
        "ab", "--commit", before, "--commit", before[:9], "bench_work.py", "-k", "kept", *QUICK,
        "--fail-on", "slower:20%", "--fail-on", "faster:20%", cwd=folder,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    # Each side is called what it was asked for as.
    assert f"{before[:12]} {before[:9]} ratio" in " ".join(ran.stdout.split())


@pytest.mark.slow
def test_a_case_that_only_one_commit_has_is_named(
    opbench_here: Command, git_project, tmp_path
) -> None:
    one = "import opbench as ob\n\n\n@ob.bench()\ndef first():\n    pass\n"
    extra = "\n\n@ob.bench()\ndef second():\n    sum(range(100))\n"
    before, after = git_project({"bench_it.py": one}), git_project({"bench_it.py": one + extra})
    ran = opbench_here(
        "ab", "--commit", before, "--commit", after, "bench_it.py", *ROUGH, "--no-save",
        cwd=tmp_path / "project",
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert f"only in {after[:12]}: 1 result, e.g. bench_it/second/call" in ran.stdout
    assert not (tmp_path / "project/.opbench/results.db").exists()


def test_a_case_that_fails_on_one_side_is_told_and_not_judged(
    opbench_here: Command, git_project, tmp_path
) -> None:
    bench = "import opbench as ob\nimport work\n\n\n@ob.bench()\ndef it():\n    work.it()\n"
    before = git_project({"work.py": "def it():\n    sum(range(100))\n", "bench_it.py": bench})
    after = git_project({"work.py": "def it():\n    raise ValueError('broken')\n"})
    ran = opbench_here(
        "ab", "--commit", before, "--commit", after, "bench_it.py", *ROUGH,
        "--fail-on", "slower", cwd=tmp_path / "project",
    )  # fmt: skip
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "1 unknown" in ran.stdout
    again = opbench_here("compare", "last", "--fail-on", "slower", cwd=tmp_path / "project")
    assert again.returncode == 1, again.stdout + again.stderr
    assert "the new side failed: ValueError: broken" in ran.stdout


def test_every_mistake_is_told_before_anything_runs(
    opbench_here: Command, project: tuple[Path, str, str]
) -> None:
    folder, before, after = project
    sides = ("--commit", before, "--commit", after)
    (folder / "work.py").write_text(WORK.format(repeats=99))
    for arguments, said in (
        (("--commit", before, "--commit", "HEAD", "bench_work.py"), "work.py"),
        (("--commit", before, "--commit", ".", "bench_work.py"), "commit them"),
        (("--commit", before, "--commit", "no-such", "bench_work.py"), "no commit 'no-such'"),
        (("--commit", before, "bench_work.py"), "give two sides"),
        (("bench_work.py",), "give two sides"),
        (("--env", "current", *sides, "bench_work.py"), "give two sides"),
        (("--env", "current", "--env", "curent", "bench_work.py"), "did you mean current"),
        ((*sides, "bench_none.py"), "bench_none.py"),
        ((*sides, "bench_work.py", "-k", "zzz"), "zzz"),
        ((*sides, "bench_work.py", "--fail-on", "slwer"), "did you mean slower"),
        ((*sides, "bench_work.py", "--junit", "no/such/x.xml"), "cannot write no/such/x.xml"),
    ):
        refused = opbench_here("ab", *arguments, cwd=folder)
        assert refused.returncode == 2, (arguments, refused.stdout, refused.stderr)
        assert said in refused.stderr
        assert len(refused.stderr.strip().splitlines()) == 1, refused.stderr
        assert not (folder / ".opbench/results.db").exists()


def test_two_environments_alive_at_once(
    opbench_here: Command, numpy_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPBENCH_HOME", str(numpy_home))
    (tmp_path / "bench_np.py").write_text(
        "import numpy as np\nimport opbench as ob\n\nx = np.ones(1000)\n\n\n"
        "@ob.bench()\ndef add():\n    x + x\n"
    )
    ran = opbench_here("ab", "--env", "np22", "--env", "current", "bench_np.py", *ROUGH)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert len(tables(ran.stdout)) == 1
    with Store.open(tmp_path / ".opbench/results.db") as store:
        results = store.results(samples=True)
        facts = store.environments(s.result.fingerprint for s in results)
    versions = {
        s.result.environment: facts[s.result.fingerprint]["interpreter"]["packages"]["numpy"]
        for s in results
    }
    assert versions == {"np22": "2.2.5", "current": version_of("numpy")}
    assert {s.result.detail["design"] for s in results} == {"interleaved"}
    for sides in (("last",), ("np22", "current"), ("last:np22", "last:current")):
        again = opbench_here("compare", *sides)
        assert again.returncode == 0, again.stderr
        assert tables(again.stdout) == tables(ran.stdout)


@pytest.mark.slow
def test_an_environment_against_itself(opbench_here: Command, tmp_path: Path) -> None:
    (tmp_path / "bench_it.py").write_text(
        "import time\nimport opbench as ob\n\n\n@ob.bench()\ndef it():\n    time.sleep(0.02)\n"
    )
    ran = opbench_here(
        "ab", "--env", "current", "--env", "current", "bench_it.py", *QUICK,
        "--fail-on", "slower:20%", "--fail-on", "faster:20%",
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "current (again)" in " ".join(ran.stdout.split())
    assert tables(opbench_here("compare", "last").stdout) == tables(ran.stdout)
