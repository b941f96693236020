"""Parity before timing: cases that compute the same are given the same inputs, and must agree.

The first of them makes the inputs, runs one call, and leaves both as raw files; each of the others
is given those inputs, in a child of its own environment, and what it computes is compared. One
that differs has the outcome `mismatch`: its time would be the time of something else.

Nothing is timed here, so where there is a core for it the second sets up while the first makes the
inputs, and waits for them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from opbench import children
from opbench.errors import plural
from opbench.plan.groups import Slot
from opbench.running.agreement import Output, disagreement
from opbench.workers.process import Worker, WorkerDied, WorkerError, again_if_worker_dies
from opbench.workers.session import SessionEnded, SessionHandle

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
    """Runs the members of one key, each in a child of its own."""

    def __init__(
        self,
        worker: Callable[[Slot], Worker],
        limit: Callable[[Slot], int],
        timeout: float,
        *,
        beside: bool = False,
    ) -> None:
        """Whether one more child may set up `beside` the reference."""
        self.worker, self.limit, self.timeout = worker, limit, timeout
        self.beside = beside
        #: How the members ended that differ from the reference, or that did not get that far.
        self.ended: dict[Slot, SessionEnded] = {}
        #: Those whose outputs nobody here can read, and why.
        self.unchecked: dict[Slot, str] = {}
        #: The child, one at most, that waits for the inputs of the reference.
        self._waiting: dict[Slot, SessionHandle] = {}

    def run(self, members: Sequence[Slot]) -> ParityCheck:
        reference: Slot | None = None
        expected: list[Output] = []
        given: list[dict[str, Any]] = []
        with children.temporary_folder("opbench-parity-") as folder:
            places = {slot: folder / str(number) for number, slot in enumerate(members)}
            for place in places.values():
                place.mkdir()
            for number, slot in enumerate(members):
                if slot in self.ended:  # its worker did not start
                    continue
                step = partial(self._exchange, slot, places[slot], given)
                if reference is None:
                    following = members[number + 1 : number + 2] if self.beside else ()
                    step = partial(self._make, slot, places, following)
                answer = self._answer(slot, step)
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

    def _answer(self, slot: Slot, step: Callable[[], dict[str, Any]]) -> dict[str, Any] | None:
        try:
            return again_if_worker_dies(step)
        except SessionEnded as end:
            if end.reason.startswith(UNKNOWN):
                self.unchecked[slot] = end.reason.removeprefix(UNKNOWN)
            else:
                end.in_setup = True
                self.ended[slot] = end
        except WorkerError as error:
            self.ended[slot] = error.ended
        return None

    def _make(
        self, slot: Slot, places: Mapping[Slot, Path], following: Sequence[Slot]
    ) -> dict[str, Any]:
        """What the reference answers. The member that follows sets up meanwhile."""
        announced = str(places[slot] / "inputs")
        session = self._begin(slot, places[slot], [], announces=announced)
        try:
            for other in following:
                self._wait_beside(other, places[other], announced)
            return self._finish(session)
        except (SessionEnded, WorkerError) as error:
            Path(announced).unlink(missing_ok=True)
            if self._end_waiting() and _without_memory(error):
                return self._make(slot, places, ())
            raise

    def _exchange(self, slot: Slot, place: Path, given: list) -> dict[str, Any]:
        """What a member answers that is given its inputs, or has waited for them."""
        waiting = self._waiting.pop(slot, None)
        if waiting is not None:
            try:
                return self._finish(waiting)
            except SessionEnded as error:
                if not _without_memory(error):
                    raise
        return self._finish(self._begin(slot, place, given))

    def _wait_beside(self, slot: Slot, place: Path, announced: str) -> None:
        try:
            self._waiting[slot] = self._begin(slot, place, [], awaits=announced)
        except (SessionEnded, WorkerDied):
            pass  # its turn will tell
        except WorkerError as error:
            self.ended[slot] = error.ended

    def _end_waiting(self) -> bool:
        """Whether anybody waited for inputs that do not come."""
        waited = bool(self._waiting)
        for slot, session in self._waiting.items():
            with contextlib.suppress(WorkerError):
                self.worker(slot).reap(session)
        self._waiting.clear()
        return waited

    def _begin(self, slot: Slot, place: Path, given: list, **files: str) -> SessionHandle:
        session = self.worker(slot).open(memory_limit=self.limit(slot))
        session.begin_exchange(slot.case, str(place), given, **files)
        return session

    def _finish(self, session: SessionHandle) -> dict[str, Any]:
        try:
            return session.finish_exchange(self.timeout)
        finally:
            session.close()


def _without_memory(error: Exception) -> bool:
    """Of two children at once, one may lack what it has alone: that says nothing of its case."""
    return isinstance(error, SessionEnded) and error.outcome == "out_of_memory"


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
