"""The built-in suites, by name. A suite is a module with a function `definitions()`.

Adding a suite is adding one line here and one file; nothing is imported before it is asked for.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from opbench.define.definition import Definition
from opbench.errors import UserError


@dataclass(frozen=True)
class Suite:
    module: str
    #: One line for `opbench list` and `opbench run --help`.
    about: str
    #: What the suite is run with unless the person says otherwise, by the names of `opbench.run`'s
    #: arguments. A baseline among them is left out where nothing asked for can be compared with it.
    options: Mapping[str, Any] = field(default_factory=dict)


SUITES: dict[str, Suite] = {
    "tour": Suite(
        "opbench.suites.tour.definitions", "a two-minute tour: torch on the CPU, small and mixed"
    ),
    "layers": Suite(
        "opbench.suites.layers",
        "what per-sample gradients cost: torch.nn layers against Opacus, time and memory",
        # One step of a large convolution takes minutes on a CPU, and is no hang.
        options={"baseline": "mode=baseline", "metrics": ("time", "memory"), "timeout": 900.0},
    ),
    "peaks": Suite(
        "opbench.suites.peaks.definitions",
        "what this machine can do at most: matrix products by dtype, and a copy (opbench peaks)",
        options={"max_time_per_case": 3.0},
    ),
    "snippets": Suite(
        "opbench.suites.snippets",
        "small statements in Python and C++, eager and TorchScript: what torch's overhead costs",
        # There are many, and none takes long.
        options={"max_time_per_case": 2.5},
    ),
    "ops": Suite(
        "opbench.suites.ops.definition",
        "every operator, forward and backward: torch, JAX, ONNX Runtime, MXNet, NumPy",
        # There are hundreds: enough to see a regression, not to dissect one.
        options={"precision": 0.05, "max_time_per_case": 4.0},
    ),
}


class UnknownSuite(UserError):
    pass


def load(name: str) -> list[Definition]:
    """The definitions of one built-in suite."""
    if name not in SUITES:
        near = difflib.get_close_matches(name, SUITES, n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else f"there is {', '.join(SUITES)}"
        raise UnknownSuite(f"no suite or file called '{name}'; {hint}")
    return list(import_module(SUITES[name].module).definitions())
