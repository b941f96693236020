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

from opbench.counting.names import standard, standard_file
from opbench.counting.profile import Function, Line, Profile

#: First characters of lines with costs; of those with a relative position.
RELATIVE = frozenset("+-*")
BEGINNINGS = RELATIVE | frozenset("0123456789")

#: What Callgrind calls a source file that no debug information names.
UNKNOWN_FILE = "???"

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
    #: The number of the source file they are from.
    source: str = ""


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
    #: The line of each in its source file; 0 where no debug information says.
    lines: list[int] = field(default_factory=list)
    #: Calls that Callgrind has seen return, and the instructions within them, all they called
    #: included.
    calls: Counter[Call] = field(default_factory=Counter)
    spent: Counter[Call] = field(default_factory=Counter)
    #: The library of a source file; guesses where the dump does not name it.
    owners: dict[str, str] = field(default_factory=dict)
    guesses: Counter[tuple[str, str]] = field(default_factory=Counter)
    _names: dict[str, dict[str, str]] = field(
        default_factory=lambda: {"fn": {}, "ob": {}, "fl": {}}
    )

    def read(self, lines: Iterable[str]) -> None:
        name = library = main_file = file = callee = target = ""
        other: str | None = None  # the library of the callee, where it is not the caller's
        # A change of file before a call applies to the call alone.
        change, for_call = "", False
        position = line_number = 0
        count = None  # of the calls whose cost is on the next line
        new = True  # whether the next instruction begins a block
        # Relative lines, most of them and many alike: steps of position and line, and the cost.
        steps: dict[str, tuple[int, int, int]] = {}
        positions, numbers, costs = self.positions, self.lines, self.costs
        for line in lines:
            first = line[:1]
            if first in BEGINNINGS:
                if count is None:
                    step = steps.get(line)
                    if step is not None:
                        position += step[0]
                        line_number += step[1]
                        cost = step[2]
                    else:
                        parts = line.split()
                        before = position, line_number
                        position = _position(parts[0], position)
                        if self.columns > 1:
                            line_number = _position(parts[1], line_number)
                        cost = int(parts[self.columns]) if len(parts) > self.columns else 0
                        if all(part[0] in RELATIVE for part in parts[: self.columns]):
                            steps[line] = (position - before[0], line_number - before[1], cost)
                    if change:
                        if not for_call:
                            file, new = change, True
                        change, for_call = "", False
                    if new:
                        aside = "" if file == main_file else file
                        self.blocks.append(Block(name, library, aside, len(costs), file))
                        new = False
                    positions.append(position)
                    numbers.append(line_number)
                    costs.append(cost)
                    continue
                if count:  # zero calls: frames that were open when collecting began
                    parts = line.split()
                    # Relative to the last instruction, not to the last line.
                    site = Site(name, library, change or file, _position(parts[0], position))
                    place = (library if other is None else other, _position(target, position))
                    call = Call(site, callee, place)
                    self.calls[call] += count
                    self.spent[call] += int(parts[self.columns]) if len(parts) > self.columns else 0
                count = other = None
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
                main_file = file = self._file(value)
                self.owners[file] = library
            elif key in ("fi", "fe"):
                change, for_call = self._file(value), False
                self.guesses[change, library] += 1
            elif key == "cfn":
                callee, for_call = self._named("fn", value), True
            elif key == "cob":
                other = self._named("ob", value)
            elif key in ("cfi", "cfl"):
                self.owners[self._file(value)] = library if other is None else other
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

    def _file(self, text: str) -> str:
        """The number of a source file; its name is kept where it is first given."""
        self._named("fl", text)
        return text.partition(" ")[0] if text.startswith("(") else text

    def by_line(self) -> dict[Line, int]:
        """Instructions by line of source, where debug information names it."""
        found: Counter[Line] = Counter()
        if self.columns == 1:
            return {}
        for block, end in self._ranges():
            source = self._names["fl"].get(block.source, block.source)
            if source and source != UNKNOWN_FILE:
                source = standard_file(source)
                for at in range(block.begin, end):
                    found[source, self.lines[at]] += self.costs[at]
        return {line: cost for line, cost in found.items() if line[1] and cost}

    def _ranges(self) -> Iterable[tuple[Block, int]]:
        """Each block, and where it ends."""
        return zip(self.blocks, [*(block.begin for block in self.blocks[1:]), len(self.costs)])

    def by_name(self) -> Profile:
        """The profile by Callgrind's own names."""
        own: Counter[Function] = Counter()
        for block, end in self._ranges():
            own[standard(block.name, block.library)] += sum(self.costs[block.begin : end])
        arcs: Counter[tuple[Function, Function]] = Counter()
        spent: Counter[tuple[Function, Function]] = Counter()
        for call, count in self.calls.items():
            caller = standard(call.site.name, call.site.library)
            arc = (caller, standard(call.name, call.target[0]))
            arcs[arc] += count
            spent[arc] += self.spent[call]
        costs = {f: cost for f, cost in own.items() if cost}
        return Profile(costs, dict(arcs), dict(spent), self.by_line())


def _position(text: str, before: int) -> int:
    """Absolute, or relative to the position before it."""
    if text[:1] == "+":
        return before + int(text[1:], 0)
    if text[:1] == "-":
        return before - int(text[1:], 0)
    return before if text[:1] == "*" else int(text or "0", 0)
