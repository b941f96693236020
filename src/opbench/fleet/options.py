"""What a person may ask of a fleet, checked before anything is connected."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from opbench.errors import UserError

DEVICES = ("cpu", "gpu")

#: How often a group is measured again after whatever held it has died.
RETRIES = 2

ADDRESS = re.compile(r"ray://(?P<host>[^\s/:@]+|\[[0-9a-fA-F:]+\]):(?P<port>\d{1,5})/?")

UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
UNITS |= {"ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


@dataclass(frozen=True)
class Fleet:
    """A checked request for a fleet."""

    #: `ray` for the cluster of this machine, or `ray://HOST:PORT`.
    on: str
    #: Timing groups at a time: per node's processors, and per GPU.
    slots: Mapping[str, int] = field(default_factory=lambda: {"cpu": 1, "gpu": 1})
    retries: int = RETRIES
    #: How many nodes measure each group.
    replicas: int = 1
    #: What a node must be or have, by Ray's resources and labels.
    require: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        on: str,
        slots: str = "",
        retries: int | None = None,
        replicas: int | None = None,
        require: Sequence[str] = (),
    ) -> Fleet:
        return cls(
            address(on),
            parse_slots(slots),
            RETRIES if retries is None else retries,
            replicas or 1,
            parse_requirements(require),
        )


def address(text: str) -> str:
    if text == "ray":
        return text
    found = ADDRESS.fullmatch(text)
    if found is None or not 0 < int(found["port"]) < 65536:
        raise UserError(f"--on takes ray, or ray://HOST:PORT (10001 by default), not '{text}'")
    return f"ray://{found['host']}:{found['port']}"


def parse_slots(text: str) -> dict[str, int]:
    """`cpu=1,gpu=2`; what is not named stays at one."""
    found = dict.fromkeys(DEVICES, 1)
    for part in text.split(",") if text else ():
        device, equals, count = part.strip().partition("=")
        if device not in DEVICES or not equals or not count.isdecimal() or int(count) < 1:
            raise UserError(f"slots are written cpu=1,gpu=1, not '{text}'")
        found[device] = int(count)
    return found


def parse_requirements(texts: Sequence[str]) -> dict[str, str]:
    """`memory=64GiB,cpu=Neoverse,zone=a`, once or several times."""
    found: dict[str, str] = {}
    for part in (part.strip() for text in texts for part in text.split(",")):
        key, equals, value = part.partition("=")
        if not key or not equals or not value:
            raise UserError(f"a requirement is written NAME=VALUE, not '{part}'")
        found[key] = value
    if "memory" in found:
        size(found["memory"])
    return found


def size(text: str) -> int:
    """`64GiB`, `64G`, `1e9`: bytes."""
    found = re.fullmatch(r"([\d.]+(?:e\d+)?)\s*([kmgt]?i?)b?", text.strip().lower())
    try:
        assert found is not None
        return int(float(found[1]) * UNITS[found[2]])
    except (AssertionError, KeyError, ValueError):
        raise UserError(f"memory is written 64GiB or 64GB, not '{text}'") from None
