"""Names of C++ functions and kernels as people write them."""

from __future__ import annotations

import ctypes
import functools
from typing import Any


@functools.lru_cache(maxsize=1)
def _demangler() -> tuple[Any, Any] | None:
    """The demangler of the C++ runtime; without that there are no mangled names either."""
    try:
        library, c = ctypes.CDLL("libstdc++.so.6"), ctypes.CDLL(None)
        call, free = library.__cxa_demangle, c.free
    except (OSError, AttributeError):
        return None
    call.restype = ctypes.c_void_p
    call.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    free.argtypes = [ctypes.c_void_p]
    return call, free


def demangled(name: str) -> str:
    """A C++ name as written in source; any other name unchanged."""
    # A suffix after a dot names a copy that the compiler made of the function.
    stem, dot, copy = name.partition(".")
    tools = _demangler()
    if not stem.startswith("_Z") or tools is None:
        return name
    call, free = tools
    status = ctypes.c_int()
    text = call(stem.encode(), None, None, ctypes.addressof(status))
    if not text:
        return name
    try:
        return ctypes.string_at(text).decode(errors="replace") + dot + copy
    finally:
        free(text)


@functools.cache
def short(name: str, most: int = 100) -> str:
    """`at::native::sum_kernel<float, 4>` of a mangled name: without what it returns and takes."""
    text = demangled(name)
    if text != name:
        text = text.replace("(anonymous namespace)::", "")
        depth, begin = 0, 0
        for place, letter in enumerate(text):
            depth += (letter in "<{") - (letter in ">}")
            if letter == " " and not depth:
                begin = place + 1
            elif letter == "(" and not depth and not text[begin:place].endswith("operator"):
                text = text[begin:place]
                break
    return text if len(text) <= most else f"{text[: most - 1]}…"
