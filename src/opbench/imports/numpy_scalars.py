"""Scalars of NumPy as pickles have them, without NumPy and without calling what a file names.

`numpy.float64(1.5)` is written as three calls: `dtype("f8")`, its byte order, and `scalar(dtype,
bytes)`; protocol 2 has no bytes and writes `_codecs.encode(text, "latin1")`. These names stand for
values of our own here, and what would be called is decoded by `struct`. Everything else is refused:
other names, dtypes and arguments, and as many bytes as the dtype does not have.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

#: What each dtype is to `struct`.
FORMS = {
    "b1": "?", "i1": "b", "i2": "h", "i4": "i", "i8": "q", "u1": "B", "u2": "H", "u4": "I",
    "u8": "Q", "f2": "e", "f4": "f", "f8": "d",
}  # fmt: skip
#: The version of a dtype's state, its byte order, and what a plain dtype has none of: a subdtype,
#: names and fields, a size and an alignment of its own, flags.
STATE = (3, None, None, None, -1, -1, 0)
#: A few bytes that refer to a long text would become many such texts.
MOST_BYTES = 8
SCALAR, DTYPE, ENCODE = "scalar", "dtype", "encode"
NAMES = {
    ("numpy.core.multiarray", "scalar"): SCALAR,
    ("numpy._core.multiarray", "scalar"): SCALAR,  # since NumPy 2
    ("numpy", "dtype"): DTYPE,
    ("_codecs", "encode"): ENCODE,
}


class NotScalar(ValueError):
    """What a pickle asks for is no part of a plain scalar."""


@dataclass(frozen=True)
class Name:
    """Stands for a function or a class that a file names."""

    text: str


@dataclass(eq=False)
class DType:
    """A dtype, whose byte order follows after it was made."""

    text: str
    order: str = ""


def named(module: Any, name: Any) -> Name:
    found = isinstance(module, str) and isinstance(name, str) and NAMES.get((module, name))
    if not found:
        raise NotScalar("would build an object")
    return Name(found)


def called(function: Any, given: Any) -> DType | bytes | int | float:
    """What a call of that name gives."""
    if isinstance(function, Name) and isinstance(given, tuple):
        if function.text == DTYPE and given[1:] == (False, True):
            return dtype(given[0])
        if function.text == ENCODE and given[1:] == ("latin1",):
            return encoded(given[0])
        if function.text == SCALAR and len(given) == 2:
            return scalar(*given)
    raise NotScalar("would build an object")


def dtype(text: Any) -> DType:
    if not isinstance(text, str) or text not in FORMS:
        raise NotScalar("would build an object of a dtype that is not a plain number")
    return DType(text)


def encoded(text: Any) -> bytes:
    if (
        not isinstance(text, str)
        or len(text) > MOST_BYTES
        or not all(sign <= "\xff" for sign in text)
    ):
        raise NotScalar("would build bytes that are no number")
    return text.encode("latin1")


def built(target: Any, state: Any) -> None:
    """Give a dtype its byte order."""
    plain = isinstance(target, DType) and isinstance(state, tuple) and len(state) == 8
    if not plain or target.order or (state[0], *state[2:]) != STATE:
        raise NotScalar("would build an object")
    if state[1] not in (("|",) if struct.calcsize(FORMS[target.text]) == 1 else ("<", ">")):
        raise NotScalar("would build an object of a dtype without a byte order")
    target.order = state[1]


def scalar(of: Any, content: Any) -> int | float:
    if not isinstance(of, DType) or not of.order or not isinstance(content, bytes):
        raise NotScalar("would build an object")
    form = of.order.replace("|", "<") + FORMS[of.text]
    if len(content) != struct.calcsize(form) or (of.text == "b1" and content not in b"\0\1"):
        raise NotScalar(f"holds a number of dtype {of.text} that is not written as one")
    value: int | float = struct.unpack(form, content)[0]
    return value
