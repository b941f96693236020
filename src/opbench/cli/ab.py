"""`opbench ab`: two environments or two commits against each other, interleaved on one machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from opbench.cli.completion import suite_names
from opbench.cli.options import (
    FAIL_ON,
    FUNCTIONS,
    GROUP,
    JUNIT,
    MARGIN,
    MARKDOWN,
    MATCH,
    RAW,
    takes,
)
from opbench.errors import UserError


@takes(
    "ab",
    precision={
        "help": "Sample until the 95 % interval of the ratio is within ± this.",
        "otherwise": "0.5%",
    },
    max_time_per_case={"help": "Soft limit for one case on each side."},
    save={"help": "Show the comparison, store nothing."},
)
def ab(
    options: dict[str, Any],
    targets: list[str] = typer.Argument(
        ...,
        metavar="SUITE|FILE...",
        help="What to measure on both sides.",
        autocompletion=suite_names,
    ),
    env: list[str] = typer.Option(
        [],
        "--env",
        metavar="NAME|PATH",
        help="An environment (see `opbench env`) or the path of an interpreter; twice.",
    ),
    commit: list[str] = typer.Option(
        [], "--commit", metavar="REV", help="A commit of the project you are in; twice."
    ),
    margin: str = MARGIN,
    fail_on: list[str] = FAIL_ON,
    markdown: Path = MARKDOWN,
    junit: Path = JUNIT,
    functions: bool = FUNCTIONS,
    match: str = MATCH,
    group: str = GROUP,
    raw: bool = RAW,
) -> int:
    """Compare two environments or commits. Both run at once, interleaved block by block."""
    from opbench.analyse.gate import Gate
    from opbench.api.ab import ab as run_ab
    from opbench.api.progress import progress
    from opbench.cli.comparison_output import check_files, give
    from opbench.cli.env import ready
    from opbench.cli.next_commands import next_line
    from opbench.report.terminal.console import Console

    if (len(env), len(commit)) not in ((2, 0), (0, 2)):
        raise UserError("give two sides: --env A --env B, or --commit REV1 --commit REV2")
    gate = Gate.parse(fail_on)
    check_files(markdown, junit)
    console = Console(stderr=True)
    if not options.get("on"):  # the nodes of a cluster build theirs themselves
        ready(env, console)
    with progress(console) as listener:
        finished, comparison = run_ab(
            *targets, environments=env, commits=commit, margin=margin, listener=listener, **options
        )
    code = give([comparison], gate, markdown, junit)
    if functions:
        from opbench.analyse.functions import FunctionView
        from opbench.cli.compare_functions import show_functions

        show_functions([comparison], FunctionView(match, group, raw))
    where = f"results in {finished.store}" if finished.store else "not saved"
    print(f"Run {finished.id} {finished.status}; {where}")
    if finished.status == "interrupted":
        return 130
    if finished.store and finished.results:
        case, _ = (finished.failures or finished.results)[0]
        commands = [["report", finished.id, "-o", "report.html"], ["show", case.id]]
        line = next_line(commands, options)
        console.print(line, soft_wrap=True, markup=False, style="dim")
    return finished.exit_code_with(code)
