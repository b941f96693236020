"""The report on a model's step: what each variant costs, by layer, and the cheapest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from opbench.case import Case
from opbench.report.table import Table, grid, plain_table
from opbench.report.units import MISSING, format_interval, format_value
from opbench.result import Result
from opbench.stats.pair import compare_results
from opbench.suites.layers.model.overhead import STEPS, Overhead, Step, overheads, steps
from opbench.suites.layers.model.source import PER_LAYER
from opbench.suites.layers.names import BASELINE

if TYPE_CHECKING:
    from rich.console import RenderableType

#: Layers listed before the rest is summed.
LISTED = 12
#: What follows the mode in the name of a variant, and how it is said.
WAYS = {"": "", PER_LAYER: ", per-layer clipping", "split": ", in two physical batches"}

T = TypeVar("T")


def printed(results: Iterable[tuple[Case, Result]]) -> Iterator[RenderableType]:
    """The tables for a terminal."""
    from rich.text import Text

    for table in tables(results):
        yield Text(f"\n{table.title}", style="bold")
        yield grid(table)
        yield from (Text(note) for note in table.notes)


def tables(results: Iterable[tuple[Case, Result]]) -> list[Table]:
    found = steps(results)
    shown = []
    for model, batch in dict.fromkeys((step.model, step.batch_size) for step in found):
        own = [s for s in found if (s.model, s.batch_size) == (model, batch)]
        title = f"one step of {model}, batch size {batch}"
        shown.append(step_table(own, title))
        compared = [pair for pair in overheads(own) if pair.step.parts and pair.base.parts]
        for way, pairs in by_way(compared, lambda pair: pair.step.mode):
            shown.append(
                part_table(pairs, f"{title}{way}: time above the non-private step, by part")
            )
        for way, held in by_way([s for s in own if s.held], lambda step: step.mode):
            what = "memory of each layer after it (parameters, gradients, gradients by sample)"
            shown.append(memory_table(held, f"{title}{way}: {what}"))
    return shown


def by_way(found: Sequence[T], mode: Callable[[T], str]) -> Iterator[tuple[str, list[T]]]:
    """Flat clipping, per-layer clipping and split steps apart: a table of each fits a screen."""
    for suffix, words in WAYS.items():
        some = [each for each in found if mode(each).partition("+")[2] == suffix]
        if some:
            yield words, some


def step_table(found: Sequence[Step], title: str) -> Table:
    base = next((step for step in found if step.mode == BASELINE), None)
    rows = []
    for step in found:
        time, peak = step.time, step.peak
        interval = format_interval(time.estimate, time.low, time.high, "s") if time else MISSING
        rows.append(
            [
                "non-private" + step.mode.removeprefix(BASELINE)
                if step.mode.startswith(BASELINE)
                else step.mode,
                interval if not step.reason else step.reason,
                _factor(base, step),
                MISSING if peak is None else format_value(peak, "bytes"),
                _peak_factor(base, step),
            ]
        )
    header = ["step", "time", "× non-private", "max memory", "× non-private"]
    return plain_table(title, header, rows, words=1, notes=cheapest(found), wrap=False)


def _factor(base: Step | None, step: Step) -> str:
    if base is None or base is step or base.time is None or step.time is None:
        return ""
    pair = compare_results(base.time, step.time, same_run=True)
    return MISSING if pair.value is None else f"{pair.value:.3g}"


def _peak_factor(base: Step | None, step: Step) -> str:
    if base is None or base is step or not base.peak or step.peak is None:
        return ""
    return f"{step.peak / base.peak:.3g}"


def cheapest(found: Sequence[Step]) -> list[str]:
    """Which private step is the fastest, as far as that is known, and which needs the least
    memory."""
    private = [s for s in found if not s.mode.startswith(BASELINE) and s.time is not None]
    timed = [(s.time, s.mode) for s in private if s.time and s.time.estimate]
    timed.sort(key=lambda each: each[0].estimate or 0.0)
    held = [(s.peak, s.mode) for s in private if s.peak]
    reach = (timed[0][0].high or 0.0) if timed else 0.0
    rivals = [mode for time, mode in timed[1:] if (time.low or 0.0) <= reach]
    lines = [f"fastest private step: {timed[0][1]}"] if timed else []
    if rivals:
        lines[0] += f" (by intervals that overlap, it could be {' or '.join(rivals)})"
    return lines + ([f"least memory: {min(held)[1]}"] if held else [])


def part_table(pairs: Sequence[Overhead], title: str) -> Table:
    """A row for each part, a column for each variant; the last rows say what they add up to."""
    differences = {pair.step.mode.partition("+")[0]: pair.differences for pair in pairs}
    sizes: dict[str, float] = {}
    for parts in differences.values():
        for name, seconds in parts.items():
            sizes[name] = max(sizes.get(name, 0.0), abs(seconds))
    layers = sorted((name for name in sizes if name not in STEPS), key=lambda n: -sizes[n])
    rest = layers[LISTED:]
    rows = [
        _row(name, [d.get(name, 0.0) for d in differences.values()]) for name in layers[:LISTED]
    ]
    if rest:
        sums = [sum(d.get(name, 0.0) for name in rest) for d in differences.values()]
        rows.append(_row(f"{len(rest)} other layers", sums))
    rows += [_row(name, [d.get(name, 0.0) for d in differences.values()]) for name in STEPS]
    rows.append(_row("sum", [sum(d.values()) for d in differences.values()]))
    rows.append(_row("other", [pair.other for pair in pairs]))
    rows.append(_row("measured", [pair.measured for pair in pairs]))
    explained = [pair.explained for pair in pairs]
    rows.append(
        ["explained", *(MISSING if each is None else f"{each * 100:.0f} %" for each in explained)]
    )
    return plain_table(title, ["part", *differences], rows, words=1, wrap=False)


def _row(name: str, seconds: Sequence[float | None]) -> list[str]:
    return [name, *(MISSING if each is None else format_value(each, "s") for each in seconds)]


def memory_table(found: Sequence[Step], title: str) -> Table:
    """A row for each layer, the largest first, and a column for each variant."""
    largest = {name: max(s.held.get(name, 0) for s in found) for s in found for name in s.held}
    names = sorted(largest, key=lambda name: -largest[name])
    groups = [(name, [name]) for name in names[:LISTED]]
    if names[LISTED:]:
        groups.append((f"{len(names) - LISTED} other layers", names[LISTED:]))
    rows = [
        [label, *(format_value(sum(s.held.get(n, 0) for n in group), "bytes") for s in found)]
        for label, group in groups
    ]
    return plain_table(
        title, ["layer", *(s.mode.partition("+")[0] for s in found)], rows, words=1, wrap=False
    )
