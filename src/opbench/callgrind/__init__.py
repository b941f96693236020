"""Counts of instructions: what Callgrind writes, as values that can be stored and compared."""

from __future__ import annotations

from opbench.callgrind.format import read, write
from opbench.callgrind.noise import allocations, noise
from opbench.callgrind.profile import Function, Profile

__all__ = ["Function", "Profile", "allocations", "noise", "read", "write"]
