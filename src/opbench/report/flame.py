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
    whole = profile.inclusive()
    callees: dict[Function, list[tuple[Function, int]]] = {}
    received: dict[Function, int] = {}
    for (caller, callee), cost in profile.spent.items():
        if caller != callee and cost > 0:
            callees.setdefault(caller, []).append((callee, cost))
            received[callee] = received.get(callee, 0) + cost
    least = LEAST_SHARE * max(1, profile.total)

    def frame(function: Function, count: float, above: frozenset[Function]) -> Frame:
        made = Frame(function, count)
        part = count / whole[function] if whole.get(function, 0) > 0 else 0.0
        left = count
        if len(above) < DEEPEST:
            for callee, cost in sorted(callees.get(function, ()), key=lambda each: -each[1]):
                share = min(cost * part, left)
                if callee in above or share < least:
                    continue
                left -= share
                made.inner.append(frame(callee, share, above | {callee}))
        return made

    roots = {f: count - received.get(f, 0) for f, count in whole.items()}
    return [
        frame(function, count, frozenset({function}))
        for function, count in sorted(roots.items(), key=lambda item: -item[1])
        if count >= least
    ]


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
    name = str(frame.function)
    letters = int((width - 6) / TEXT)
    shown = name if len(name) <= letters else f"{name[: letters - 1]}…" if letters > 2 else ""
    hue = crc32((frame.function.object or name).encode()) % 360
    about = f"{name}: {frame.count / calls:,.0f} per call, {frame.count / total:.1%}"
    yield f"<g><title>{escape(about)}</title>"
    yield (
        f'<rect x="{x:.1f}" y="{y}" width="{max(width - 0.5, 0.3):.1f}" height="{ROW - 1}" '
        f'rx="2" fill="hsl({hue} 55% 82%)"/>'
    )
    if shown:
        yield f'<text x="{x + 3:.1f}" y="{y + 13}" fill="#222">{escape(shown)}</text>'
    yield "</g>"
    for inner in frame.inner:
        yield from _drawn(inner, at, level + 1, base, total, calls)
        at += inner.count
