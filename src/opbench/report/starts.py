"""The starts of a case, where a warning says that they, or their blocks, are of two kinds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median

from opbench.errors import plural
from opbench.report.units import format_value
from opbench.result import Result, Sample
from opbench.stats.contention import undisturbed
from opbench.stats.estimate import estimate
from opbench.stats.groups import two_groups, two_speeds

#: By the number of a start.
Starts = dict[int, list[Sample]]


def lines(code: str, result: Result) -> list[str]:
    """What a reader sees below the warning of that code; nothing below any other. `result` has its
    samples."""
    (kept,) = undisturbed(result.samples)
    starts: Starts = {}
    for sample in kept:
        starts.setdefault(sample.start, []).append(sample)
    return SHOWN[code](starts, result) if code in SHOWN and starts else []


def _groups(starts: Starts, result: Result) -> list[str]:
    """A line for each group: the value of each start, and how many blocks it rests on."""
    values = {start: _value(blocks) for start, blocks in starts.items()}
    texts = {
        start: f"{start + 1}: {format_value(value, result.unit)} "
        f"({plural(len(starts[start]), 'block')})"
        for start, value in sorted(values.items())
    }
    shown = []
    for title, group in zip(("faster", "slower"), two_groups(list(values.values())) or ()):
        own = [text for start, text in texts.items() if values[start] in group]
        shown.append(f"{title} starts: {', '.join(own)}")
    return shown


def _value(blocks: Sequence[Sample]) -> float:
    """Of one start, as the estimate takes it."""
    found = estimate((block.start, block.session, block.value) for block in blocks)
    return found.value if found else 0.0


def _speeds(starts: Starts, result: Result) -> list[str]:
    """A line for each start: how many of its blocks ran at which of the two speeds."""
    values = {start: [block.value for block in blocks] for start, blocks in starts.items()}
    low, high = result.low or 0.0, result.high or 0.0
    found = two_speeds(list(values.values()), low, high)
    if found is None:
        return []
    _share, factor, _mean = found
    shown = []
    for start, blocks in sorted(values.items()):
        # Nearer to the less frequent speed than to the other, which is the median's.
        reach = 1 + (factor - 1) / 2
        less = [v for v in blocks if (v / median(blocks) > reach) == (factor > 1)]
        kinds = sorted(filter(None, (less, [v for v in blocks if v not in less])), key=median)
        texts = (f"{format_value(median(kind), result.unit)} ({len(kind)})" for kind in kinds)
        shown.append(f"start {start + 1}: {', '.join(texts)}")
    return [f"blocks at each speed: {'; '.join(shown)}"]


SHOWN: dict[str, Callable[[Starts, Result], list[str]]] = {
    "two-groups": _groups,
    "two-speeds": _speeds,
}
