"""Which node takes which unit next: replicas, losses and retries. No Ray and no clock in here.

Each unit is measured by as many different nodes as there are replicas. A unit whose node or agent
died returns to the head of the queue, for another node where there is one, until its retries are
used up; then it is abandoned, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from opbench.fleet.work_units import WorkUnit


@dataclass
class Task:
    """One unit to be measured once, by one node."""

    unit: WorkUnit
    #: Why each attempt so far was lost, one line each.
    losses: list[str] = field(default_factory=list)
    #: Nodes it was lost on: another one is preferred.
    lost_on: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class Abandoned:
    task: Task
    reason: str


class Schedule:
    def __init__(
        self,
        units: Iterable[WorkUnit],
        *,
        replicas: int = 1,
        retries: int = 2,
        done: Callable[[WorkUnit], set[str]] = lambda _unit: set(),
    ) -> None:
        """`done` says which nodes have measured a unit before (in the run that is continued)."""
        self.retries = retries
        self._waiting: list[Task] = []
        self._running: dict[int, tuple[Task, str]] = {}
        #: Nodes that have measured a unit, or are measuring it.
        self._takers: dict[int, set[str]] = {}
        self._next = 0
        self.finished = 0
        for unit in units:
            self._takers[unit.number] = set(done(unit))
            for _ in range(len(self._takers[unit.number]), replicas):
                self._waiting.append(Task(unit))
        self.total = len(self._waiting)

    @property
    def over(self) -> bool:
        return not self._waiting and not self._running

    @property
    def running(self) -> int:
        return len(self._running)

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def take(
        self, node: str, device: str, *, timed: bool, nodes: Iterable[str]
    ) -> tuple[int, Task] | None:
        """The next task for a free slot of a node, and the ticket to report it with.

        `nodes` are those that are alive and could take it too: a task that was lost here is left
        to them.
        """
        others = set(nodes) - {node}
        for index, task in enumerate(self._waiting):
            unit = task.unit
            if unit.timed != timed or unit.device != device:
                continue
            takers = self._takers[unit.number]
            if node in takers:
                continue
            if node in task.lost_on and others - task.lost_on - takers:
                continue
            del self._waiting[index]
            takers.add(node)
            ticket, self._next = self._next, self._next + 1
            self._running[ticket] = (task, node)
            return ticket, task
        return None

    def done(self, ticket: int) -> Task:
        task, _ = self._running.pop(ticket)
        self.finished += 1
        return task

    def lost(self, ticket: int, why: str) -> Abandoned | None:
        """The agent of a task is gone: the task waits again, or is abandoned."""
        task, node = self._running.pop(ticket)
        self._takers[task.unit.number].discard(node)
        task.losses.append(why)
        task.lost_on.add(node)
        attempts = len(task.losses)
        if attempts <= self.retries:
            self._waiting.insert(0, task)
            return None
        self.finished += 1
        reason = (
            f"gave up after {attempts} attempt{'s' * (attempts > 1)}: {why}; "
            "continue with --cont, or raise --retries"
        )
        return Abandoned(task, reason)

    def abandon(self, why: str) -> list[Abandoned]:
        """Abandon everything that waits: no node is left that could take it."""
        left, self._waiting = self._waiting, []
        self.finished += len(left)
        return [Abandoned(task, why) for task in left]
