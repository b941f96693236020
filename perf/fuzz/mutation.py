"""How a valid input is damaged: bytes, texts, and the values of a JSON document."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

#: Code that would leave a trace if anything evaluated, imported or unpickled what it reads.
CANARY_CODE = "__import__('pathlib').Path({path!r}).touch()"

#: Values on which readers break: too large, too deep, of another type, half of a character.
ODD: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**63, -(2**63) - 1, 10**400, -(10**400), 1e308, 5e-324,
    0.1, "", " ", "\x00", "\x1b[2J", "\ud800", "é", "µ" * 10, "x" * 10_000, "../../etc/passwd",
    "/dev/zero", "a,b", "a=b", "n", "-n", "[", "{}", "nan", "inf", "1e999", "0" * 400, "9" * 400,
    "0000-00-00T00:00:00", "99999-12-31", [], {}, [None], [[]], [1, "a"], {"": None}, {"a": {}},
    [0] * 1000,
)  # fmt: skip

#: Pieces of text that mean something to one of the readers.
PIECES = (
    b"\x00", b"\xff", b"\n", b"\r", b"[[", b"]]", b"{", b"}", b'"', b"'", b"\\u", b"\\ud800", b"=",
    b".", b",", b"-", b"e9999", b"1" * 400, b"a." * 200, b"[" * 500, b"{\"a\":" * 200, b"nan",
    b"null", b"\xe2\x80\xae", b"\x1b]0;x\x07", b"__import__('os')", b"\x80\x04cos\nsystem\n",
)  # fmt: skip


def damaged(data: bytes, rng: random.Random) -> bytes:
    """The data after one to eight changes of a few bytes."""
    content = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        place = rng.randrange(len(content) + 1)
        length = rng.choice((1, 1, 2, 4, 16, 64, 512))
        kind = rng.randrange(7)
        if kind == 0:
            content[place : place + length] = b""
        elif kind == 1:
            content[place:place] = rng.choice(PIECES)
        elif kind == 2:
            content[place : place + length] = rng.choice(PIECES)
        elif kind == 3 and content:
            at = rng.randrange(len(content))
            content[at] ^= 1 << rng.randrange(8)
        elif kind == 4:
            content[place:place] = content[place : place + length] * rng.choice((1, 2, 50))
        elif kind == 5:
            del content[place:]
        else:
            content[place : place + length] = rng.randbytes(min(length, 16))
    return bytes(content)


def changed(tree: Any, rng: random.Random) -> Any:
    """A JSON value with one to four of its parts replaced, removed, copied or renamed."""
    tree = copy.deepcopy(tree)
    for _ in range(rng.choice((1, 1, 2, 4))):
        tree = _change(tree, rng)
    return tree


def _change(tree: Any, rng: random.Random) -> Any:
    holders = list(_holders(tree))
    if not holders:
        return copy.deepcopy(rng.choice(ODD))
    holder, key = rng.choice(holders)
    kind = rng.randrange(6)
    if kind == 0:
        del holder[key]
    elif kind == 1 and isinstance(holder, dict):
        holder[str(rng.choice(ODD))] = holder.pop(key)
    elif kind == 2:
        holder[key] = [holder[key]] * rng.choice((0, 1, 3, 200))
    elif kind == 3:
        other, its_key = rng.choice(holders)
        try:
            holder[key] = copy.deepcopy(other[its_key])
        except (LookupError, RecursionError):
            holder[key] = None
    else:
        holder[key] = copy.deepcopy(rng.choice(ODD))
    return tree


def _holders(tree: Any) -> Any:
    stack = [tree]
    while stack:
        each = stack.pop()
        if isinstance(each, dict):
            keys: Any = list(each)
        elif isinstance(each, list):
            keys = range(len(each))
        else:
            continue
        for key in keys:
            yield each, key
            stack.append(each[key])


def as_json(tree: Any) -> bytes:
    """As JSON, odd numbers and halves of characters included."""
    return json.dumps(tree).encode()
