"""Which functions of a framework the operator catalogue calls: by the text of its spellings, and
for torch and MXNet by running them, since one function is often several operators of other names.
"""

from __future__ import annotations

import re

from opbench.case import Case
from opbench.envs.inventory import executed
from opbench.suites.ops.catalogue import catalogue

#: The frameworks that tell what they execute.
EXECUTED = ("torch", "mxnet")
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
            # `torch.ops.aten.sym_size.int` is an overload of `sym_size`.
            names = CALLED.findall(text)
            called |= {name.partition(".aten.")[2].partition(".")[0] for name in names}
            called |= {name.rpartition(".")[2] for name in names}
    if framework in EXECUTED:
        called |= executed(framework, runnable(framework)).names
    return called | {name.rstrip("_") for name in called} | {name.lstrip("_") for name in called}


def runnable(framework: str) -> list[Case]:
    """Every entry of the framework, forward, at its smallest."""
    from opbench.define.expand import expand
    from opbench.suites.ops.definition import operator_definition

    cases: list[Case] = []
    for operator in catalogue().values():
        if framework in operator.spelling:
            size = "small" if "small" in operator.sizes else "typical"
            axes = {"framework": [framework], "size": [size]}
            axes |= {"form": ["fused"]} if operator.parts else {}
            cases += expand([operator_definition(operator)], axes=axes, stages=["forward"])
    return [case for case in cases if not case.unsupported]
