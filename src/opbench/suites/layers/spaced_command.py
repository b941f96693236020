"""Command lines in the style of argparse: several values after one flag, hyphen or underscore.

    --layers linear gsm_linear --batch_sizes 16 32

is read as `--layers linear --layers gsm_linear --batch-sizes 16 --batch-sizes 32`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import typer
from typer.core import TyperCommand

from opbench.errors import UserError


def unfolded(arguments: Sequence[str], several: Collection[str]) -> list[str]:
    """The same arguments with one flag before each value of the flags that take several."""
    words: list[str] = []
    flag = ""
    for index, argument in enumerate(arguments):
        if argument == "--":
            return [*words, *arguments[index:]]
        if argument.startswith("--"):
            name, equals, value = argument.partition("=")
            name = "--" + name[2:].replace("_", "-")
            flag = name if name in several and not equals else ""
            if name in several and equals:
                words += [part for each in value.split(",") for part in (name, each)]
            elif not flag:
                words.append(name + equals + value)
        elif is_flag(argument):
            flag = ""
            words.append(argument)
        elif flag:
            words += [part for each in argument.split(",") if each for part in (flag, each)]
        else:
            words.append(argument)
    return words


def is_flag(argument: str) -> bool:
    """`-c`, `--cont`, but not the number -3."""
    return argument.startswith("-") and not argument[1:2].isdigit() and len(argument) > 1


class SpacedCommand(TyperCommand):
    """A command whose repeatable options also take their values one after the other."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        several = {
            name
            for parameter in self.params
            if getattr(parameter, "multiple", False)
            for name in parameter.opts
        }
        empty = [flag for flag in several if _without_value(args, flag)]
        if empty:
            raise typer.BadParameter(f"{empty[0]} was given no value")
        ctx.allow_extra_args = True
        left = super().parse_args(ctx, unfolded(args, several))
        if left and not ctx.resilient_parsing:
            words = " ".join(left)
            raise UserError(
                f"unexpected {words}; layers are chosen by --layers, for example: --layers {words}"
            )
        return left


def _without_value(arguments: Sequence[str], flag: str) -> bool:
    """`--layers --cont`: the flag is there and no value follows it."""
    for index, argument in enumerate(arguments):
        if argument.replace("_", "-") == flag:
            following = arguments[index + 1 : index + 2]
            if not following or is_flag(following[0]):
                return True
    return False
