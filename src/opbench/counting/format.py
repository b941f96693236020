"""Callgrind's files: read a dump into a profile, write one for KCachegrind."""

from __future__ import annotations

from collections.abc import Iterable

from opbench.counting.addresses import by_address
from opbench.counting.dump import Dump
from opbench.counting.profile import Function, Profile


def read(lines: Iterable[str]) -> Profile:
    """The profile in the lines of a dump.

    Where its positions are addresses, functions are looked up by them; otherwise, and for files
    without symbols, the names in the dump are used.
    """
    dump = Dump()
    dump.read(lines)
    return by_address(dump) if dump.addresses else dump.by_name()


def write(profile: Profile, command: str = "") -> str:
    """The profile as a file that KCachegrind, speedscope and callgrind_annotate read."""
    lines = ["# callgrind format", "version: 1", "creator: opbench", f"cmd: {command}"]
    lines += ["positions: line", "events: Ir", f"summary: {profile.total}", ""]
    called: dict[Function, list[Function]] = {}
    for caller, callee in sorted(profile.spent):
        called.setdefault(caller, []).append(callee)
    for function in sorted({*profile.own, *called}):
        # A count below that of the empty loop is noise, and readers reject negative numbers.
        own = max(0, profile.own.get(function, 0))
        lines += [f"ob={function.object}", "fl=", f"fn={function.name}", f"0 {own}"]
        for callee in called.get(function, ()):
            arc = (function, callee)
            calls, spent = max(1, profile.calls.get(arc, 0)), max(0, profile.spent[arc])
            lines += [
                f"cob={callee.object}",
                f"cfn={callee.name}",
                f"calls={calls} 0",
                f"0 {spent}",
            ]
        lines.append("")
    lines.append(f"totals: {profile.total}")
    return "\n".join(lines) + "\n"
