"""Plain values out of a pickle, read without executing it.

A pickle is a program: most of its instructions build objects by calling what the file names. This
reader knows only those that plain values need (None, truth values, numbers, text, lists, tuples,
dictionaries with text as keys), of protocols 2 to 5, and refuses all others by name. Numbers may be
scalars of NumPy, which `numpy_scalars` decodes. The `pickle` module takes no part in it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from opbench.imports import numpy_scalars

#: Values, counted wherever they are referred to: a few bytes of references can stand for billions.
MOST_VALUES = 5_000_000
DEEPEST = 50
PLAIN = (type(None), bool, int, float, str, list, tuple, dict)
KINDS = {numpy_scalars.Name: "the name of a function", numpy_scalars.DType: "a dtype"}
#: A name that a file has reason to hold is shorter.
LONGEST_NAME = 100
#: Instructions that a file with objects begins with, for the message.
OBJECTS = {
    b"c": "GLOBAL", b"\x93": "STACK_GLOBAL", b"i": "INST", b"o": "OBJ", b"R": "REDUCE",
    b"b": "BUILD", b"\x81": "NEWOBJ", b"\x92": "NEWOBJ_EX", b"P": "PERSID", b"Q": "BINPERSID",
    b"\x82": "EXT1", b"\x83": "EXT2", b"\x84": "EXT4",
}  # fmt: skip


class NotPlain(ValueError):
    """One line on why this is not a pickle of plain values."""


def loads(content: bytes) -> Any:
    """The value in a pickle of plain values; `NotPlain` for anything else."""
    value = _Reader(content).read()
    _check_extent(value)
    return value


class _Mark:
    """Where a list, tuple or dictionary begins on the stack."""


class _Reader:
    def __init__(self, content: bytes) -> None:
        self.content = content
        self.position = 0
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def read(self) -> Any:
        if self.content[:1] != b"\x80":
            raise NotPlain("not a pickle of protocol 2 or later")
        while True:
            code = self.take(1)
            if code == b".":
                value = self.pop()
                if self.stack:
                    raise NotPlain(f"{len(self.stack)} values are left over at its end")
                return value
            step = STEPS.get(code)
            if step is None:
                name = OBJECTS.get(code)
                what = f"{name} would build an object" if name else f"instruction {code!r}"
                raise NotPlain(f"holds more than plain values: {what}, at byte {self.position - 1}")
            at = self.position - 1
            try:
                step(self)
            except numpy_scalars.NotScalar as error:
                what = f"{OBJECTS.get(code, code)} {error}"
                raise NotPlain(f"holds more than plain values: {what}, at byte {at}") from None

    def take(self, count: int) -> bytes:
        part = self.content[self.position : self.position + count]
        if len(part) < count:
            raise NotPlain("it ends too early")
        self.position += count
        return part

    def number(self, form: str) -> Any:
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def sized(self, form: str) -> bytes:
        return self.take(self.number(form))

    def text(self, form: str) -> str:
        try:
            return self.sized(form).decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            raise NotPlain("it holds text that is not UTF-8") from None

    def line(self) -> str:
        end = self.content.find(b"\n", self.position, self.position + LONGEST_NAME)
        if end < 0:
            raise NotPlain("it holds a name without an end")
        return self.take(end + 1 - self.position)[:-1].decode("latin1")

    def name(self, module: Any, name: Any) -> None:
        self.push(numpy_scalars.named(module, name))

    def build(self) -> None:
        state = self.pop()
        target = self.pop()
        numpy_scalars.built(target, state)
        self.push(target)

    def push(self, value: Any) -> None:
        self.stack.append(value)

    def pop(self) -> Any:
        if not self.stack or isinstance(self.stack[-1], _Mark):
            raise NotPlain("a value is missing")
        return self.stack.pop()

    def top(self, kind: type) -> Any:
        if not self.stack or not isinstance(self.stack[-1], kind):
            raise NotPlain(f"a {kind.__name__} is missing")
        return self.stack[-1]

    def since_mark(self) -> list[Any]:
        found: list[Any] = []
        while self.stack and not isinstance(self.stack[-1], _Mark):
            found.append(self.stack.pop())
        if not self.stack:
            raise NotPlain("a mark is missing")
        self.stack.pop()
        return found[::-1]

    def remember(self, index: int) -> None:
        if not self.stack or isinstance(self.stack[-1], _Mark):
            raise NotPlain("there is nothing to remember")
        self.memo[index] = self.stack[-1]

    def recall(self, index: int) -> None:
        if index not in self.memo:
            raise NotPlain(f"it refers to value {index}, which it does not have")
        self.push(self.memo[index])

    def append(self, values: list[Any]) -> None:
        self.top(list).extend(values)

    def assign(self, pairs: list[Any]) -> None:
        if len(pairs) % 2:
            raise NotPlain("a key has no value")
        target = self.top(dict)
        for key, value in zip(pairs[::2], pairs[1::2]):
            if not isinstance(key, str):
                raise NotPlain(f"a key is {type(key).__name__}, not text")
            target[key] = value

    def protocol(self) -> None:
        found = self.number("<B")
        if not 2 <= found <= 5:
            raise NotPlain(f"protocol {found} is not supported")

    def last(self, count: int) -> list[Any]:
        return [self.pop() for _ in range(count)][::-1]


def _long(form: str) -> Callable[[_Reader], None]:
    def step(reader: _Reader) -> None:
        size = reader.number(form)
        if size < 0:
            raise NotPlain("a number has a negative size")
        reader.push(int.from_bytes(reader.take(size), "little", signed=True))

    return step


#: Each instruction, by its byte.
STEPS: dict[bytes, Callable[[_Reader], None]] = {
    b"\x80": lambda r: r.protocol(),
    b"\x95": lambda r: r.number("<Q"),  # FRAME: how many bytes follow, of no use here
    b"(": lambda r: r.push(_Mark()),
    b"N": lambda r: r.push(None),
    b"\x88": lambda r: r.push(True),
    b"\x89": lambda r: r.push(False),
    b"J": lambda r: r.push(r.number("<i")),
    b"K": lambda r: r.push(r.number("<B")),
    b"M": lambda r: r.push(r.number("<H")),
    b"\x8a": _long("<B"),
    b"\x8b": _long("<i"),
    b"G": lambda r: r.push(r.number(">d")),
    b"\x8c": lambda r: r.push(r.text("<B")),
    b"X": lambda r: r.push(r.text("<I")),
    b"\x8d": lambda r: r.push(r.text("<Q")),
    b"]": lambda r: r.push([]),
    b"}": lambda r: r.push({}),
    b")": lambda r: r.push(()),
    b"l": lambda r: r.push(r.since_mark()),
    b"t": lambda r: r.push(tuple(r.since_mark())),
    b"\x85": lambda r: r.push(tuple(r.last(1))),
    b"\x86": lambda r: r.push(tuple(r.last(2))),
    b"\x87": lambda r: r.push(tuple(r.last(3))),
    b"a": lambda r: r.append([r.pop()]),
    b"e": lambda r: r.append(r.since_mark()),
    b"s": lambda r: r.assign(r.last(2)),
    b"u": lambda r: r.assign(r.since_mark()),
    b"C": lambda r: r.push(r.sized("<B")),
    b"B": lambda r: r.push(r.sized("<I")),
    b"c": lambda r: r.name(r.line(), r.line()),
    b"\x93": lambda r: r.name(*r.last(2)),
    b"R": lambda r: r.push(numpy_scalars.called(*r.last(2))),
    b"b": lambda r: r.build(),
    b"\x94": lambda r: r.remember(len(r.memo)),
    b"q": lambda r: r.remember(r.number("<B")),
    b"r": lambda r: r.remember(r.number("<I")),
    b"h": lambda r: r.recall(r.number("<B")),
    b"j": lambda r: r.recall(r.number("<I")),
}


def _check_extent(value: Any) -> None:
    """A value may contain itself, or one value a billion times; neither is plain. Nor is what the
    scalars of NumPy are made of, by itself."""
    todo = [(value, 0)]
    count = 0
    while todo:
        each, depth = todo.pop()
        count += 1
        if count > MOST_VALUES or depth > DEEPEST:
            raise NotPlain("its values contain each other too often or too deeply")
        if type(each) not in PLAIN:
            raise NotPlain(f"holds more than plain values: {KINDS.get(type(each), 'bytes')}")
        if isinstance(each, (list, tuple)):
            todo += ((part, depth + 1) for part in each)
        elif isinstance(each, dict):
            todo += ((part, depth + 1) for part in each.values())
