"""Callgrind's files: read a dump into a profile, write one for KCachegrind.

Names are standardised while they are read, without paths, versions of symbols, addresses and marks
of one build, so that profiles of two builds can be laid side by side.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from opbench.callgrind.profile import Function, Profile


def write(profile: Profile, command: str = "") -> str:
    """The profile as a file that KCachegrind and callgrind_annotate read."""
    lines = ["# callgrind format", "version: 1", "creator: opbench", f"cmd: {command}"]
    lines += ["positions: line", "events: Ir", f"summary: {profile.total}", ""]
    for function in sorted(profile.own):
        # Less than the empty loop has is noise, and readers know no negative numbers.
        own = max(0, profile.own[function])
        lines += [f"ob={function.object}", "fl=", f"fn={function.name}", f"0 {own}", ""]
    lines.append(f"totals: {profile.total}")
    return "\n".join(lines) + "\n"


NAME = re.compile(r"\((\d+)\)(?: (.*))?$")


def read(lines: Iterable[str]) -> Profile:
    """The profile in the lines of a dump, names and positions compressed or not."""
    names: dict[str, dict[str, str]] = {"fn": {}, "ob": {}}
    made: dict[tuple[str, str], Function] = {}
    own: dict[Function, int] = {}
    arcs: dict[tuple[Function, Function], int] = {}
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
            if count:  # zero calls: frames that were left over when collecting began
                arc = (function, standard(callee_name, callee_object or object_))
                arcs[arc] = arcs.get(arc, 0) + count
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
    (re.compile(r"'\d+$"), ""),
    # After the recursion level: a function without a name may recurse like any other.
    (re.compile(r"^0x[0-9a-fA-F]+$"), "???"),
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
