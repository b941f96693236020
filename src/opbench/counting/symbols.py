"""Functions of a library or program by address, from its own ELF file.

Reads where functions begin and end, and names on request only: torch's library has seven hundred
thousand.
"""

from __future__ import annotations

import functools
import mmap
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from opbench.demangling import demangled

#: Stubs through which one library calls another.
LINKAGE = "(calls into other libraries)"
#: An address that no symbol covers: a static function of a stripped file.
NAMELESS = "???"

#: Bytes of such a stub.
STUB = 16

#: Where distributions put the symbols of stripped files, by build id.
DEBUG = Path("/usr/lib/debug/.build-id")

MAGIC = b"\x7fELF\x02\x01"  # 64 bits, little endian: what Callgrind counts on
SYMTAB, DYNSYM = 2, 11
FUNC, IFUNC = 2, 10
HIDDEN_ALIAS = re.compile(r"\.localalias(\.\d+)?$")


class Section(NamedTuple):
    name: str
    kind: int
    address: int
    offset: int
    size: int
    link: int


class Symbols:
    """The functions of one file. Names are looked up when they are asked for."""

    def __init__(self, path: str) -> None:
        tables = list(_tables(Path(path)))
        self._linkage = [part for table in tables[:1] for part in table.linkage]
        self._tables = [table for table in tables if len(table.starts)]
        if not self._tables:
            raise ValueError(f"{path} has no symbols")
        #: Cached: a run looks up the same few thousand again and again.
        self._names: dict[int, tuple[str, ...]] = {}
        self._starts: dict[int, int] = {}

    def starts(self, addresses: Any) -> Any:
        """The start of the function at each address; -1 where none is known."""
        import numpy as np

        found = np.full(len(addresses), -1, np.int64)
        for table in self._tables:
            left = np.flatnonzero(found < 0)
            if not len(left):
                break
            found[left] = table.find(addresses[left])
        for begin, size in self._linkage:
            inside = (addresses >= begin) & (addresses < begin + size)
            found[inside] = addresses[inside] & -STUB
        return found

    def start(self, address: int) -> int:
        import numpy as np

        found = self._starts.get(address)
        if found is None:
            found = self._starts[address] = int(self.starts(np.array([address], np.int64))[0])
        return found

    def names(self, start: int) -> tuple[str, ...]:
        """All names of the function that begins there; the first is the preferred one."""
        known = self._names.get(start)
        if known is None:
            found = next((names for table in self._tables if (names := table.names(start))), ())
            fallback = LINKAGE if self.in_linkage(start) else NAMELESS
            known = self._names[start] = found or (fallback,)
        return known

    def name(self, start: int) -> str:
        return self.names(start)[0]

    def in_linkage(self, address: int) -> bool:
        return any(begin <= address < begin + size for begin, size in self._linkage)


class _Table:
    """Function symbols of one section, sorted by where they begin."""

    def __init__(self, data: mmap.mmap, sections: list[Section], table: Section | None) -> None:
        import numpy as np

        self.linkage = [
            (s.address, s.size) for s in sections if s.name.startswith((".plt", ".iplt"))
        ]
        self.starts: Any = np.empty(0, np.int64)
        if table is None:
            return
        layout = np.dtype(
            [
                ("name", "<u4"),
                ("info", "u1"),
                ("other", "u1"),
                ("section", "<u2"),
                ("value", "<i8"),
                ("size", "<i8"),
            ]
        )
        every = np.frombuffer(data, layout, table.size // layout.itemsize, table.offset)
        kind = every["info"] & 15
        chosen = every[((kind == FUNC) | (kind == IFUNC)) & (every["section"] != 0)]
        chosen = chosen[np.argsort(chosen["value"], kind="stable")]
        self._values = chosen["value"].copy()
        self._offsets = chosen["name"].copy()
        self._locals = (chosen["info"] >> 4) == 0
        # Several symbols may begin at one address.
        self.starts, first = np.unique(self._values, return_index=True)
        if len(first):
            sizes = np.maximum.reduceat(chosen["size"], first)
            # Some, written in assembly, have no size: they extend to the next one.
            gaps = np.append(np.diff(self.starts), 0)
            self._ends = self.starts + np.where(sizes > 0, sizes, gaps)
        strings = sections[table.link]
        self._strings = data[strings.offset : strings.offset + strings.size]

    def find(self, addresses: Any) -> Any:
        import numpy as np

        index = self.starts.searchsorted(addresses, "right") - 1
        inside = (index >= 0) & (addresses < self._ends[index])
        return np.where(inside, self.starts[index], -1)

    def names(self, start: int) -> tuple[str, ...]:
        first = int(self._values.searchsorted(start, "left"))
        last = int(self._values.searchsorted(start, "right"))
        # In a fixed order: public before local, then the shortest.
        found = {(bool(self._locals[i]), self._text(i)) for i in range(first, last)}
        ordered = sorted(found, key=lambda symbol: (symbol[0], len(symbol[1]), symbol[1]))
        return tuple(demangled(name) for _, name in ordered)

    def _text(self, index: int) -> str:
        begin = int(self._offsets[index])
        text = self._strings[begin : self._strings.index(b"\0", begin)].decode(errors="replace")
        return HIDDEN_ALIAS.sub("", text.partition("@")[0])


@functools.lru_cache(maxsize=256)
def symbols(path: str) -> Symbols | None:
    """The symbols of a file; None if it has none or does not exist."""
    try:
        return Symbols(path)
    except (OSError, ValueError, IndexError):
        return None


def read_symbols(pids: Iterable[int]) -> None:
    """Read the symbols of all that these processes have mapped; later calls find them."""
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/maps").read_text(errors="replace").splitlines()
        except OSError:  # it has ended
            continue
        mapped = [line.split(maxsplit=5) for line in lines]
        code = dict.fromkeys(
            words[5] for words in mapped if len(words) == 6 and "x" in words[1] and "/" in words[5]
        )
        for path in code:
            symbols(path)


def _tables(path: Path) -> Iterator[_Table]:
    """The fullest table first: static functions are in `.symtab` alone, here or in a debug file."""
    with _mapped(path) as data:
        sections = _sections(data)
        kinds = {s.kind: s for s in sections}
        yield _Table(data, sections, kinds.get(SYMTAB))
        if SYMTAB not in kinds:
            debug = _debug_file(data, sections)
            if debug is not None:
                with _mapped(debug) as more:
                    others = _sections(more)
                    table = next((s for s in others if s.kind == SYMTAB), None)
                    yield _Table(more, others, table)
        yield _Table(data, sections, kinds.get(DYNSYM))


def _mapped(path: Path) -> mmap.mmap:
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _sections(data: mmap.mmap) -> list[Section]:
    if data[: len(MAGIC)] != MAGIC:
        raise ValueError("not an ELF file of 64 bits")

    def number(offset: int, size: int) -> int:
        return int.from_bytes(data[offset : offset + size], "little")

    table, size, count, names = number(40, 8), number(58, 2), number(60, 2), number(62, 2)
    found = []
    for offset in range(table, table + size * count, size):
        found.append(
            Section(
                str(number(offset, 4)),
                number(offset + 4, 4),
                number(offset + 16, 8),
                number(offset + 24, 8),
                number(offset + 32, 8),
                number(offset + 40, 4),
            )
        )
    strings = found[names].offset

    def name(section: Section) -> str:
        begin = strings + int(section.name)
        return data[begin : data.find(b"\0", begin)].decode(errors="replace")

    return [section._replace(name=name(section)) for section in found]


def _debug_file(data: mmap.mmap, sections: list[Section]) -> Path | None:
    note = next((s for s in sections if s.name == ".note.gnu.build-id"), None)
    if note is None:
        return None
    # Sizes of name and content, kind, the name "GNU", and then the id itself.
    build = data[note.offset + 16 : note.offset + note.size].hex()
    file = DEBUG / build[:2] / f"{build[2:]}.debug"
    return file if file.is_file() else None
