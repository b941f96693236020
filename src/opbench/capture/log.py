"""What was seen so far: unique calls with their counts, and the calls of the last step in order."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

#: Modules and functions named per call; a layer norm of a large model has hundreds of places.
MOST_NAMES = 2

#: A loop that never ends must not fill the memory: beyond this the order is not kept.
LONGEST_ORDER = 200_000


class Seen:
    """One unique call."""

    __slots__ = ("apis", "arguments", "counts", "func", "index", "modules", "outputs", "seconds")

    def __init__(self, index: int, func: Any, arguments: Any) -> None:
        self.index = index
        self.func = func
        #: (args, kwargs) with tensors as `values.Glimpse`.
        self.arguments = arguments
        self.outputs: Any = None
        self.counts: dict[str, int] = {}
        self.seconds: dict[str, float] = {}
        self.modules: dict[str, None] = {}
        self.apis: dict[str, None] = {}

    def note(self, phase: str, module: str, api: str) -> None:
        self.counts[phase] = self.counts.get(phase, 0) + 1
        if module not in self.modules and len(self.modules) < MOST_NAMES:
            self.modules[module] = None
        if api and api not in self.apis and len(self.apis) < MOST_NAMES:
            self.apis[api] = None


@dataclass
class Log:
    calls: dict[Any, Seen] = field(default_factory=dict)
    #: (number of the call, phase, addresses read, addresses made), of the current step.
    order: list[tuple[int, str, tuple[int, ...], tuple[int, ...]]] = field(default_factory=list)
    #: The order of the last step that ended.
    last_order: list[tuple[int, str, tuple[int, ...], tuple[int, ...]]] = field(
        default_factory=list
    )
    #: Calls of what is no operator of the registry, by name.
    skipped: dict[str, int] = field(default_factory=dict)
    overflown: bool = False
    #: Where in `order` the calls of the top module ended, as long as no optimizer stepped.
    marks: list[int] = field(default_factory=list)

    def add(self, entry: tuple[int, str, tuple[int, ...], tuple[int, ...]]) -> None:
        if len(self.order) < LONGEST_ORDER:
            self.order.append(entry)
        else:
            self.overflown = True

    def end_step(self) -> None:
        self.last_order, self.order, self.marks = self.order, [], []

    def end_call(self) -> None:
        self.marks.append(len(self.order))

    def end(self) -> None:
        """Nothing more will come: without a step, the last call of the model stands for one."""
        if not self.last_order:
            first, last = ([0, *self.marks])[-2:] if self.marks else (0, len(self.order))
            self.last_order = self.order[first:last]
