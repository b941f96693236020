"""What tests named, measured in one run and compared with the baseline of a branch.

The baseline of a branch is the latest good result of each of its cases, on this machine: a case
that fails keeps the baseline it had. A run that compares leaves the baseline as it is, so that a
slower case stays slower until somebody accepts it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from opbench.analyse.compare import Comparison, compare
from opbench.analyse.gate import Gate, gate_lines
from opbench.analyse.sides import find_side
from opbench.api.run import Run, execute, uninterrupted
from opbench.case import Case
from opbench.define.call import definition_of_call
from opbench.define.definition import Definition
from opbench.define.expand import expand
from opbench.define.userfile import targets_from
from opbench.errors import UserError, plural
from opbench.plan.options import RunOptions, asked
from opbench.report.comparison.tables import as_text as comparison_text
from opbench.report.terminal.run import as_text as run_text
from opbench.result import Result
from opbench.running.listener import Listener
from opbench.store import Store
from opbench.store.facts import machine_of
from opbench.store.records import StoredResult

#: Compared with where a branch has no baseline of its own yet.
MAIN = ("main", "master")
#: Where CI systems say which branch they check out, detached as it is.
BRANCH_VARIABLES = ("GITHUB_HEAD_REF", "GITHUB_REF_NAME", "CI_COMMIT_REF_NAME", "BRANCH_NAME")

#: Stands for the branch where none is checked out: outside git, or at a commit.
NO_BRANCH = "HEAD"

#: What advice may name: an option of `opbench run`, and its value where one is given.
OPTION = re.compile(r"--(max-time-per-case|max-starts|num-runs|precision)(?: (\d[\w.%]*))?")


@dataclass
class Measured:
    """What the summary shows, and whether it makes the session fail."""

    lines: list[str] = field(default_factory=list)
    failed: bool = False


def measure(config: Any, named: Sequence[Mapping[str, Any]]) -> Measured:
    """A mistake of the person's is one line of the summary, and a failure."""
    try:
        return _measured(config, named)
    except (UserError, TypeError) as error:
        return Measured([f"opbench: {error}"], failed=True)


@dataclass(frozen=True)
class Settings:
    """What the options of pytest ask for. `against` is None without a comparison, and empty for one
    with the branch that is checked out."""

    gate: Gate
    against: str | None
    options: dict[str, Any]
    branch: str
    base: Base | None


def settings(config: Any) -> Settings:
    """A UserError where an option is wrong."""
    try:
        gate = Gate.parse(config.getoption("--opbench-fail-on"))
    except UserError as error:
        raise UserError(str(error).replace("--fail-on", "--opbench-fail-on")) from None
    against = config.getoption("--opbench-compare")
    if gate.terms and against is None:
        against = ""
    options = given(config.getoption("--opbench-option"))
    store = str(options.setdefault("store", config.rootpath / ".opbench" / "results.db"))
    branch = branch_of(config.rootpath)
    base = None
    if against is not None:
        base = baseline(store, against or branch, fall_back=not against)
    options.setdefault("name", f"pytest@{branch}" + (" compared" if against is not None else ""))
    return Settings(gate, against, options, branch, base)


def _measured(config: Any, named: Sequence[Mapping[str, Any]]) -> Measured:
    asked_for = settings(config)
    options = asked_for.options
    with importable():
        definitions, suggested = definitions_of(named)
        cases = expand(definitions, **narrowing(options))
        reporter = config.pluginmanager.get_plugin("terminalreporter")
        run = uninterrupted(
            execute({**suggested, **options}, cases=cases, listener=Progress(reporter))
        )
    return reported(run, asked_for, alone(config))


def reported(run: Run, asked_for: Settings, alone_text: str) -> Measured:
    text = spelled_for_pytest(run_text(run).rstrip())
    found = Measured([alone_text, *text.splitlines()], bool(run.failures))
    base, gate = asked_for.base, asked_for.gate
    if asked_for.against is None:
        found.lines += stored_lines(run, asked_for.branch)
        return found
    if base is None or not base.results:
        found.lines.append(
            f"{spoken(asked_for.against or asked_for.branch)} has no baseline on this machine; "
            "to store one, run pytest there once without --opbench-compare and --opbench-fail-on"
        )
        if gate.terms:
            found.lines.append("gate: failed, as there is nothing to compare with")
            found.failed = True
        return found
    name = "baseline" if base.name == NO_BRANCH else base.name
    compared = compare(base.results, run.stored, names=(name, "now"))
    if compared.rows:
        text = spelled_for_pytest(comparison_text(compared).rstrip())
        found.lines += text.splitlines()
    found.lines += new_cases(compared)
    found.lines += map(spelled_for_pytest, gate_lines([compared], gate))
    found.failed |= bool(gate.exit_code([compared]))
    return found


def stored_lines(run: Run, branch: str) -> list[str]:
    """What became of the baseline."""
    lines = []
    if any(stored.result.ok for stored in run.stored):
        of = spoken(branch) if branch == NO_BRANCH else branch
        lines.append(f"Stored as the baseline of {of}; compare with it: pytest --opbench-compare")
    if run.failures:
        lines.append("A case that failed keeps the baseline it had.")
    return lines


def spoken(branch: str) -> str:
    if branch == NO_BRANCH:
        return "this folder (no branch is checked out)"
    return f"branch {branch}"


def new_cases(compared: Comparison) -> list[str]:
    if compared.rows or not compared.only_new:
        return []
    return [f"nothing to compare: {compared.base} has none of these cases"]


def alone(config: Any) -> str:
    workers = config.getoption("numprocesses", None)
    others = " and the workers of pytest-xdist" if workers else ""
    return f"Measured alone, after the tests{others} ended."


class Progress(Listener):
    """One line that counts, where somebody watches."""

    def __init__(self, reporter: Any) -> None:
        self._reporter = reporter
        self._live = reporter is not None and reporter.isatty
        self._done: set[str] = set()
        self._total = 0

    def started(self, run_id: str, cases: int, already_done: int) -> None:
        self._total = cases
        if self._reporter is not None:
            self._reporter.ensure_newline()
            if self._reporter.verbosity < 0:  # of `pytest -q` it does not know the open line
                self._reporter.write_line("")
            text = f"opbench: measuring {plural(cases, 'case')}, alone"
            self._reporter.write_line(text)

    def starting_workers(self, what: str) -> None:
        self._show(f"starting workers ({what})")

    def measuring(self, cases: Sequence[Case]) -> None:
        self._show(cases[0].id if cases else "")

    def measured(self, case: Case, result: Result) -> None:
        self._done.add(case.hash)

    def _show(self, text: str) -> None:
        if self._live:
            self._reporter.rewrite(f"{len(self._done)}/{self._total}  {text[:100]}", erase=True)

    def finished(self, status: str) -> None:
        self._show("")


def spelled_for_pytest(text: str) -> str:
    """Advice such as `raise --max-time-per-case`, with the option as pytest takes it."""

    def option(found: re.Match[str]) -> str:
        return f"--opbench-option {found[1].replace('-', '_')}={found[2] or '…'}"

    return OPTION.sub(option, text).replace("--fail-on", "--opbench-fail-on")


def given(texts: Sequence[str]) -> dict[str, Any]:
    """`NAME=VALUE` as options of a run."""
    pairs = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise UserError(f"--opbench-option is written NAME=VALUE, not '{text}'")
        pairs[name.replace("-", "_")] = value
    return asked(pairs)


def narrowing(options: Mapping[str, Any]) -> dict[str, Any]:
    kept = RunOptions(**{name: value for name, value in options.items() if name != "name"})
    return {
        "axes": kept.axes,
        "keep": kept.keep,
        "device": kept.device,
        "threads": kept.threads,
        "seed": kept.seed,
    }


def definitions_of(
    named: Sequence[Mapping[str, Any]],
) -> tuple[list[Definition], dict[str, Any]]:
    """Of the calls and of the benchmarks of files, each once; and the baselines of their groups."""
    files: dict[str, set[str]] = {}
    found: dict[tuple[str, str, str], Definition] = {}
    for each in named:
        if "call" in each:
            key = (each["suite"], each["call"]["name"], str(each["call"]["axes"]))
            found[key] = definition_of_call(each["call"], each["suite"])
        else:
            files.setdefault(each["file"], set()).add(each["benchmark"])
    suggested: dict[str, Any] = {}
    for file, names in files.items():
        targets = targets_from(file)
        suggested.update(targets.suggested)
        for definition in targets.definitions:
            if definition.name in names:
                key = (definition.suite, definition.name, str(list(definition.axes)))
                found[key] = definition
    return list(found.values()), suggested


@contextmanager
def importable() -> Iterator[None]:
    """Other processes import what this one can: pytest and its `pythonpath` add folders."""
    library = sysconfig.get_path("stdlib")
    local = [
        path
        for path in sys.path
        if path and "site-packages" not in path and not path.startswith(library)
    ]
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(local)
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


@dataclass(frozen=True)
class Base:
    name: str
    results: list[StoredResult]


def baseline(store: str, ref: str, fall_back: bool) -> Base | None:
    """The latest good result of each case under the name of a branch; or those of a stored run."""
    from opbench.machine import machine_facts

    here = machine_of(machine_facts())
    with _opened(store) as opened:
        if opened is None:
            return None
        runs = [run for run in opened.runs() if machine_of(run.machine) == here]
        for branch in (ref, *(MAIN if fall_back else ())):
            latest: dict[tuple[str, str, str], StoredResult] = {}
            for run in runs:
                if run.name == f"pytest@{branch}":
                    for stored in opened.results(run=run, samples=True):
                        key = (stored.case.id, stored.result.metric, stored.result.environment)
                        if stored.result.ok:
                            latest.setdefault(key, stored)
            if latest:
                return Base(branch, list(latest.values()))
        if fall_back:
            return None
        try:
            side = find_side(opened, ref)
        except UserError as error:
            raise UserError(f"branch {ref} has no baseline on this machine, and {error}") from None
        return Base(side.name, list(side.results))


@contextmanager
def _opened(store: str) -> Iterator[Store | None]:
    if "://" not in store and not Path(store).exists():
        yield None
        return
    with Store.open(store, create=False) as opened:
        yield opened


def branch_of(folder: Path) -> str:
    """The branch that is checked out there; NO_BRANCH where there is none."""
    command = ["git", "-C", str(folder), "symbolic-ref", "--short", "-q", "HEAD"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.SubprocessError):
        found = None
    named = found.stdout.strip() if found is not None else ""
    variables = (os.environ.get(name, "") for name in BRANCH_VARIABLES)
    return named or next(filter(None, variables), NO_BRANCH)
