"""The keywords of `opbench.run` and `opbench.ab` from the schema of a run's options.

`inspect.signature` and `help` show every option. Type checkers read `opbench.api.keywords`, which
`python docs/build_cli.py` writes by `keywords_source`; a test compares the two.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from opbench.plan.option import Option
from opbench.plan.options import options_of

Function = TypeVar("Function", bound=Callable[..., object])

HEADER = '''"""The keywords of `opbench.run` and `opbench.ab`, for type checkers and editors.

Written by `python docs/build_cli.py` from `opbench.plan.options`; not by hand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypedDict

from opbench.case import Label

'''


def takes_options(command: str, **defaults: object) -> Callable[[Function], Function]:
    """The function with the options of that command in its signature and its documentation;
    `defaults` are those of its own."""

    def decorate(function: Function) -> Function:
        signature = inspect.signature(function)
        own = list(signature.parameters.values())[:-1]
        offered = {
            name: replace(each, default=defaults.get(name, each.default))
            for name, each in options_of(command).items()
        }
        keywords = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=each.default,
                annotation=annotation(each),
            )
            for name, each in offered.items()
        ]
        shown = signature.replace(parameters=[*own, *keywords])
        function.__signature__ = shown  # type: ignore[attr-defined]
        width = max(map(len, offered)) + 2
        lines = [f"    {name:<{width}}{each.full_keyword_help}" for name, each in offered.items()]
        function.__doc__ = "\n".join([inspect.cleandoc(function.__doc__ or ""), "", *lines])
        return function

    return decorate


def annotation(option: Option) -> str:
    kind = option.kind.keyword
    return f"{kind} | None" if option.default is None else kind


def keywords_source() -> str:
    """The text of `opbench/api/keywords.py`."""
    both, run = options_of("ab"), options_of("run")
    assert set(both) <= set(run)
    rest = {name: each for name, each in run.items() if name not in both}
    parts = [HEADER]
    for title, summary, offered in (
        ("AbKeywords(TypedDict, total=False)", "Options of `opbench.ab`.", both),
        ("RunKeywords(AbKeywords, total=False)", "Options of `opbench.run`.", rest),
    ):
        parts.append(f'\nclass {title}:\n    """{summary}"""\n\n')
        for name, each in offered.items():
            about = each.keyword_help or each.help
            parts += [f"    #: {line}\n" for line in textwrap.wrap(about, 92)]
            # None leaves it at the default, which is not the same in both functions.
            parts.append(f"    {name}: {each.kind.keyword} | None\n")
        parts.append("\n")
    return "".join(parts).rstrip("\n") + "\n"
