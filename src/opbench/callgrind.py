"""Callgrind's files: read a dump into functions and calls, write one for KCachegrind.

A `Profile` holds what was executed as plain numbers: instructions of each function itself, and how
often one called another. Its names are standardised, without paths, versions of symbols, addresses
and marks of one build, so that profiles of two builds can be laid side by side.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Iterable, Mapping
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
class Calls:
    count: int
    #: Instructions of the callee and of everything it called.
    inclusive: int


@dataclass(frozen=True)
class Profile:
    #: Instructions executed in each function itself.
    own: Mapping[Function, int] = field(default_factory=dict)
    #: (caller, callee) → calls.
    calls: Mapping[tuple[Function, Function], Calls] = field(default_factory=dict)

    @property
    def total(self) -> int:
        return sum(self.own.values())

    def __sub__(self, other: Profile) -> Profile:
        """What is left after taking another profile off, function by function."""
        own = {f: self.own.get(f, 0) - other.own.get(f, 0) for f in {**self.own, **other.own}}
        nothing = Calls(0, 0)
        arcs = {}
        for arc in {**self.calls, **other.calls}:
            mine, theirs = self.calls.get(arc, nothing), other.calls.get(arc, nothing)
            left = Calls(mine.count - theirs.count, mine.inclusive - theirs.inclusive)
            if left != nothing:
                arcs[arc] = left
        return Profile({f: count for f, count in own.items() if count}, arcs)

    def inclusive(self) -> dict[Function, int]:
        """Instructions of each function with all that it called; recursion is counted once."""
        found = dict(self.own)
        for (caller, callee), calls in self.calls.items():
            if caller != callee:
                found[caller] = found.get(caller, 0) + calls.inclusive
        return found

    # -- storage ---------------------------------------------------------------------------

    def pack(self) -> str:
        """Compressed text for a result's detail; `unpack` is its inverse."""
        functions = list(self.own)
        for caller, callee in self.calls:
            functions += [caller, callee]
        functions = sorted(set(functions))
        index = {function: i for i, function in enumerate(functions)}
        arcs = ((index[a], index[b], c.count, c.inclusive) for (a, b), c in self.calls.items())
        columns = {
            "names": [f.name for f in functions],
            "objects": [f.object for f in functions],
            "own": [self.own.get(f, 0) for f in functions],
            "calls": sorted(arcs),
        }
        text = json.dumps(columns, separators=(",", ":"))
        return base64.b85encode(zlib.compress(text.encode(), 9)).decode()

    @classmethod
    def unpack(cls, packed: str) -> Profile:
        data: dict[str, Any] = json.loads(zlib.decompress(base64.b85decode(packed)))
        functions = [Function(n, o) for n, o in zip(data["names"], data["objects"])]
        own = {f: count for f, count in zip(functions, data["own"]) if count}
        calls = {
            (functions[a], functions[b]): Calls(count, inclusive)
            for a, b, count, inclusive in data["calls"]
        }
        return cls(own, calls)

    # -- callgrind's own format ------------------------------------------------------------

    def write(self, command: str = "") -> str:
        """The profile as a file that KCachegrind and callgrind_annotate read."""
        lines = ["# callgrind format", "version: 1", "creator: opbench", f"cmd: {command}"]
        lines += ["positions: line", "events: Ir", f"summary: {self.total}", ""]
        by_caller: dict[Function, list[tuple[Function, Calls]]] = {}
        for (caller, callee), calls in self.calls.items():
            by_caller.setdefault(caller, []).append((callee, calls))
        for function in sorted({*self.own, *by_caller}):
            lines += [f"ob={function.object}", "fl=", f"fn={function.name}"]
            lines.append(f"0 {self.own.get(function, 0)}")
            for callee, calls in sorted(by_caller.get(function, ()), key=lambda pair: pair[0]):
                lines += [f"cob={callee.object}", "cfl=", f"cfn={callee.name}"]
                lines += [f"calls={calls.count} 0", f"0 {calls.inclusive}"]
            lines.append("")
        lines.append(f"totals: {self.total}")
        return "\n".join(lines) + "\n"


NAME = re.compile(r"\((\d+)\)(?: (.*))?$")


def read(lines: Iterable[str]) -> Profile:
    """The profile in the lines of a dump, names and positions compressed or not."""
    names: dict[str, dict[str, str]] = {"fn": {}, "ob": {}}
    made: dict[tuple[str, str], Function] = {}
    own: dict[Function, int] = {}
    arcs: dict[tuple[Function, Function], Calls] = {}
    object_ = callee_object = callee_name = ""
    function = Function("")
    count = None  # of the calls whose cost stands on the next line

    def named(kind: str, text: str) -> str:
        match = NAME.match(text)
        if match is None:
            return text
        number, name = match.groups()
        if name is not None:
            names[kind][number] = name
        return names[kind].get(number, "")

    def standard(name: str, library: str) -> Function:
        key = (name, library)
        if key not in made:
            made[key] = Function(standard_name(name), standard_object(library))
        return made[key]

    for raw in lines:
        line = raw.rstrip("\n")
        if not line:
            continue
        if line[0] in "0123456789+-*":
            parts = line.split()
            cost = int(parts[1]) if len(parts) > 1 else 0
            if count is None:
                own[function] = own.get(function, 0) + cost
                continue
            arc = (function, standard(callee_name, callee_object or object_))
            before = arcs.get(arc, Calls(0, 0))
            arcs[arc] = Calls(before.count + count, before.inclusive + cost)
            count, callee_object = None, ""
            continue
        key, equals, value = line.partition("=")
        if not equals:
            continue
        if key == "ob":
            object_ = named("ob", value)
        elif key == "fn":
            function = standard(named("fn", value), object_)
        elif key == "cob":
            callee_object = named("ob", value)
        elif key == "cfn":
            callee_name = named("fn", value)
        elif key == "calls":
            count = int(value.split()[0])
    return Profile({f: cost for f, cost in own.items() if cost}, arcs)


#: Marks of one build or one run: recursion levels, clones, versions of symbols, our own hashes.
MARKS = (
    (re.compile(r"^0x[0-9a-fA-F]+$"), "???"),
    (re.compile(r"'\d+$"), ""),
    (re.compile(r" \[clone [^\]]*\]"), ""),
    (re.compile(r"\.(constprop|isra|part|cold|lto_priv|llvm)(\.\d+)*"), ""),
    (re.compile(r"@@?[A-Z][\w.]*"), ""),
    (re.compile(r"opbench_[0-9a-f]{20}"), "opbench_statement"),
)
OBJECT_MARKS = (
    (re.compile(r"^.*/"), ""),
    (re.compile(r"^opbench-[0-9a-f]+\.so$"), "statements.so"),
    (re.compile(r"-[0-9a-f]{8}(?=[.-])"), ""),
    (re.compile(r"\.(cpython|pypy)[\w-]*(?=\.so)"), ""),
    (re.compile(r"\.abi3(?=\.so)"), ""),
    (re.compile(r"(?<=\.so)[.\d]+$"), ""),
)


def standard_name(name: str) -> str:
    for pattern, replacement in MARKS:
        name = pattern.sub(replacement, name)
    return name


def standard_object(path: str) -> str:
    for pattern, replacement in OBJECT_MARKS:
        path = pattern.sub(replacement, path)
    return path
