"""A flame graph of instruction counts: who called whom, as wide as what it executed.

Callgrind keeps callers and callees, not whole stacks: where a function is called from two places,
what it calls is divided between them by what each of its calls executed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from zlib import crc32

from opbench.analyse.function_counts import NO_CALLS, InstructionStats, NotKept
from opbench.counting import Function, Profile
from opbench.counting.cycles import cycles

WIDTH, ROW, TEXT = 1200, 18, 7.0
#: Narrower frames are not drawn; deeper ones neither.
LEAST_SHARE, DEEPEST = 0.0005, 80


@dataclass
class Frame:
    function: Function
    count: float
    inner: list[Frame] = field(default_factory=list)

    @property
    def depth(self) -> int:
        return 1 + max((each.depth for each in self.inner), default=0)


def frames(profile: Profile) -> list[Frame]:
    """The functions that none of the others called, each with what it called."""
    if not profile.spent:
        raise NotKept(NO_CALLS)
    return _Stacks(profile).roots()


class _Stacks:
    """Stacks made of callers and callees.

    Functions that call each other in a circle, as those of an interpreter do, appear once more
    within themselves: from their second appearance on, only what leaves the circle is followed.
    """

    def __init__(self, profile: Profile) -> None:
        self.whole = profile.inclusive()
        self.least = LEAST_SHARE * max(1, profile.total)
        self.circle: dict[Function, int] = {}
        for number, members in enumerate(cycles(profile.spent)):
            self.circle.update(dict.fromkeys(members, number))
        self.callees: dict[Function, list[tuple[Function, int]]] = {}
        #: What each function, or the whole circle it is in, was called for from elsewhere.
        self.received: dict[object, int] = {}
        for (caller, callee), cost in sorted(profile.spent.items(), key=lambda arc: -arc[1]):
            if caller == callee or cost <= 0:
                continue
            self.callees.setdefault(caller, []).append((callee, cost))
            if not self._in_one_circle(caller, callee):
                place = self._place(callee)
                self.received[place] = self.received.get(place, 0) + cost

    def _place(self, function: Function) -> object:
        return self.circle.get(function, function)

    def _in_one_circle(self, one: Function, other: Function) -> bool:
        return one in self.circle and self._place(one) == self._place(other)

    def roots(self) -> list[Frame]:
        entries: dict[object, Function] = {}
        for function in sorted(self.whole, key=lambda f: (-self._calls_for(f), f)):
            entries.setdefault(self._place(function), function)
        left = {
            function: self.whole[function] - self.received.get(place, 0)
            for place, function in entries.items()
        }
        return [
            self._frame(function, count, (function,))
            for function, count in sorted(left.items(), key=lambda item: -item[1])
            if count >= self.least
        ]

    def _calls_for(self, function: Function) -> int:
        return sum(cost for _, cost in self.callees.get(function, ()))

    def _frame(self, function: Function, count: float, stack: tuple[Function, ...]) -> Frame:
        made, left = Frame(function, count), count
        part = count / self.whole[function] if self.whole.get(function, 0) > 0 else 0.0
        again = function in stack[:-1]
        for callee, cost in self.callees.get(function, ()) if len(stack) < DEEPEST else ():
            share = min(cost * part, left)
            inside = self._in_one_circle(function, callee)
            if share < self.least or stack.count(callee) > 1 or (inside and again):
                continue
            left -= share
            made.inner.append(self._frame(callee, share, (*stack, callee)))
        return made


def flame_graph(stats: InstructionStats, title: str) -> str:
    """As SVG; a frame says its function, count and share when the pointer rests on it."""
    bottom = frames(stats.profile)
    total = sum(frame.count for frame in bottom) or 1.0
    height = (max((frame.depth for frame in bottom), default=0) + 3) * ROW
    per_call = stats.profile.total / stats.number_per_run
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" font-family="ui-monospace, monospace" font-size="11">',
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
        f'<text x="4" y="{ROW - 5}" fill="#333">{escape(title)}: '
        f"{per_call:,.0f} instructions per call, allocators included</text>",
    ]
    at = 0.0
    for frame in bottom:
        parts += _drawn(frame, at, 0, height - 2 * ROW, total, stats.number_per_run)
        at += frame.count
    return "\n".join([*parts, "</svg>", ""])


def _drawn(
    frame: Frame, at: float, level: int, base: int, total: float, calls: int
) -> Iterator[str]:
    x, width = WIDTH * at / total, WIDTH * frame.count / total
    y = base - level * ROW
    name = frame.function.name
    letters = int((width - 6) / TEXT)
    shown = name if len(name) <= letters else f"{name[: letters - 1]}…" if letters > 2 else ""
    # A hue for each library, a shade for each function.
    hue, shade = crc32(frame.function.object.encode()) % 360, 74 + crc32(name.encode()) % 14
    about = f"{frame.function}: {frame.count / calls:,.0f} per call, {frame.count / total:.1%}"
    yield f"<g><title>{escape(about)}</title>"
    yield (
        f'<rect x="{x:.1f}" y="{y}" width="{max(width - 0.5, 0.3):.1f}" height="{ROW - 1}" '
        f'rx="2" fill="hsl({hue} 55% {shade}%)"/>'
    )
    if shown:
        yield f'<text x="{x + 3:.1f}" y="{y + 13}" fill="#222">{escape(shown)}</text>'
    yield "</g>"
    for inner in frame.inner:
        yield from _drawn(inner, at, level + 1, base, total, calls)
        at += inner.count
