"""Which part of a program is recorded: some of its steps, some calls of its model, or all of it."""

from __future__ import annotations

from dataclasses import dataclass

from opbench.errors import UserError


@dataclass(frozen=True)
class Window:
    """What to record: steps of the optimizer, calls of the top module, or everything."""

    kind: str = "all"  # all, steps, calls, auto
    first: int = 1
    last: int = 1

    @property
    def text(self) -> str:
        if self.kind in ("all", "auto"):
            return self.kind
        return f"{self.kind} {self.first}" + (f"-{self.last}" if self.last != self.first else "")


def window_of(steps: str | int | None, calls: str | int | None, auto: bool = False) -> Window:
    if steps and calls:
        raise UserError("a window is given in steps or in calls, not in both")
    if steps:
        return Window("steps", *parse_span(steps))
    if calls:
        return Window("calls", *parse_span(calls))
    return Window("auto" if auto else "all")


def parse_span(given: str | int) -> tuple[int, int]:
    """(3, 4) of `3-4`, (3, 3) of `3`."""
    first, _, last = str(given).partition("-")
    numbers = [each.strip() for each in (first, last or first)]
    if not all(each.isdecimal() for each in numbers) or not 1 <= int(numbers[0]) <= int(numbers[1]):
        raise UserError(f"a window is written 3 or 3-4, counted from 1, not '{given}'")
    return int(numbers[0]), int(numbers[1])
