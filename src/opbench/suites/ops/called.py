"""Which functions of a framework the operator catalogue calls, by the text of its spellings."""

from __future__ import annotations

import re

from opbench.suites.ops.catalogue import catalogue

CALLED = re.compile(r"([A-Za-z_][\w.]*)\s*\(")


def covered(framework: str) -> set[str]:
    """Last parts of the names it calls: `add` for `torch.add(a, b)` and for `a.add(b)`.

    In-place forms count for the function they are a form of.
    """
    called: set[str] = set()
    for operator in catalogue().values():
        call = operator.call(framework)
        if call is None:
            continue
        for part in (call.text, call.setup, call.globals):
            text = part if isinstance(part, str) else part(operator.values())
            called |= {name.rpartition(".")[2] for name in CALLED.findall(text)}
    return called | {name.rstrip("_") for name in called}
