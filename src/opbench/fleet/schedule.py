"""Who gets what next: parcels, nodes, deaths and second chances. No Ray and no clock in here.

Each parcel is to be measured by as many different nodes as there are replicas. What ran when its
node or agent died goes back to the head of the queue, for another node where there is one, until
its retries are spent; then it is given up, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from opbench.fleet.parcels import Parcel


@dataclass
class Task:
    """One parcel to be measured once, by one node."""

    parcel: Parcel
    #: Which of the replicas this is.
    replica: int
    #: Deaths under it so far, one line each.
    deaths: list[str] = field(default_factory=list)
    #: Nodes it died on: another one is preferred.
    shunned: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class GivenUp:
    task: Task
    reason: str


class Schedule:
    def __init__(
        self,
        parcels: Iterable[Parcel],
        *,
        replicas: int = 1,
        retries: int = 2,
        done: Callable[[Parcel], set[str]] = lambda _parcel: set(),
    ) -> None:
        """`done` says which nodes have measured a parcel before (in the run that is continued)."""
        self.retries = retries
        self._waiting: list[Task] = []
        self._running: dict[int, tuple[Task, str]] = {}
        #: Nodes that have measured a parcel, or are at it.
        self._takers: dict[int, set[str]] = {}
        self._next = 0
        self.finished = 0
        for parcel in parcels:
            before = done(parcel)
            self._takers[parcel.number] = set(before)
            for replica in range(len(before), replicas):
                self._waiting.append(Task(parcel, replica))
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

        `nodes` are those that are alive and could take it as well: a task that died here is left
        to them.
        """
        others = set(nodes) - {node}
        for index, task in enumerate(self._waiting):
            parcel = task.parcel
            if parcel.timed != timed or parcel.device != device:
                continue
            takers = self._takers[parcel.number]
            if node in takers:
                continue
            if node in task.shunned and others - task.shunned - takers:
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

    def died(self, ticket: int, why: str) -> GivenUp | None:
        """What held the task is gone: it waits again, or is given up."""
        task, node = self._running.pop(ticket)
        self._takers[task.parcel.number].discard(node)
        task.deaths.append(why)
        task.shunned.add(node)
        if len(task.deaths) > self.retries:
            self.finished += 1
            return GivenUp(task, given_up(task))
        self._waiting.insert(0, task)
        return None

    def abandon(self, why: str) -> list[GivenUp]:
        """Give up everything that waits: nobody is left who could take it."""
        left, self._waiting = self._waiting, []
        self.finished += len(left)
        return [GivenUp(task, why) for task in left]


def given_up(task: Task) -> str:
    times = len(task.deaths)
    return (
        f"given up after {times} attempt{'s' * (times > 1)}: {task.deaths[-1]}; "
        "continue with --cont, or raise --retries"
    )
