"""Families of operators: tables with a row for each, where frameworks differ by a function's name.

A column is a framework. `=` stands for the operator's own name, `-` for a framework without it; a
name without a dot is one of the module that users of the framework take it from. After the
frameworks come the domain of each input (`normal`, `positive`, a range `-1..1` of floats or `0:4`
of whole numbers, one for each input with `|` between them), and the operations for each element.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from opbench.define.program import NORMAL, POSITIVE, SIGNS, Domain, integers, uniform
from opbench.suites.ops.entry import Operator

#: Where users of a framework find its functions; those of ONNX have no module.
MODULES = {"torch": "torch.", "jax": "jnp.", "onnx": "", "mxnet": "nd.", "numpy": "np."}
DOMAINS = {"normal": NORMAL, "positive": POSITIVE, "signs": SIGNS}


def family(
    text: str,
    arguments: str | Mapping[str, str],
    build: Callable[..., Operator],
    more: Mapping[str, Mapping[str, Any]] | None = None,
) -> Iterator[Operator]:
    """An operator for each row of the table. `arguments` are those of the call, for all frameworks
    or for each; `build` takes the name, the domains, `flops` and the spellings; `more` has what
    else there is to say of an operator."""
    for row in filter(None, (line.split() for line in text.splitlines())):
        name, *functions = row[: 1 + len(MODULES)]
        domains, flops = (*row[1 + len(MODULES) :], *("normal", "1")[len(row) - 6 :])
        spelled: dict[str, Any] = {}
        for (framework, module), function in zip(MODULES.items(), functions):
            if function != "-":
                own = name if function == "=" else function
                given = arguments if isinstance(arguments, str) else arguments[framework]
                spelled[framework] = f"{own if '.' in own else module + own}({given})"
        drawn = [domain(word) for word in domains.split("|")]
        yield build(name, *drawn, flops=float(flops), **{**spelled, **(more or {}).get(name, {})})


def domain(word: str) -> Domain:
    if word in DOMAINS:
        return DOMAINS[word]
    low, _, high = word.partition("..")
    if high:
        return uniform(float(low), float(high))
    first, _, after = word.partition(":")
    return integers(int(first), int(after))
