"""Callgrind's files: read a dump into a profile, write one for KCachegrind."""

from __future__ import annotations

from collections.abc import Iterable

from opbench.counting.addresses import by_address
from opbench.counting.dump import Dump
from opbench.counting.profile import Profile


def read(lines: Iterable[str]) -> Profile:
    """The profile in the lines of a dump.

    Where its positions are addresses, functions are looked up by them; otherwise, and for files
    without symbols, the names in the dump are used.
    """
    dump = Dump()
    dump.read(lines)
    return by_address(dump) if dump.addresses else dump.by_name()


def write(profile: Profile, command: str = "") -> str:
    """The profile as a file that KCachegrind and callgrind_annotate read."""
    lines = ["# callgrind format", "version: 1", "creator: opbench", f"cmd: {command}"]
    lines += ["positions: line", "events: Ir", f"summary: {profile.total}", ""]
    for function in sorted(profile.own):
        # A count below that of the empty loop is noise, and readers reject negative numbers.
        own = max(0, profile.own[function])
        lines += [f"ob={function.object}", "fl=", f"fn={function.name}", f"0 {own}", ""]
    lines.append(f"totals: {profile.total}")
    return "\n".join(lines) + "\n"
