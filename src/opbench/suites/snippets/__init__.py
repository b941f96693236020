"""The suite `snippets`: small statements in Python and C++, chosen for breadth, not for size.

Tensors are tiny on purpose: what is measured is what a framework does around the arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterator

from opbench.define.definition import Definition
from opbench.suites.snippets.definition import definitions_of


def definitions() -> Iterator[Definition]:
    from opbench.snippets import flatten
    from opbench.suites.snippets import modules, statements, training

    topics = {**statements.SNIPPETS, **modules.SNIPPETS, **training.SNIPPETS}
    yield from definitions_of("snippets", flatten(topics).items())
