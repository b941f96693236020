"""`from opbench.ops import Add`: the operators, on torch by default."""

from __future__ import annotations

from opbench.compat.operator_benchmark import OperatorBenchmark as OperatorBenchmark
from opbench.compat.operator_benchmark import measure as measure
from opbench.compat.operator_classes import attributes_of

__getattr__, __dir__ = attributes_of("torch", __name__)
