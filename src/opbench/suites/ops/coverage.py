"""Which frameworks have which operators: the table of the documentation, generated.

python -m opbench.suites.ops.coverage docs/operators.md
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from opbench import frameworks
from opbench.suites.ops.catalogue import CATEGORIES, catalogue
from opbench.suites.ops.entry import Operator

#: Compiled torch has what torch has.
SHOWN = tuple(framework.name for framework in frameworks.by_module().values())
TITLES = {name: frameworks.get(name).title or name for name in SHOWN}
BEGIN, END = "<!-- coverage -->", "<!-- end of coverage -->"


def stages_in(operator: Operator, framework: str) -> str:
    """`fwd+bwd`, `fwd`, or nothing."""
    call = operator.call(framework)
    if call is None:
        return ""
    backward = operator.differentiable and call.differentiable
    return "fwd+bwd" if backward and frameworks.get(framework).autograd else "fwd"


def totals() -> dict[str, int]:
    return {
        framework: sum(framework in operator.spelling for operator in catalogue().values())
        for framework in SHOWN
    }


def lines() -> Iterator[str]:
    """The table, category by category, with the totals above it."""
    count = totals()
    yield (
        f"{len(catalogue())} operators: "
        + ", ".join(f"{count[framework]} in {TITLES[framework]}" for framework in SHOWN)
        + ". `torch.compile` takes those of torch that are functions of tensors."
    )
    yield ""
    yield f"| operator | {' | '.join(TITLES[f] for f in SHOWN)} | sizes |"
    yield f"|:--|{':--|' * len(SHOWN)}:--|"
    for category in CATEGORIES:
        yield f"| **{category}** |{' |' * (len(SHOWN) + 1)}"
        for operator in catalogue().values():
            if operator.category == category:
                stages = " | ".join(stages_in(operator, framework) for framework in SHOWN)
                sizes = ", ".join(("typical", *operator.sizes))
                yield f"| {operator.name} | {stages} | {sizes} |"


def updated(page: str) -> str:
    """The page with the current table in it."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    body = "\n".join(lines())
    return f"{before}{BEGIN}\n{body}\n{END}{after}"


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(updated(path.read_text(encoding="utf-8")), encoding="utf-8")
