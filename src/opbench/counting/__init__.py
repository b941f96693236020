"""Counts of instructions: what Callgrind writes, as values that can be stored and compared."""

from __future__ import annotations

from opbench.counting.format import read, write
from opbench.counting.noise import allocations, noise
from opbench.counting.profile import Damaged, Function, Line, Profile

__all__ = ["Damaged", "Function", "Line", "Profile", "allocations", "noise", "read", "write"]
