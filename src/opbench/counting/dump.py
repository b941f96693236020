"""Reads a file that Callgrind wrote, with names and positions compressed or not.

A dump has a line for each instruction that was executed, tens of thousands of them, and they are
read while the next case is counted. So they are kept in two plain lists, and the function they are
booked to once per block of consecutive lines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from opbench.counting.names import standard
from opbench.counting.profile import Function, Profile

#: First characters of lines with costs; of those with a relative position.
RELATIVE = frozenset("+-*")
BEGINNINGS = RELATIVE | frozenset("0123456789")

#: An address in a library.
Place = tuple[str, int]


class Block(NamedTuple):
    """Consecutive instructions that are booked to one function."""

    name: str
    library: str
    #: The number of a source file, which belongs to one library; empty for the function's own.
    file: str
    #: Where they begin in the lists of positions and costs.
    begin: int


class Site(NamedTuple):
    """Where something is called."""

    name: str
    library: str
    file: str
    position: int


class Call(NamedTuple):
    site: Site
    name: str
    target: Place


@dataclass
class Dump:
    #: Whether positions are addresses, and how many numbers make a position.
    addresses: bool = False
    columns: int = 1
    blocks: list[Block] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    costs: list[int] = field(default_factory=list)
    #: Calls that Callgrind has seen return.
    calls: Counter[Call] = field(default_factory=Counter)
    #: The library of a source file; guesses where the dump does not name it.
    owners: dict[str, str] = field(default_factory=dict)
    guesses: Counter[tuple[str, str]] = field(default_factory=Counter)
    _names: dict[str, dict[str, str]] = field(default_factory=lambda: {"fn": {}, "ob": {}})

    def read(self, lines: Iterable[str]) -> None:
        name = library = main_file = file = callee = callee_library = target = ""
        # A change of file before a call applies to the call alone.
        change, for_call = "", False
        position = 0
        count = None  # of the calls whose cost is on the next line
        new = True  # whether the next instruction begins a block
        steps: dict[str, tuple[int, int]] = {}  # relative lines: most of them, and many alike
        positions, costs = self.positions, self.costs
        for line in lines:
            first = line[:1]
            if first in BEGINNINGS:
                if count is None:
                    step = steps.get(line)
                    if step is not None:
                        position += step[0]
                        cost = step[1]
                    else:
                        parts = line.split()
                        before, position = position, _position(parts[0], position)
                        cost = int(parts[self.columns]) if len(parts) > self.columns else 0
                        if first in RELATIVE:
                            steps[line] = (position - before, cost)
                    if change:
                        if not for_call:
                            file, new = change, True
                        change, for_call = "", False
                    if new:
                        other = "" if file == main_file else file
                        self.blocks.append(Block(name, library, other, len(costs)))
                        new = False
                    positions.append(position)
                    costs.append(cost)
                    continue
                if count:  # zero calls: frames that were open when collecting began
                    # Relative to the last instruction, not to the last line.
                    site = Site(name, library, change or file, _position(line.split()[0], position))
                    place = (callee_library or library, _position(target, position))
                    self.calls[Call(site, callee, place)] += count
                count, callee_library = None, ""
                continue
            if first in "\n":  # empty, with or without its end
                continue
            key, equals, value = line.rstrip("\n").partition("=")
            if not equals:
                if line.startswith("positions:"):
                    kinds = line.split()[1:]
                    self.addresses, self.columns = kinds[0] == "instr", len(kinds)
                continue
            if key == "fn":
                name, file, new = self._named("fn", value), main_file, True
                change, for_call = "", False
            elif key == "ob":
                library = self._named("ob", value)
            elif key == "fl":
                main_file = file = _number(value)
                self.owners[file] = library
            elif key in ("fi", "fe"):
                change, for_call = _number(value), False
                self.guesses[change, library] += 1
            elif key == "cfn":
                callee, for_call = self._named("fn", value), True
            elif key == "cob":
                callee_library = self._named("ob", value)
            elif key in ("cfi", "cfl"):
                self.owners[_number(value)] = callee_library or library
            elif key == "calls":
                calls, target, *_ = value.split()
                count = int(calls)

    def _named(self, kind: str, text: str) -> str:
        """A name, or the number in brackets that abbreviates it after its first use."""
        names = self._names[kind]
        known = names.get(text)
        if known is not None:
            return known
        number, _, name = text.partition(" ")
        if not (number.startswith("(") and number.endswith(")")):
            return text
        if name:
            names[number] = name
        return name

    def by_name(self) -> Profile:
        """The profile by Callgrind's own names."""
        own: Counter[Function] = Counter()
        ends = [*(block.begin for block in self.blocks[1:]), len(self.costs)]
        for block, end in zip(self.blocks, ends):
            own[standard(block.name, block.library)] += sum(self.costs[block.begin : end])
        arcs: Counter[tuple[Function, Function]] = Counter()
        for call, count in self.calls.items():
            caller = standard(call.site.name, call.site.library)
            arcs[(caller, standard(call.name, call.target[0]))] += count
        return Profile({f: cost for f, cost in own.items() if cost}, dict(arcs))


def _position(text: str, before: int) -> int:
    """Absolute, or relative to the position before it."""
    if text[:1] == "+":
        return before + int(text[1:], 0)
    if text[:1] == "-":
        return before - int(text[1:], 0)
    return before if text[:1] == "*" else int(text or "0", 0)


def _number(text: str) -> str:
    return text.partition(" ")[0] if text.startswith("(") else text
