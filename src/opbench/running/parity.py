"""Parity before timing: cases that compute the same are given the same inputs, and must agree.

The first of them makes the inputs, runs one call, and leaves both as raw files; each of the others
is given those inputs, in a child of its own environment, and what it computes is compared. One
that differs has the outcome `mismatch`: its time would be the time of something else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from opbench import children
from opbench.errors import plural
from opbench.plan.groups import Slot
from opbench.running.agreement import Output, disagreement
from opbench.workers.process import Worker, WorkerError, again_if_worker_dies
from opbench.workers.session import SessionEnded

#: How a child says that it can neither read nor fill a value (`worker/parity/tensors.py`).
UNKNOWN = "Unknown: "


class ParityGroups:
    """Who must agree with whom in this run."""

    def __init__(self, slots: Iterable[Slot]) -> None:
        self._groups: dict[str, dict[Slot, None]] = {}
        for slot in slots:
            if slot.case.parity is not None and not slot.case.unsupported:
                self._groups.setdefault(slot.case.parity.key, {})[slot] = None

    def take(self, slot: Slot) -> list[Slot]:
        """All that must agree with this slot, the reference first; nothing the second time."""
        if slot.case.parity is None:
            return []
        members = self._groups.pop(slot.case.parity.key, {})
        return sorted(members, key=_rank) if len(members) > 1 else []


def _rank(slot: Slot) -> int:
    return slot.case.parity.rank if slot.case.parity is not None else 0


class ParityCheck:
    """Runs the members of one key, one after the other, each in a child of its own."""

    def __init__(
        self, worker: Callable[[Slot], Worker], limit: Callable[[Slot], int], timeout: float
    ) -> None:
        self.worker, self.limit, self.timeout = worker, limit, timeout
        #: How the members ended that differ from the reference, or that did not get that far.
        self.ended: dict[Slot, SessionEnded] = {}
        #: Those whose outputs nobody here can read, and why.
        self.unchecked: dict[Slot, str] = {}

    def run(self, members: Sequence[Slot]) -> ParityCheck:
        reference: Slot | None = None
        expected: list[Output] = []
        given: list[dict[str, Any]] = []
        with children.temporary_folder("opbench-parity-") as folder:
            for number, slot in enumerate(members):
                place = folder / str(number)
                place.mkdir()
                answer = self._answer(slot, place, given)
                if answer is None:
                    continue
                outputs = [Output.read(header) for header in answer["outputs"]]
                for header in answer["outputs"]:
                    Path(header["file"]).unlink()  # a large run should not fill the disk
                if reference is None:
                    reference, expected, given = slot, outputs, answer["inputs"]
                elif why := _difference(slot, outputs, expected):
                    text = f"differs from {_name(reference, slot)}: {why}"
                    self.ended[slot] = SessionEnded("mismatch", text)
        return self

    def _answer(self, slot: Slot, place: Path, given: list) -> dict[str, Any] | None:
        def exchange() -> dict[str, Any]:
            session = self.worker(slot).open(memory_limit=self.limit(slot))
            try:
                return session.exchange(slot.case, str(place), given, self.timeout)
            finally:
                session.close()

        try:
            return again_if_worker_dies(exchange)
        except SessionEnded as end:
            if end.reason.startswith(UNKNOWN):
                self.unchecked[slot] = end.reason.removeprefix(UNKNOWN)
            else:
                end.in_setup = True
                self.ended[slot] = end
        except WorkerError as error:
            self.ended[slot] = error.ended
        return None


def _difference(slot: Slot, outputs: Sequence[Output], expected: Sequence[Output]) -> str:
    """The first output that differs, and how; empty when all agree."""
    parity = slot.case.parity
    assert parity is not None, "only cases with something to compare come here"
    if len(outputs) != len(expected):
        return f"it gives {plural(len(outputs), 'tensor')}, not {len(expected)}"
    for here, there in zip(outputs, expected):
        device = slot.case.device
        why = disagreement(here, there, parity.compare, parity.tolerance, device)
        if why:
            return f"{here.name}: {why}"
    return ""


def _name(reference: Slot, slot: Slot) -> str:
    """What tells the reference from the slot: its framework, runtime or environment."""
    case = reference.case
    for attribute in ("framework", "runtime"):
        if getattr(case, attribute) != getattr(slot.case, attribute):
            return str(getattr(case, attribute))
    if reference.environment != slot.environment:
        return f"the same in environment {reference.environment.name}"
    return case.id
