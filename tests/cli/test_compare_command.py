"""`opbench compare` end to end, on stores filled with made-up runs: what it prints, what it
writes, and its exit codes."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from opbench.result import Sample
from opbench.store import Store
from synthetic import add_run, case, counted, timed

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose store has all that the tests ask for; they only read it."""
    top = tmp_path_factory.mktemp("project")
    (top / ".opbench").mkdir()
    with Store.open(top / ".opbench/results.db") as store:
        add_run(store, 0, "other", timed("unrelated", 1e-5))
        add_run(store, 1, "far", timed("add", 1e-5), on="elsewhere")
        add_run(
            store,
            2,
            "hollow",
            timed("add", 1e-5, samples=(Sample(1e-5),)),
            timed("mul", 0.0, samples=(Sample(0.0), Sample(0.0))),
            timed("bad", 1e-5, estimate=float("inf")),
            timed("gone", 1e-5, outcome="crashed", reason="SIGSEGV"),
        )
        # Three modes of one case, interleaved; `hooks` costs 50 % more, `lean` nothing.
        swept = [
            timed(case("layer", mode=mode, n=n), value * n, design="paired", group=f"n={n}")
            for n in (1, 2)
            for mode, value in (("plain", 1e-5), ("hooks", 1.5e-5), ("lean", 1e-5))
        ]
        add_run(store, 3, "modes", *swept)
        add_run(
            store,
            4,
            "envs",
            timed("add", 1e-5, environment="np22", design="interleaved", fingerprint="f22"),
            timed("add", 1.5e-5, environment="np23", design="interleaved", fingerprint="f23"),
        )
        add_run(
            store,
            5,
            "base",
            *(timed(name, 1e-5) for name in ("add", "mul", "bad", "gone", "<script>|")),
            counted("add", 4096),
        )
        add_run(
            store,
            6,
            "new",
            timed("add", 1.5e-5),
            timed("mul", 1e-5),
            timed("bad", 1e-5),
            timed("gone", 1e-5, outcome="failed", reason="ValueError: no"),
            timed("<script>|", 0.5e-5),
            counted("add", 4096),
        )
    return top


class Answer:
    def __init__(self, done: subprocess.CompletedProcess[str]):
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr

    def line(self, name: str) -> str:
        lines = [" ".join(line.split()) for line in self.out.splitlines()]
        (found,) = [line for line in lines if line.startswith(name)]
        return found


@pytest.fixture
def compare(folder: Path, opbench_here: Command) -> Callable[..., Answer]:
    return lambda *arguments: Answer(opbench_here("compare", *arguments, cwd=folder))


# -- what is shown -----------------------------------------------------------------------------


def test_two_runs_in_a_process_of_their_own(opbench: Command, folder: Path) -> None:
    done = opbench("compare", "base", "new", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "1 slower, 1 faster" in done.stdout
    assert done.stderr == ""


def test_each_case_gets_its_verdict(compare):
    answer = compare("base", "new")
    assert answer.code == 0
    assert "▲ slower" in answer.line("add 10.0 µs")
    assert "? unknown" in answer.line("mul 10.0 µs")
    assert "▼ faster" in answer.line("<script>|")
    assert "= same" in answer.line("ops/add/forward 4.10 kB")
    assert "unknown: ops/gone/forward: the new side failed: ValueError: no" in answer.out
    assert "geometric mean of time over 4 cases" in answer.out


def test_the_latest_two_runs(compare):
    assert compare("--last", "2").out == compare("base", "new").out
    assert compare("last~1", "last").out == compare("base", "new").out


def test_only_one_metric(compare):
    answer = compare("base", "new", "--metric", "memory")
    assert "1 same" in answer.out
    assert "slower" not in answer.out


def test_filters_keep_and_leave_out(compare):
    assert "time: 1 slower; memory: 1 same" in compare("base", "new", "--filter", "name:add").out
    answer = compare("base", "new", "--filter", "-name:add,gone -metric:memory")
    assert "1 faster, 2 unknown" in answer.out


def test_the_values_of_an_axis_against_the_first(compare):
    answer = compare("modes", "--col", "mode")
    assert answer.code == 0
    assert answer.out.count("plain") == 2  # one table for hooks, one for lean
    assert "2 slower" in answer.out
    assert "2 same" in answer.out
    assert "ops/layer[…]/forward" in answer.out
    assert answer.out.count("\n n=2 ") == 2


def test_the_baseline_of_the_run_is_the_base(opbench_here, tmp_path):
    with Store.open(tmp_path / "results.db") as store:
        both = [
            timed(case("layer", mode=mode), value, design="paired", group="g")
            for mode, value in (("hooks", 1.5e-5), ("plain", 1e-5))
        ]
        add_run(store, 0, "run", *both, request={"baseline": "mode=plain"})
    shown = opbench_here("compare", "run", "--col", "mode", "--store", "results.db").stdout
    assert opbench_here("compare", "run", "--store", "results.db").stdout == shown
    assert shown.index("plain") < shown.index("hooks")
    assert "1 slower" in shown


def test_rows_are_called_by_the_chosen_keys(compare):
    answer = compare("modes", "--col", "mode", "--row", "name,n")
    assert "name=layer n=1" in answer.out
    assert "ops/layer" not in answer.out.split("geometric")[0]
    fewer_keys = compare("modes", "--col", "mode", "--row", "name")
    assert "name=layer n=2" in fewer_keys.out  # what would read alike says in what it differs


def test_one_run_in_two_environments(compare):
    answer = compare("envs")
    assert answer.code == 0
    assert "np22" in answer.out
    assert "1 slower" in answer.out
    assert compare("np22", "np23").out == answer.out
    assert "1 slower" in compare("envs:np22", "envs:np23").out


def test_margin_decides_what_is_called_same(compare):
    assert "= same" in compare("base", "new", "--margin", "20%").line("mul ")


def test_results_of_another_machine_only_when_asked(compare):
    assert compare("far", "base").code == 2
    answer = compare("far", "base", "--across-machines")
    assert answer.code == 0
    assert "only in base: 5 results" in answer.out


# -- the gate ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gate", "code"),
    [
        (["slower"], 1),
        (["slower:3%"], 1),
        # `gone` was measured in the base and failed in the new run: that is no pass.
        (["slower:80%"], 1),
        (["faster:80%"], 1),
        (["larger"], 1),
        (["slower:80%", "unknown"], 1),
    ],
)
def test_the_gate_decides_the_exit_code(compare, gate, code):
    answer = compare("base", "new", *[word for each in gate for word in ("--fail-on", each)])
    assert answer.code == code
    assert ("gate: 1 case failed" in answer.out) == (gate[0] in ("slower", "slower:3%"))
    lost = "gate: 1 case not measured, so nothing can be said of it; e.g. time of ops/gone/forward"
    assert (f"{lost}: the new side failed: ValueError: no" in answer.out) == ("unknown" not in gate)
    without = compare("base", "new", "--filter", "name:add", "--fail-on", "slower:80%")
    assert without.code == 0
    assert "gate" not in without.out


def test_the_gate_looks_at_every_column(compare):
    assert compare("modes", "--col", "mode", "--fail-on", "slower").code == 1
    lean = ("--filter", "mode:plain,lean")
    assert compare("modes", "--col", "mode", "--fail-on", "slower", *lean).code == 0


# -- files -------------------------------------------------------------------------------------


def test_markdown_and_junit_are_written(compare, tmp_path):
    page, xml = tmp_path / "comment.md", tmp_path / "junit.xml"
    answer = compare(
        "base", "new", "--fail-on", "slower:3%", "--markdown", page, "--junit", xml
    )  # fmt: skip
    assert answer.code == 1
    text = page.read_text(encoding="utf-8")
    assert text.startswith("### base → new: time: 1 slower, 1 faster")
    assert "| `ops/<script>\\|/forward` | time |" in text
    suite = ElementTree.parse(xml).getroot()[0]
    assert (suite.attrib["tests"], suite.attrib["failures"]) == ("6", "1")
    assert "ops/<script>|/forward" in [test.attrib["name"] for test in suite]


def test_every_column_is_in_the_files(compare, tmp_path):
    page, xml = tmp_path / "comment.md", tmp_path / "junit.xml"
    compare("modes", "--col", "mode", "--markdown", page, "--junit", xml)
    assert page.read_text(encoding="utf-8").count("### plain → ") == 2
    assert [suite.attrib["name"] for suite in ElementTree.parse(xml).getroot()] == [
        "opbench plain → hooks",
        "opbench plain → lean",
    ]


# -- bad input ---------------------------------------------------------------------------------


def test_values_without_a_ratio_are_unknown_for_a_reason(compare):
    assert compare("hollow", "base").code == 0
    answer = compare("hollow", "base", "--fail-on", "slower", "--fail-on", "faster")
    assert answer.code == 1, "a gate that has nothing to judge does not pass"
    assert "4 unknown" in answer.out
    for reason in (
        "add/forward: one sample says nothing about its own noise",
        "mul/forward: a time of zero or less has no ratio",
        "bad/forward: the base has values that are not finite",
        "gone/forward: the base crashed SIGSEGV",
    ):
        assert reason in answer.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["other", "new"], "'other' and 'new' have no case and metric in common"),
        (["base", "envs", "--metric", "memory"], "unknown metric 'memory'; choose from: time"),
        (["base", "new", "--metric", "tiem"], "unknown metric 'tiem'; did you mean time?"),
        (["base", "nwe"], "is called 'nwe'; did you mean new"),
        (["base", "far"], "different machines; compare them with --across-machines"),
        (["base", "base"], "both sides are the same run, 2026"),
        (["last", "new"], "name another one: an id (opbench runs), or last~1, the one before"),
        (["--last", "3"], "'--last': expected 2, found '3'"),
        (["base"], "is one run in one environment; name a second side, or --col KEY"),
        ([], "compare takes two sides"),
        (["base", "new", "last"], "compare takes two sides"),
        (["base", "new", "--last", "2"], "--last 2 names both sides"),
        (["base", "new", "--col", "mode"], "--col compares values within one run"),
        (["modes", "--col", "mdoe"], "unknown key 'mdoe'; did you mean mode"),
        (["modes", "--col", "suite"], "'suite' has only one value here: ops"),
        (["base", "--col", "metric"], "have no case and metric in common"),
        (["modes", "--col", "mode", "--row", "nme"], "unknown key 'nme'"),
        (["base", "new", "--filter", "name"], "a filter is written KEY=VALUE"),
        (["base", "new", "--filter", "name:zzz"], "the filter 'name:zzz' leaves nothing of 'base'"),
        (["base", "new", "--fail-on", "slowr"], "did you mean slower"),
        (["base", "new", "--fail-on", "slower:3"], "expected a percentage such as slower:3%"),
        (["base", "new", "--margin", "3"], "1%"),
        (["base", "new", "--last", "3"], "--last"),
        (["base", "new", "--store", "nowhere.db"], "nowhere.db"),
        (["base", "new", "--markdown", "no/such/folder.md"], "cannot write no/such/folder.md"),
        (["base:np22", "new"], "run base: unknown environment 'np22'; choose from: current"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_wrong_question_is_one_line_and_exit_code_two(compare, arguments, said):
    answer = compare(*arguments)
    assert answer.code == 2
    assert said in answer.err
    assert len(answer.err.strip().splitlines()) == 1
    assert answer.err.startswith("opbench: ")


def test_the_only_run_has_nothing_before_it(opbench_here: Command, tmp_path: Path) -> None:
    with Store.open(tmp_path / "results.db") as store:
        add_run(store, 0, "first", timed("add", 1e-5))
    done = opbench_here("compare", "--last", "2", "--store", "results.db")
    assert done.returncode == 2
    assert "no run 'last~1': the store has 1 run" in done.stderr
