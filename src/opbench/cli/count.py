"""`opbench count STATEMENT`: the instructions of one call, without a file and without a store."""

from __future__ import annotations

import shlex
import sys

import typer

from opbench.cli.options import AT_LEAST_1, GROUP, MATCH, RAW


def count(
    stmt: str = typer.Argument(metavar="STATEMENT", help="What to count: torch.add(x, y)"),
    setup: str = typer.Option("", "--setup", "-s", metavar="CODE", help="Run once before."),
    global_setup: str = typer.Option(
        "", metavar="CODE", help="C++ outside of all functions: #include <…>."
    ),
    language: str = typer.Option("python", metavar="python|cpp", help="Of the statement."),
    globals: bool = typer.Option(
        False, "--globals", help="Look names up as globals, as Timer.collect_callgrind does."
    ),
    env: str = typer.Option(
        "current", metavar="NAME|PATH", help="An environment, or the path of an interpreter."
    ),
    number: str = typer.Option(
        None, callback=AT_LEAST_1, metavar="N", help="Calls that are counted together."
    ),
    repeats: str = typer.Option(
        None, callback=AT_LEAST_1, metavar="N", help="How often; the smallest is kept."
    ),
    include: list[str] = typer.Option(
        [], "-I", metavar="FOLDER", help="C++: a folder of headers. May be repeated."
    ),
    extra_cflags: str = typer.Option("", metavar="FLAGS", help="C++: flags of the compiler."),
    extra_ldflags: str = typer.Option(
        "", metavar="FLAGS", help="C++: flags of the linker, objects and libraries."
    ),
    timeout: str = typer.Option(
        "60s", metavar="60s", help="A case whose answer takes longer is ended."
    ),
    pool: bool = typer.Option(
        True,
        "--pool/--no-pool",
        help="Take the worker from the pool that outlives commands (docs/workers.md).",
    ),
    functions: bool = typer.Option(False, "--functions", help="Instructions by function."),
    match: str = MATCH,
    group: str = GROUP,
    raw: bool = RAW,
) -> int:
    """Count the instructions of one statement. Nothing is stored."""
    from opbench.analyse.functions import FunctionView, by_function
    from opbench.api.count import NotCounted
    from opbench.api.count import count as counted_of
    from opbench.api.progress import progress
    from opbench.report.functions import breakdown
    from opbench.report.table import console_for
    from opbench.report.terminal.console import Console

    try:
        with progress(Console(stderr=True), failures=False) as listener:
            found = counted_of(
                stmt,
                setup,
                global_setup=global_setup,
                language=language,
                globals=globals,
                env=env,
                number=int(number) if number else None,
                repeats=int(repeats) if repeats else None,
                extra_include_paths=include,
                extra_cflags=shlex.split(extra_cflags),
                extra_ldflags=shlex.split(extra_ldflags),
                timeout=timeout,
                pool=pool,
                listener=listener,
            )
    except NotCounted as error:
        print(f"opbench: {error}", file=sys.stderr)
        return error.exit_code
    console = console_for(sys.stdout)
    console.print(str(found), soft_wrap=True, markup=False)
    for warning in found.results["instructions"].warnings:
        console.print(f"{warning.code}: {warning.text}", soft_wrap=True, markup=False)
    if functions:
        view = FunctionView(match, group, raw)
        console.print(breakdown(by_function(found.stats, view)))
    return 0
