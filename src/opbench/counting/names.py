"""Names of functions that are the same in every build.

Without paths, symbol versions, addresses and suffixes of one build, so that profiles of two builds
can be compared.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable

from opbench.counting.profile import Function
from opbench.counting.symbols import LINKAGE

#: What differs by build or run: recursion levels, clones, symbol versions, our own hashes.
NAME_RULES = (
    (re.compile(r"'\d+$"), ""),
    # After the recursion level: a function without a name may recurse like any other.
    (re.compile(r"^0x[0-9a-fA-F]+$"), "???"),
    # Stubs through which one library calls another.
    (re.compile(r"^0x[0-9a-fA-F]+ \[PLT\]$"), LINKAGE),
    (re.compile(r" \[clone [^\]]*\]"), ""),
    (re.compile(r"\.(constprop|isra|part|cold|lto_priv|llvm)(\.\d+)*"), ""),
    (re.compile(r"@@?[A-Z][\w.]*"), ""),
    (re.compile(r"opbench_[0-9a-f]{20}"), "opbench_statement"),
)
OBJECT_RULES = (
    (re.compile(r"^.*/"), ""),
    (re.compile(r"^opbench-[0-9a-f]+\.so$"), "statements.so"),
    (re.compile(r"-[0-9a-f]{8}(?=[.-])"), ""),
    (re.compile(r"\.(cpython|pypy)[\w-]*(?=\.so)"), ""),
    (re.compile(r"\.abi3(?=\.so)"), ""),
    (re.compile(r"(?<=\.so)[.\d]+$"), ""),
)

#: Pieces of a C++ statement are files to the compiler, in a folder named by our hash; of any other
#: file, its folder tells it from its namesakes.
FILE_RULES = (
    (re.compile(r"^.*/[0-9a-f]{20}/(?=\w+$)"), ""),
    (re.compile(r"^.*/globals$"), "global_setup"),
    (re.compile(r"^.*/([^/]+/[^/]+)$"), r"\1"),
)


@functools.lru_cache(maxsize=1 << 16)
def standard(name: str, library: str) -> Function:
    """A function under its name in every build."""
    name = standard_name(name)
    return Function(name, "" if name == LINKAGE else standard_object(library))


def standard_name(name: str) -> str:
    return _rewritten(name, NAME_RULES)


def standard_object(path: str) -> str:
    return _rewritten(path, OBJECT_RULES)


def standard_file(path: str) -> str:
    return _rewritten(path, FILE_RULES)


def _rewritten(text: str, rules: Iterable[tuple[re.Pattern[str], str]]) -> str:
    for pattern, replacement in rules:
        text = pattern.sub(replacement, text)
    return text
