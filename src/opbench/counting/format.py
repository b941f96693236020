"""Callgrind's files: read a dump into a profile, write one for KCachegrind."""

from __future__ import annotations

from collections.abc import Iterable

from opbench.counting.addresses import by_address
from opbench.counting.dump import Dump
from opbench.counting.profile import Profile


def read(lines: Iterable[str]) -> Profile:
    """The profile in the lines of a dump.

    Where its positions are addresses, functions are told by them; otherwise, and for files without
    symbols, by the names in the dump.
    """
    dump = Dump()
    dump.read(lines)
    return by_address(dump) if dump.addresses else dump.by_name()


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
