"""Options of commands from the schema of a run's options (`opbench.plan.options`)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from typing import Any

import typer

from opbench.cli.completion import values_of
from opbench.define.reading import count, expression, fraction
from opbench.plan.option import SWITCH, Option
from opbench.plan.options import OPTIONS, options_of

#: The parameter of a command that receives the options of the run, those that were given.
PARAMETER = "options"


def checked(parse: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A typer callback from a function that raises ValueError with a readable text."""

    def callback(value: Any) -> Any:
        if value is None or value == []:
            return value
        try:
            parsed = parse(value)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None
        # A repeated option stays the list that typer makes of it.
        return value if isinstance(value, list) else parsed

    return callback


#: The callback of an option that is a number of something.
AT_LEAST_1 = checked(count)

#: Of every command that compares.
MARGIN = typer.Option(
    "3%", "--margin", callback=checked(fraction), help="Same: the whole interval is within ± this."
)

#: Options of `ab` and `compare`.
FAIL_ON = typer.Option(
    [],
    "--fail-on",
    metavar="slower[:3%]",
    help="Exit with 1 if a case gets this verdict, by so much at least: slower, faster, same, "
    "unknown; of bytes and counts also larger, smaller, more, fewer.",
)
MARKDOWN = typer.Option(None, "--markdown", help="Write a pull-request comment to this file.")
JUNIT = typer.Option(None, "--junit", help="Write JUnit XML to this file.")

#: Options of `show` and `compare`.
FUNCTIONS = typer.Option(
    False, "--functions", help="Show which functions gained or lost instructions."
)
MATCH = typer.Option(
    "",
    "--match",
    metavar="REGEX",
    callback=checked(expression),
    help="With --functions: only functions whose name matches.",
)
RAW = typer.Option(
    False, "--raw", help="With --functions: allocators and hash tables too, which are noise."
)
GROUP = typer.Option(
    "",
    "--group",
    metavar="REGEX",
    callback=checked(expression),
    help="With --functions: sum those where this finds the same text.",
)


def run_option(name: str, **changes: Any) -> Any:
    """One option of a run as the default of a command's parameter; `changes` to its fields."""
    return _typer_option(name, replace(OPTIONS[name], **changes))


def takes(command: str, **changes: Mapping[str, Any]) -> Callable[[Callable[..., Any]], Any]:
    """Gives a command all options of a run that apply to it.

    They arrive as the dictionary `options` (name → value in its final form), without those that
    were not given. `changes` say what is different here: `seed={"flags": ("--random-seed",)}`; a
    changed default arrives as if it had been given.
    """
    offered = {
        name: replace(each, **changes.get(name, {})) for name, each in options_of(command).items()
    }

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        own = inspect.signature(function).parameters

        @wraps(function)
        def called(**values: Any) -> Any:
            given = {name: each["default"] for name, each in changes.items() if "default" in each}
            for name, each in offered.items():
                value = values.pop(name)
                if each.kind is SWITCH:
                    value = (not each.default) if value else None
                if value is not None and value != []:
                    given[name] = each.kind.read(value)
            return function(**values, **{PARAMETER: given})

        types = {name: _type(each) for name, each in offered.items()}
        generated = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=_typer_option(name, each),
                annotation=types[name],
            )
            for name, each in offered.items()
        ]
        kept = [
            parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for name, parameter in own.items()
            if name != PARAMETER
        ]
        called.__signature__ = inspect.Signature([*kept, *generated])  # type: ignore[attr-defined]
        annotations = {name: function.__annotations__[name] for name in own if name != PARAMETER}
        called.__annotations__ = {**annotations, **types}
        return called

    return decorate


def _type(option: Option) -> Any:
    return bool if option.kind is SWITCH else list[str] if option.kind.repeated else str


def _typer_option(name: str, option: Option) -> Any:
    if option.kind is SWITCH:
        return typer.Option(False, *option.flags_of(name), help=option.full_help)
    return typer.Option(
        [] if option.kind.repeated else None,
        *option.flags_of(name),
        metavar=option.metavar or option.kind.metavar,
        callback=checked(option.kind.read),
        help=option.full_help,
        show_default=False,
        autocompletion=values_of(name),
    )
