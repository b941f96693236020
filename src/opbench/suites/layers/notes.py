"""What distinguishes results that would stand in the same cell of a table.

The same layer, mode and batch size may have been measured with two seeds, in two sizes or in two
runs. Such results are never put into one series: each gets a note with the facts that differ.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from opbench.case import Case, label_text
from opbench.store.records import StoredResult
from opbench.suites.layers.config import checked
from opbench.suites.layers.names import SECTIONS
from opbench.suites.layers.shapes import size_text

NET = re.compile(r"^net = (?P<made>.+?\))(?:\.to\([^()]*\))*$", re.MULTILINE)
INPUT = re.compile(r"^x = .*?\((?P<shape>(?:\d+, ?)*\d*),?\), dtype", re.MULTILINE)


def built(case: Case) -> str:
    """What its source builds and what goes in; empty for a case that was imported without one."""
    made, given = NET.search(case.setup), INPUT.search(case.setup)
    if not (made and given):
        return ""
    return size_text(made["made"], [int(n) for n in re.findall(r"\d+", given["shape"])])


def size_of(stored: StoredResult) -> str:
    """What was built and what went in, from the source of the case, or from the config that was
    imported with it; empty where neither is known."""
    case = stored.case
    if text := built(case):
        return text
    config, section = stored.result.detail.get("config"), SECTIONS.get(case.name)
    if isinstance(config, dict) and section is not None:
        try:
            found = checked({section: config}, "").section(case.name)
        except ValueError:
            return ""
        return str(found.shaped(case.name, int(case.axes["batch_size"] or 0)).size)
    return ""


#: Facts by which results of one place may differ, in the order they are tried.
FACTS: dict[str, Callable[[StoredResult], str]] = {
    "axes": lambda s: ", ".join(
        f"{axis} {label_text(value)}"
        for axis, value in s.case.labels
        if axis not in ("mode", "batch_size")
    ),
    "size": size_of,
    "seed": lambda s: f"seed {s.case.seed}",
    "policy": lambda s: s.result.policy,
    "threads": lambda s: f"{s.case.threads} threads",
    "device": lambda s: s.case.device,
    "environment": lambda s: s.result.environment,
    "node": lambda s: s.result.node,
    "run": lambda s: f"run {s.run_id}",
}


@dataclass(frozen=True)
class Notes:
    #: The facts to write with each layer.
    facts: dict[str, tuple[str, ...]]

    @classmethod
    def of(cls, results: Iterable[StoredResult]) -> Notes:
        by_place: dict[tuple[object, ...], list[StoredResult]] = {}
        for each in results:
            axes = (each.case.axes["mode"], each.case.axes["batch_size"])
            place: tuple[object, ...] = (each.case.name, *axes, each.case.stage, each.result.metric)
            by_place.setdefault(place, []).append(each)
        needed: dict[str, dict[str, None]] = {}
        for (layer, *_), found in by_place.items():
            needed.setdefault(str(layer), {}).update(dict.fromkeys(_distinguishing(found)))
        return cls({layer: tuple(f for f in FACTS if f in n) for layer, n in needed.items()})

    def note(self, result: StoredResult) -> str:
        texts = (FACTS[fact](result) for fact in self.facts.get(result.case.name, ()))
        return ", ".join(text for text in texts if text)


def _distinguishing(found: list[StoredResult]) -> Iterable[str]:
    """The first facts that together tell all of them apart."""
    parts: list[tuple[str, ...]] = [() for _ in found]
    for fact, read in FACTS.items():
        if len(set(parts)) == len(found):
            return
        texts = [read(each) for each in found]
        finer = [(*part, text) for part, text in zip(parts, texts)]
        if len(set(finer)) > len(set(parts)):
            parts = finer
            yield fact
