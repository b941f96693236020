"""A profile: instructions of each function itself, and calls between functions.

Inclusive counts (a function *with all it called*) are left out on purpose. Callgrind derives them
from calls and returns, and on Arm it takes branches for calls: functions that returned long ago
seem to include everything (see `opbench.counting.addresses`).
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, order=True)
class Function:
    name: str
    #: The file of the library or program, without its folder.
    object: str = ""

    def __str__(self) -> str:
        return f"{self.name} [{self.object}]" if self.object else self.name


@dataclass(frozen=True)
class Profile:
    #: Instructions executed in each function itself.
    own: Mapping[Function, int] = field(default_factory=dict)
    #: (caller, callee) → number of calls.
    calls: Mapping[tuple[Function, Function], int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        return sum(self.own.values())

    def __sub__(self, other: Profile) -> Profile:
        """The difference of two profiles, function by function."""
        own = {f: self.own.get(f, 0) - other.own.get(f, 0) for f in {**self.own, **other.own}}
        arcs = {
            a: self.calls.get(a, 0) - other.calls.get(a, 0) for a in {**self.calls, **other.calls}
        }
        return Profile(
            {f: count for f, count in own.items() if count},
            {arc: count for arc, count in arcs.items() if count},
        )

    def pack(self) -> str:
        """Instructions by function as compressed text, for a result's detail."""
        functions = sorted(self.own)
        columns = {
            "names": [f.name for f in functions],
            "objects": [f.object for f in functions],
            "own": [self.own[f] for f in functions],
        }
        text = json.dumps(columns, separators=(",", ":"))
        return base64.b85encode(zlib.compress(text.encode(), 9)).decode()

    @classmethod
    def unpack(cls, packed: str) -> Profile:
        """The inverse of `pack`; calls are not kept."""
        data: dict[str, Any] = json.loads(zlib.decompress(base64.b85decode(packed)))
        functions = (Function(n, o) for n, o in zip(data["names"], data["objects"]))
        return cls(dict(zip(functions, data["own"])))
