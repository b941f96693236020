"""Writes what comes from the options of the commands: the tables of docs/cli.md, and the keywords
of `opbench.run` and `opbench.ab` for type checkers (src/opbench/api/keywords.py).

    python docs/build_cli.py

Between a comment such as `<!-- options: run | Keeping the results -->` and `<!-- end -->` in the
page stands a table of the options of that command: of one section of the schema of a run's options
(`opbench.plan.options`), all of them, `own` (those that `opbench run` does not have, or has with
another meaning) or `shared` (the others, by name only).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from opbench.api import keywords
from opbench.api.signature import keywords_source
from opbench.cli.main import app
from opbench.plan.metrics import metrics
from opbench.plan.options import OPTIONS

PAGE = Path(__file__).parent / "cli.md"
KEYWORDS = Path(keywords.__file__)

BLOCK = re.compile(
    r"<!-- (options: (?P<command>[\w ]+?)( \| (?P<part>[\w ,]+))?|commands|metrics) -->\n"
)
END = "<!-- end -->"

#: What stands for the value of an option without a metavar, by its type.
METAVARS = {int: "N", float: "X", Path: "FILE"}


def page(text: str) -> str:
    """The page with its generated parts rewritten."""
    root = typer.main.get_command(app)
    written, rest = [], text
    while found := BLOCK.search(rest):
        _, end, after = rest[found.end() :].partition(END)
        assert end, f"{found.group(0).strip()} has no {END}"
        if found["command"]:
            content = table(command_of(root, found["command"]), found["part"] or "")
        else:
            content = commands(root) if "commands" in found[0] else described_metrics()
        written += [rest[: found.end()], content, END]
        rest = after
    return "".join([*written, rest])


def commands(root: Any) -> str:
    about = {name: summary(each) for name, each in root.commands.items()}
    width = max(map(len, about))
    lines = [f"    opbench {name:<{width}}  {text}" for name, text in about.items()]
    return "\n".join(["", *lines, "", ""])


def described_metrics() -> str:
    known = sorted(metrics().values(), key=lambda metric: metric.name)
    lines = [f"| `{metric.name}` | {escaped(metric.description)} |" for metric in known]
    return "\n".join(["", "| metric | what it is |", "|---|---|", *lines, "", ""])


def summary(command: Any) -> str:
    return " ".join((command.help or "").split("\n\n")[0].split()).rstrip(".")


def command_of(root: Any, path: str) -> Any:
    command = root
    for name in path.split():
        command = command.commands[name]
    return command


def table(command: Any, part: str) -> str:
    offered = [each for each in command.params if each.param_type_name == "option"]
    offered = [each for each in offered if "--help" not in each.opts]
    if part == "shared":
        flags = (f"`{each.opts[0]}`" for each in offered if not is_own(each))
        return f"\nAlso these, as for `run`: {', '.join(flags)}.\n\n"
    if part == "own":
        offered = [each for each in offered if is_own(each)]
    elif part:
        offered = [each for each in offered if each.name in OPTIONS]
        offered = [each for each in offered if OPTIONS[each.name].section == part]
        assert offered, f"no option stands under {part}"
    return "\n".join(["", "| option | meaning |", "|---|---|", *rows(offered), "", ""])


def is_own(parameter: Any) -> bool:
    known = OPTIONS.get(parameter.name)
    return known is None or known.full_help != parameter.help


def rows(parameters: list[Any]) -> Iterator[str]:
    for each in parameters:
        kind = METAVARS.get(each.type_descriptor.annotation, "TEXT")
        value = "" if each.is_flag else f" {each.metavar or kind}"
        flags = ", ".join([*each.opts, *each.secondary_opts]) + value
        meaning = f"{escaped(each.help or '')}{default_text(each)}".strip()
        yield f"| `{escaped(flags)}` | {meaning} |"


def default_text(parameter: Any) -> str:
    """The default that typer would add to the help; the help names the others itself."""
    default = parameter.default
    if parameter.is_flag or not parameter.show_default or default in (None, "", [], ()):
        return ""
    if isinstance(default, (list, tuple)):
        default = ", ".join(map(str, default))
    return f" [default: {default}]"


def escaped(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def main() -> None:
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    KEYWORDS.write_text(keywords_source(), encoding="utf-8")


if __name__ == "__main__":
    main()
