"""The operators of `opbench.ops`, on MXNet by default, where the classic suite had them:
`from opbench.mxnet_benchmarks.nd import Add`, `from opbench.mxnet_benchmarks.gluon import Dense`.
"""

from __future__ import annotations

import sys
from types import ModuleType

from opbench.compat.operator_classes import attributes_of

MODULES = ("nd", "gluon", "gluon.nn", "gluon.rnn", "gluon.loss")


def install() -> None:
    """Make the modules importable; what they hold is found when it is asked for."""
    for path in MODULES:
        name = f"{__name__}.{path}"
        module = ModuleType(name, "Operators of the classic suite, on MXNet.")
        vars(module)["__path__"] = []
        vars(module)["__getattr__"], vars(module)["__dir__"] = attributes_of(
            "mxnet", name, gluon=path.startswith("gluon")
        )
        sys.modules[name] = module
        parent, _, own = name.rpartition(".")
        setattr(sys.modules[parent], own, module)


__path__: list[str] = []
install()
