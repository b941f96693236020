"""A profile: instructions of each function itself, calls between functions, lines of source.

Inclusive counts (a function *with all it called*) come from what Callgrind says of each call. It
derives that from calls and returns; on Arm it takes branches for calls, functions that returned
long ago seem to include everything (see `opbench.counting.addresses`), and nothing is kept of it.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from opbench.counting.cycles import cycles


@dataclass(frozen=True, order=True)
class Function:
    name: str
    #: The file of the library or program, without its folder.
    object: str = ""

    def __str__(self) -> str:
        return f"{self.name} [{self.object}]" if self.object else self.name


#: Caller and callee.
Arc = tuple[Function, Function]
#: A source file and the number of a line in it.
Line = tuple[str, int]
K = TypeVar("K")

#: Lines of source that are kept with a result, costliest first.
MOST_LINES = 200
#: Bytes of a packed profile, unpacked: thousands of functions take a hundredth of it.
MOST_BYTES = 64 << 20


class Damaged(ValueError):
    """A packed profile that cannot be read."""


@dataclass(frozen=True)
class Profile:
    #: Instructions executed in each function itself.
    own: Mapping[Function, int] = field(default_factory=dict)
    #: Number of calls.
    calls: Mapping[Arc, int] = field(default_factory=dict)
    #: Instructions within those calls, all they called included; empty where nothing is known.
    spent: Mapping[Arc, int] = field(default_factory=dict)
    #: Instructions by line of source, where debug information names it.
    lines: Mapping[Line, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        return sum(self.own.values())

    def __sub__(self, other: Profile) -> Profile:
        """The difference of two profiles, function by function."""
        return Profile(
            _less(self.own, other.own),
            _less(self.calls, other.calls),
            _less(self.spent, other.spent),
            _less(self.lines, other.lines),
        )

    def inclusive(self) -> dict[Function, int]:
        """Each function with all it called.

        Functions that call each other in a circle, as an interpreter does, would count the inner
        calls again with each outer one: none of them has more than all of them have together.
        """
        found = dict(self.own)
        for (caller, callee), cost in self.spent.items():
            found.setdefault(callee, 0)
            if caller != callee:
                found[caller] = found.get(caller, 0) + cost
        for circle in cycles(self.spent):
            whole = sum(self.own.get(function, 0) for function in circle) + sum(
                cost
                for (caller, callee), cost in self.spent.items()
                if caller in circle and callee not in circle
            )
            for function in circle:
                found[function] = min(found[function], whole)
        return found

    def pack(self) -> str:
        """The profile as compressed text, for a result's detail."""
        arcs = sorted(self.spent)
        functions = sorted({*self.own, *(function for arc in arcs for function in arc)})
        number = {function: i for i, function in enumerate(functions)}
        lines = sorted(self.lines, key=lambda line: (-abs(self.lines[line]), line))[:MOST_LINES]
        columns: dict[str, list[Any]] = {
            "names": [f.name for f in functions],
            "objects": [f.object for f in functions],
            "own": [self.own.get(f, 0) for f in functions],
        }
        if arcs:
            columns["callers"] = [number[caller] for caller, _ in arcs]
            columns["callees"] = [number[callee] for _, callee in arcs]
            columns["calls"] = [self.calls.get(arc, 0) for arc in arcs]
            columns["spent"] = [self.spent[arc] for arc in arcs]
        if lines:
            columns["lines"] = [[*line, self.lines[line]] for line in lines]
        text = json.dumps(columns, separators=(",", ":"))
        return base64.b85encode(zlib.compress(text.encode(), 9)).decode()

    @classmethod
    def unpack(cls, packed: str) -> Profile:
        """The inverse of `pack`; calls are kept only where it is known what they cost."""
        try:
            unpacking = zlib.decompressobj()
            text = unpacking.decompress(base64.b85decode(packed), MOST_BYTES)
            if unpacking.unconsumed_tail:
                raise Damaged("it is too large")
            data: dict[str, Any] = json.loads(text)
            functions = [Function(str(n), str(o)) for n, o in zip(data["names"], data["objects"])]
            arcs = [
                (functions[caller], functions[callee])
                for caller, callee in zip(data.get("callers", ()), data.get("callees", ()))
            ]
            return cls(
                {f: int(own) for f, own in zip(functions, data["own"]) if own},
                {arc: int(calls) for arc, calls in zip(arcs, data.get("calls", ())) if calls},
                {arc: int(spent) for arc, spent in zip(arcs, data.get("spent", ()))},
                {(str(f), int(n)): int(cost) for f, n, cost in data.get("lines", ())},
            )
        except (ValueError, KeyError, TypeError, IndexError, AttributeError, zlib.error) as error:
            raise Damaged(f"the counts by function cannot be read: {error}") from None


def _less(one: Mapping[K, int], other: Mapping[K, int]) -> dict[K, int]:
    """The differences that are not zero."""
    both = {key: one.get(key, 0) - other.get(key, 0) for key in {**one, **other}}
    return {key: count for key, count in both.items() if count}
