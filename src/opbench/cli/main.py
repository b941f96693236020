"""`opbench`: the commands, and one place where mistakes become one line and an exit code.

Exit codes: 0 all went well; 1 something that was measured failed; 2 the command was wrong or
could not be carried out, and nothing was measured; 3 what was asked for could not be measured here;
130 interrupted (by SIGTERM 143, by SIGHUP 129).
"""

from __future__ import annotations

import functools
import os
import sys
from typing import Any

import typer

from opbench import children
from opbench.cli import streams
from opbench.cli.ab import ab
from opbench.cli.compare import compare
from opbench.cli.compat import compat
from opbench.cli.completion import answer_shells, completion
from opbench.cli.count import count
from opbench.cli.doctor import doctor
from opbench.cli.env import env
from opbench.cli.export import export
from opbench.cli.history import history
from opbench.cli.import_ import import_
from opbench.cli.init import init
from opbench.cli.interrupts import Interrupts
from opbench.cli.list import list_
from opbench.cli.report import report
from opbench.cli.run import run
from opbench.cli.runs import runs
from opbench.cli.selftest import selftest
from opbench.cli.show import show
from opbench.cli.store import store
from opbench.cli.workers import workers
from opbench.define import suites
from opbench.errors import UserError

HELP = ["-h", "--help"]

app = typer.Typer(
    name="opbench",
    help="Micro-benchmarks for deep learning: define, measure, store, compare.",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": HELP},
    rich_markup_mode=None,
)
app.command("run")(run)
app.command("list")(list_)
app.command("show")(show)
app.command("runs")(runs)
app.command("export")(export)
app.command("import")(import_)
app.add_typer(report)
app.command("compare")(compare)
app.command("history")(history)
app.command("ab")(ab)
app.command("count")(count)
app.command("selftest")(selftest)
app.add_typer(env)
app.add_typer(store)
app.add_typer(compat)
app.command("workers")(workers)
app.command("doctor")(doctor)
app.command("init")(init)
app.command("completion")(completion)
for command in suites.together(lambda suite: suite.commands()):
    group = {"": app, "report": report}[command.group]
    group.command(command.name, **command.settings)(command.function)


@app.callback(invoke_without_command=True)
def opbench(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", help="Print the version and exit."),
) -> None:
    if version:
        from opbench import __version__

        print(f"opbench {__version__}")
    elif context.invoked_subcommand is None:
        print(context.get_help())


def main(*script: str) -> None:
    """The entry point of the console script. A script that stands for one command gives it, with
    the words that come first: its help then has the script's name."""
    streams.open_missing()
    interrupts = Interrupts()
    with children.none_left_behind(), interrupts.handled(), streams.guarded():
        sys.exit(interrupts.exit_code(exit_code(*script)))


@functools.cache
def parser() -> Any:
    """Of all commands: typer reads every signature for it."""
    return typer.main.get_command(app)


def exit_code(*script: str) -> int:
    try:
        _check_folder()
        answer_shells(parser())
        code = _called(*_script(*script) if script else (parser(), "opbench", sys.argv[1:]))
        if sys.stdout:
            sys.stdout.flush()
    except KeyboardInterrupt:
        print("opbench: interrupted", file=sys.stderr)
        return 130
    except streams.ReaderGone:
        raise
    except Exception as error:
        return explain(error)
    return code if isinstance(code, int) else 0


def _script(command: str, *first: str) -> tuple[Any, str, list[str]]:
    """The command, what its help calls it, and its words."""
    return parser().commands[command], os.path.basename(sys.argv[0]), [*first, *sys.argv[1:]]


def _called(command: Any, name: str, words: list[str]) -> Any:
    """What the command returns. Called itself, it would turn Ctrl-C into an exit code."""
    try:
        with command.make_context(name, words, help_option_names=HELP) as context:
            return command.invoke(context)
    except typer.Exit as end:  # after --help
        return end.exit_code


def _check_folder() -> None:
    try:
        os.getcwd()
    except OSError:
        raise UserError("the current folder was deleted; change to another one") from None


def explain(error: Exception) -> int:
    """One line for what a person can fix; a traceback only for a bug of ours."""
    if isinstance(error, typer.Abort):
        print("opbench: interrupted", file=sys.stderr)
        return 130
    if hasattr(error, "format_message"):  # a wrong option or argument, in the parser's words
        print(f"opbench: {error.format_message()}", file=sys.stderr)
        return 2
    if isinstance(error, ModuleNotFoundError) and not str(error.name).startswith("opbench"):
        print(
            f"opbench: its dependency {error.name} is not installed in {sys.prefix}: install "
            "opbench there again, with pip and its dependencies",
            file=sys.stderr,
        )
        return 2
    if not isinstance(error, UserError):
        raise error
    print(f"opbench: {error}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    main()
