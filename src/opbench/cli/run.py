"""`opbench run`: measure suites and files."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import typer

from opbench.cli.completion import suite_names
from opbench.cli.next_commands import next_line, store_words
from opbench.cli.options import FAIL_ON, takes
from opbench.errors import UserError

if TYPE_CHECKING:
    from opbench.analyse.gate import Gate
    from opbench.running.recording import Finished


@takes("run")
def run(
    options: dict[str, Any],
    targets: list[str] = typer.Argument(
        None,
        metavar="[SUITE | FILE.py | FILE.toml | FILE.json | CAPTURE.jsonl]...",
        help="Suites (see `opbench list`) and files. Without any: a tour of about two minutes.",
        show_default=False,
        autocompletion=suite_names,
    ),
    yes: bool = typer.Option(
        False, "--yes", help="With --cont: execute the files that the stored run names, unasked."
    ),
    dry_run: bool = typer.Option(False, "--dry-run", help="Show what would run; measure nothing."),
    fail_on: list[str] = FAIL_ON,
) -> int:
    """Measure suites and files; store and show the results."""
    from opbench.cli.consent import ask_before_continuing
    from opbench.cli.env import ready
    from opbench.report.terminal.console import Console

    gate = _gate(fail_on)
    ask_before_continuing(options, targets or [], yes)

    console = Console(stderr=True)
    if not options.get("on"):  # the nodes of a cluster build theirs themselves
        ready(options.get("environments", ()), console)
    if dry_run:
        return _dry_run(targets or [], options)

    from opbench.api.progress import progress

    try:
        with progress(console) as listener:
            # Below the display, as these imports take as long as all before.
            from opbench.api.run import execute

            finished = execute({**options, "targets": targets or ()}, listener=listener)
    except UserError as error:
        raise _with_way_on(error, options) from None
    from opbench.define import suites
    from opbench.report.terminal.run import show

    show(finished, targets=targets or [])
    for suite in suites.every().values():
        for line in suite.after_run(
            finished, targets or [], store=options.get("store"), cont=bool(options.get("cont"))
        ):
            print(line)
    if finished.status == "interrupted":
        end = "Interrupted; nothing stored (--no-save)."
        if finished.store:
            end = f"Interrupted; finished results are stored. {_way_on(options)}"
        console.print(end, soft_wrap=True, markup=False)  # not wrapped, so that it can be copied
        return 130
    code = finished.exit_code_with(_judged(finished, gate))
    if finished.store and finished.results:
        console.print(_what_next(finished, options), soft_wrap=True, markup=False, style="dim")
    return code


def _what_next(finished: Finished, options: dict[str, Any]) -> str:
    """One line of commands that go on from here."""
    case, _ = (finished.failures or finished.results)[0]
    commands = [["report", finished.id, "-o", "report.html"], ["show", case.id]]
    if comparison := _comparison(finished, options):
        commands.insert(1, comparison)
    return next_line(commands, options)


def _comparison(finished: Finished, options: dict[str, Any]) -> list[str]:
    """The command that compares what the run has, or the run with the one before; empty where
    there is nothing to compare."""
    from opbench.store import Store, StoreError

    measured = {case.id for case, result in finished.results if result.ok}
    if not measured:
        return []
    baseline = finished.baseline
    if baseline and len({baseline.value_of(case) for case, _ in finished.results} - {None}) > 1:
        return ["compare", finished.id, "--col", baseline.axis]
    try:
        with Store.open(options.get("store"), create=False) as store:
            runs = store.runs(limit=2)
            shared = any(measured & store.case_ids(run) for run in runs[1:])
            return ["compare", "last~1", "last"] if shared and runs[0].id == finished.id else []
    except StoreError:
        return []


def _gate(terms: list[str]) -> Gate | None:
    """The gate that was asked for, checked before anything is measured."""
    if not terms:
        return None
    from opbench.analyse.gate import Gate

    return Gate.parse(terms)


def _judged(finished: Finished, gate: Gate | None) -> int:
    """The exit code of the gate, which says why."""
    from opbench.analyse.gate import gate_lines
    from opbench.analyse.within import comparisons_within
    from opbench.api.ab import stored
    from opbench.errors import UNMEASURED

    if gate is None:
        return 0
    compared = comparisons_within(finished.baseline, stored(finished))
    if not compared:
        print("gate: nothing was compared; give --baseline AXIS=VALUE, or several --env")
        return UNMEASURED
    for line in gate_lines(compared, gate):
        print(line)
    return gate.exit_code(compared)


def _way_on(options: dict[str, Any]) -> str:
    """`Continue with: ` and the command that does."""
    again = ["opbench", "run", "--cont"]
    if "name" in options:
        again += ["--name", options["name"]]
    return f"Continue with: {shlex.join([*again, *store_words(options)])}"


def _with_way_on(error: UserError, options: dict[str, Any]) -> UserError:
    """A store that stays away ends a run in its middle, which can be continued."""
    from opbench.store.errors import Unreachable

    return UserError(f"{error}. {_way_on(options)}") if isinstance(error, Unreachable) else error


def _dry_run(targets: list[str], options: dict[str, Any]) -> int:
    from opbench.api.progress import sampling_text
    from opbench.api.request import build
    from opbench.errors import plural
    from opbench.plan.groups import placed
    from opbench.plan.options import asked
    from opbench.running.recording import planned_seconds

    request, settled = build(asked({**options, "targets": targets}))
    for group in request.groups:
        for case in group.cases:
            note = f"   (unsupported: {case.unsupported})" if case.unsupported else ""
            print(f"{case.id}{note}")
    cases = len(request.cases)
    places = [place.name for place in request.environments]
    where = f" in {', '.join(places)}" if places != ["current"] else ""
    seconds = planned_seconds(request, placed(request.groups, request.environments))
    planned = f"; {sampling_text(seconds)}" if seconds else ""
    print(
        f"\n{plural(cases, 'case')}{where}, {', '.join(settled.metrics)}; "
        f"{request.policy.text}{planned}. Nothing was measured."
    )
    return 0
