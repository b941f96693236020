"""The workflows and commands in the docs: what CI systems and our own parser would refuse."""

from __future__ import annotations

import re
import shlex
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
COPIED = sorted((DOCS / "ci").glob("*.yml"))
#: Those to copy, and those of this repository.
WORKFLOWS = [*COPIED, *sorted((ROOT / ".github" / "workflows").glob("*.yml"))]
#: All but the reference, which is generated from the commands and lists them with their summaries.
PAGES = [ROOT / "README.md", *(p for p in sorted(DOCS.glob("*.md")) if p.name != "cli.md")]

#: Texts that somebody from outside can choose: never to be pasted into a script.
UNTRUSTED = re.compile(r"\$\{\{.*github\.(event\.|head_ref|base_ref|actor)")
#: What ends a command in the shell.
SHELL = {"&&", "||", "|", ">"}
TRIGGERS = {"pull_request", "push", "schedule", "workflow_dispatch"}
STEP = {"name", "id", "if", "uses", "with", "run", "env", "continue-on-error"}
JOB = {"runs-on", "timeout-minutes", "steps", "env", "needs", "permissions"}


def workflow(path: Path) -> dict[Any, Any]:
    import yaml

    found = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def steps(path: Path) -> list[dict[str, Any]]:
    return [step for job in workflow(path)["jobs"].values() for step in job["steps"]]


def commands(text: str) -> list[list[str]]:
    """The calls of opbench in a script or a page, as words."""
    # The lines of a shell block are typed at a prompt too.
    for block in re.findall(r"^```(?:sh|bash)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        text += "".join(f"\n$ {line}" for line in block.replace("\\\n", "").splitlines())
    joined = re.sub(r"\\\n\s*", " ", text)
    found = []
    for line in re.findall(r"^(?: {4,}|\$ )opbench( [a-z].*)", joined, re.MULTILINE):
        words = list(takewhile(lambda word: word not in SHELL, shlex.split(line, comments=True)))
        # What the shell would put there; the workflow gives the budget in `env`.
        found.append([word.replace("$BUDGET", "3h") for word in words])
    return found


def check(words: list[str]) -> None:
    """Parses a command line as opbench would, and does nothing else."""
    from opbench.cli.main import parser

    command = parser()
    context = command.make_context("opbench", list(words))
    while hasattr(command, "resolve_command"):
        rest = [*getattr(context, "_protected_args", ()), *context.args]
        if not rest:
            return
        _, command, rest = command.resolve_command(context, rest)
        context = command.make_context(command.name, list(rest), parent=context)


def test_there_is_one_for_pull_requests_and_one_for_the_night():
    assert [path.name for path in COPIED] == ["nightly.yml", "pull-request.yml"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_has_the_shape_that_github_wants(path):
    found = workflow(path)
    # YAML 1.1 reads the key `on` as true.
    assert set(found) <= {"name", True, "concurrency", "permissions", "jobs", "env"}
    assert set(found[True]) <= TRIGGERS
    assert found["permissions"] == {"contents": "read"}
    for job in found["jobs"].values():
        assert set(job) <= JOB
        assert job["runs-on"]
        assert 0 < job["timeout-minutes"] <= 360
    for step in steps(path):
        assert set(step) <= STEP, step
        assert ("run" in step) != ("uses" in step), step
        if "uses" in step:
            assert re.fullmatch(r"[\w-]+/[\w-]+@v\d+", step["uses"])


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_no_script_pastes_what_somebody_else_wrote(path):
    for step in steps(path):
        assert not UNTRUSTED.search(step.get("run", "")), step
        assert "${{" not in step.get("run", ""), "hand it over in `env`"


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_expressions_are_closed_and_name_what_exists(path):
    text = path.read_text(encoding="utf-8")
    assert text.count("${{") == text.count("}}")
    for inner in re.findall(r"\$\{\{(.*?)\}\}", text):
        assert re.search(r"\b(github|inputs|vars|steps|cancelled)\b", inner), inner
    ids = {step.get("id") for step in steps(path)}
    assert set(re.findall(r"steps\.(\w+)\.", text)) <= ids
    if "schedule" in text:
        (cron,) = re.findall(r'cron: "([^"]+)"', text)
        assert re.fullmatch(r"(\S+ ){4}\S+", cron)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_scripts_are_shell(path):
    import subprocess

    for step in steps(path):
        if "run" in step:
            done = subprocess.run(["bash", "-n"], input=step["run"], text=True, capture_output=True)
            assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", [*WORKFLOWS, *PAGES], ids=lambda path: path.name)
def test_every_command_is_one_that_opbench_takes(path):
    for words in commands(path.read_text(encoding="utf-8")):
        check(words)


#: What a page has its reader prepare first: a cluster, environments, a GPU, a run to go on with.
PREPARED = ("--on", "--env", "--cont", "--device", "--store")
EXAMPLES = DOCS / "examples"


def measurable(words: list[str]) -> bool:
    """Whether a command measures suites, or files that ship as examples."""
    from opbench.define.suites import named

    if words[0] != "run" or set(PREPARED) & set(words):
        return False
    targets = [*takewhile(lambda word: not word.startswith("-"), words[1:])]
    return all(each in named() or (EXAMPLES / each).is_file() for each in targets)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_selection_on_a_page_has_cases(path, opbench_here):
    pytest.importorskip("torch")
    for words in filter(measurable, commands(path.read_text(encoding="utf-8"))):
        done = opbench_here(*words, "--dry-run", cwd=EXAMPLES)
        assert done.returncode == 0, f"opbench {shlex.join(words)}: {done.stderr}"
        assert "Nothing was measured." in done.stdout


def test_selections_are_found_on_the_pages():
    chosen = {
        path.name: [*filter(measurable, commands(path.read_text(encoding="utf-8")))]
        for path in PAGES
    }
    assert len(chosen["operators.md"]) > 5
    assert any("my_layers.py" in words for words in chosen["layers.md"])


def test_the_commands_of_the_pages_are_found():
    found = {path.name: commands(path.read_text(encoding="utf-8")) for path in WORKFLOWS + PAGES}
    assert found["pull-request.yml"]
    assert found["nightly.yml"]
    assert found["ci.md"]
    assert found["report.md"] == [["report", "-o", "report.html"]]
    assert ["show", "addmm", "--in", "train.jsonl", "--script"] in found["capture.md"]
    assert sum(map(len, found.values())) > 100


def test_a_command_that_opbench_would_refuse_is_found():
    with pytest.raises(Exception, match="No such option"):
        check(["report", "last", "--no-such-option"])
    with pytest.raises(Exception, match="No such command"):
        check(["reprot"])
