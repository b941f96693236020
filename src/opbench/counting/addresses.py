"""Attributes instructions to functions by address.

Callgrind books an instruction to the function it believes to be in, which it infers from calls and
returns. On Arm, Valgrind takes every plain branch (`b`) for a call: it then misses the return, and
books the caller's code after it to the callee, an allocator say. So the names of a dump are only
hints; addresses are right, and symbols map them to functions.

An address does not identify its library: a dump gives that of the function it books to. Where that
does not fit, the functions that were entered are searched.
"""

from __future__ import annotations

import platform
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from opbench.counting.dump import Block, Dump, Place
from opbench.counting.names import standard
from opbench.counting.profile import Arc, Function, Profile
from opbench.counting.symbols import LINKAGE, STUB, symbols

#: Where calls and returns are instructions of their own, what Callgrind says of the instructions
#: within a call is right.
RETURNS_ARE_SEEN = platform.machine().lower() in ("x86_64", "amd64")

#: Callgrind's name for code outside any library; on Arm, also for the stubs between libraries.
NOWHERE = "???"
#: Callgrind's name of such a stub.
STUB_NAME = re.compile(r"(0x[0-9a-f]+) \[PLT\]")


def by_address(dump: Dump) -> Profile:
    attribution = _Attribution(dump)
    own: Counter[Function] = Counter()
    for function, cost in attribution.costs():
        own[function] += cost
    calls, spent = attribution.arcs()
    costs = {f: cost for f, cost in own.items() if cost}
    return Profile(costs, calls, spent if RETURNS_ARE_SEEN else {}, dump.by_line())


class _Attribution:
    """The library and function of each instruction of a dump."""

    def __init__(self, dump: Dump) -> None:
        import numpy as np

        self.dump = dump
        self.addresses = np.array(dump.positions, np.int64)
        self.cost = np.array(dump.costs, np.int64)
        begins = [block.begin for block in dump.blocks]
        self.block = np.repeat(np.arange(len(begins)), np.diff([*begins, len(dump.costs)]))
        #: Libraries by number; for each instruction its library, and where its function begins.
        self.libraries: list[str] = []
        self.library: Any = None
        self.start = np.full(len(self.cost), -1, np.int64)
        #: Start addresses of the functions that were entered, by library; and of stubs.
        self.entered: dict[str, set[int]] = {}
        self.stubs: set[int] = set()
        self._as_booked()
        self._enter()
        self._elsewhere()

    def _number(self, library: str) -> int:
        if library not in self.libraries:
            self.libraries.append(library)
        return self.libraries.index(library)

    def owner(self, file: str) -> str:
        """The library that a source file belongs to."""
        library = self.dump.owners.get(file)
        if library is None:
            guesses = {of: n for (name, of), n in self.dump.guesses.items() if name == file}
            library = max(sorted(guesses), key=guesses.__getitem__, default="")
            self.dump.owners[file] = library
        return library

    def _as_booked(self) -> None:
        """Assign each to the library of the function it is booked to, or of its source file."""
        import numpy as np

        blocks = self.dump.blocks
        owners = [self.owner(block.file) if block.file else block.library for block in blocks]
        numbers = np.array([self._number(library) for library in owners], np.int64)
        self.library = numbers[self.block]
        for number, library in enumerate(list(self.libraries)):
            known = symbols(library)
            if known is not None:
                inside = self.library == number
                self.start[inside] = known.starts(self.addresses[inside])

    def _enter(self) -> None:
        for call in self.dump.calls:
            library, address = call.target
            known = symbols(library)
            if known is None:
                self.stubs.add(address)
            elif known.start(address) == address:
                self.entered.setdefault(library, set()).add(address)
        # Functions that are booked under their own name.
        pairs = set(zip(self.block.tolist(), self.start.tolist()))
        for number, start in pairs:
            block = self.dump.blocks[number]
            known = symbols(block.library)
            if stub := STUB_NAME.match(block.name):
                self.stubs.add(int(stub[1], 16))
            if start < 0 or block.file or known is None:
                continue
            booked = standard(block.name, block.library)
            if any(standard(name, block.library) == booked for name in known.names(start)):
                self.entered.setdefault(block.library, set()).add(start)

    def _elsewhere(self) -> None:
        """Reassign instructions of functions that were never entered to another library."""
        import numpy as np

        sets = {library: np.array(sorted(starts)) for library, starts in self.entered.items()}
        stubs = np.array(sorted(self.stubs), np.int64)
        # A source file identifies its library.
        has_file = np.array([bool(block.file) for block in self.dump.blocks], bool)
        lost = ~(has_file[self.block] & (self.start >= 0))
        for number, library in enumerate(self.libraries):
            here = self.library == number
            if library in sets:
                lost &= ~(here & np.isin(self.start, sets[library]))
            elif library == NOWHERE:
                lost &= ~(here & np.isin(self.addresses & -STUB, stubs))
        for library in (*sorted(sets), NOWHERE):
            left = np.flatnonzero(lost)
            if not len(left):
                return
            known = symbols(library)
            if known is None:
                starts = self.addresses[left] & -STUB
                fits = np.isin(starts, stubs)
            else:
                starts = known.starts(self.addresses[left])
                fits = np.isin(starts, sets[library])
            found = left[fits]
            self.library[found] = self._number(library)
            self.start[found] = starts[fits]
            lost[found] = False

    def costs(self) -> Iterator[tuple[Function, int]]:
        sums: dict[tuple[int, int, int], int] = {}
        places = zip(self.library.tolist(), self.start.tolist(), self.block.tolist())
        for place, cost in zip(places, self.dump.costs):
            sums[place] = sums.get(place, 0) + cost
        for (number, start, block), cost in sums.items():
            yield self._function(self.libraries[number], start, self.dump.blocks[block]), cost

    def _function(self, library: str, start: int, block: Block) -> Function:
        known = symbols(library)
        if known is not None:
            return standard(known.name(start), library)
        stub = library == NOWHERE != block.library
        return standard(LINKAGE if stub else block.name, library)

    def arcs(self) -> tuple[dict[Arc, int], dict[Arc, int]]:
        """By caller and callee: calls, counted by executions of the calling instruction, and the
        instructions within them.

        Callgrind counts a call when it sees it return, and it does not see all returns.
        """
        sites: dict[Place, Counter[Place]] = {}
        within: Counter[tuple[Place, Place]] = Counter()
        names: dict[Place, str] = {}
        for call, count in self.dump.calls.items():
            library, address = call.target
            known = symbols(library)
            if known is not None and known.start(address) != address:
                continue  # a branch within a function, or a return that looked like a call
            site = (self.owner(call.site.file), call.site.position)
            sites.setdefault(site, Counter())[call.target] += count
            within[site, call.target] += self.dump.spent[call]
            names[call.target], names[site] = call.name, call.site.name
        executed = self._executed(sites)

        def function(place: Place) -> Function:
            library, address = place
            known = symbols(library)
            if known is None:
                return standard(names[place], library)
            return standard(known.name(known.start(address)), library)

        def behind(place: Place) -> Function:
            """The function called through a stub, or at the place itself."""
            library, begin = place
            if _linkage(place):
                for address in range(begin, begin + STUB):
                    for to in sites.get((library, address), ()):
                        return function(to)
            return function(place)

        found: Counter[Arc] = Counter()
        spent: Counter[Arc] = Counter()
        for site, targets in sites.items():
            if _linkage(site):
                continue
            for to, count in targets.items():
                times = executed.get(site, 0) if len(targets) == 1 else count
                arc = (function(site), behind(to))
                found[arc] += times
                spent[arc] += within[site, to]
        return dict(found), dict(spent)

    def _executed(self, sites: dict[Place, Counter[Place]]) -> Counter[Place]:
        import numpy as np

        wanted = np.isin(self.addresses, np.array([address for _, address in sites], np.int64))
        counted: Counter[Place] = Counter()
        for number, address, cost in zip(
            self.library[wanted].tolist(),
            self.addresses[wanted].tolist(),
            self.cost[wanted].tolist(),
        ):
            counted[(self.libraries[number], address)] += cost
        return counted


def _linkage(place: Place) -> bool:
    library, address = place
    known = symbols(library)
    return library == NOWHERE if known is None else known.in_linkage(address)
