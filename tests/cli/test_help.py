"""What `--help` says of the commands: whole sentences, and what an option takes."""

from __future__ import annotations

import typing
from collections.abc import Iterator
from typing import Any

from opbench.analyse.gate import ACCEPTED
from opbench.cli.main import parser

#: What fits on a line of 80 columns beside the longest name.
WIDTH = 60


def commands(group: Any, path: str = "opbench") -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        yield f"{path} {name}", command
        if hasattr(command, "commands"):
            yield from commands(command, f"{path} {name}")


COMMANDS = dict(commands(parser()))


def option(command: str, flag: str) -> Any:
    return next(each for each in COMMANDS[command].params if flag in each.opts)


def test_every_command_is_summed_up_in_one_line_that_is_not_cut():
    short = {name: command.get_short_help_str(WIDTH) for name, command in COMMANDS.items()}
    assert [name for name, text in short.items() if not text or text.endswith("...")] == []


def test_every_argument_says_what_it_is():
    arguments = [
        (name, each)
        for name, command in COMMANDS.items()
        for each in command.params
        if each.param_type_name == "argument"
    ]
    assert len(arguments) > 10
    assert [name for name, argument in arguments if not argument.help] == []


def test_every_option_has_a_type_that_all_releases_of_typer_know():
    """Those before 0.29 end with a traceback, whatever the command, over one that is `Any`."""
    assert len(COMMANDS) > 30
    untyped = [
        f"{name}: {parameter}"
        for name, command in COMMANDS.items()
        if command.callback is not None
        for parameter, type_ in typing.get_type_hints(command.callback).items()
        if type_ is Any and parameter in {each.name for each in command.params}
    ]
    assert untyped == []


def test_the_verdicts_to_fail_on_are_listed():
    for command in ("opbench compare", "opbench ab"):
        text = option(command, "--fail-on").help
        assert [verdict for verdict in ACCEPTED if verdict not in text] == []


def test_options_without_a_value_of_their_own_say_what_happens():
    for command, flag in (("opbench run", "--budget"), ("opbench layers", "--grad-sample-modes")):
        assert "[default: " in option(command, flag).help
