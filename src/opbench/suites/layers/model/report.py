"""The report on a model's step: what each variant costs, by layer, and the cheapest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from opbench.case import Case
from opbench.errors import first_of
from opbench.report.table import Cell, Table, plain_table, stacked
from opbench.report.terminal.run import value_cell
from opbench.report.units import MISSING, format_factor, format_value
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

    yield Text("")
    yield from stacked(tables(results))
    yield Text("")


def tables(results: Iterable[tuple[Case, Result]]) -> list[Table]:
    found = steps(results)
    shown = []
    for model, batch in dict.fromkeys((step.model, step.batch_size) for step in found):
        own = [s for s in found if (s.model, s.batch_size) == (model, batch)]
        title = f"one step of {model}, batch size {batch}"
        if reason := why_all_failed(own):
            shown.append(Table((), (), f"{title}: {reason}"))
            continue
        shown.append(step_table(own, title))
        compared = [pair for pair in overheads(own) if pair.step.parts and pair.base.parts]
        for way, pairs in by_way(compared, lambda pair: pair.step.mode):
            shown.append(
                part_table(pairs, f"{title}{way}: time above the non-private step, by part")
            )
        for way, held in by_way([s for s in own if s.held], lambda step: step.mode):
            # What layers hold after a step is the same however the non-private step is taken.
            if not way or any(step.private for step in held):
                shown.append(memory_table(held, f"{title}{way}: memory that layers hold after it"))
    return shown


def by_way(found: Sequence[T], mode: Callable[[T], str]) -> Iterator[tuple[str, list[T]]]:
    """Flat clipping, per-layer clipping and split steps apart: a table of each fits a screen."""
    for suffix, words in WAYS.items():
        some = [each for each in found if mode(each).partition("+")[2] == suffix]
        if some:
            yield words, some


def step_table(found: Sequence[Step], title: str) -> Table:
    base = next((step for step in found if step.mode == BASELINE), None)
    rows = [
        [
            step.name,
            value_cell(step.waited),
            _factor(base, step),
            _peak(step),
            _peak_factor(base, step),
        ]
        for step in found
    ]
    header = ["step", "time", "× non-private", "max memory", "× non-private"]
    notes = [*reasons(found), *cheapest(found)]
    return plain_table(title, header, rows, words=1, notes=notes, wrap=False)


def _factor(base: Step | None, step: Step) -> str:
    if base is step:
        return ""
    if base is None or base.time is None or step.time is None:
        return MISSING
    pair = compare_results(base.time, step.time, same_run=True)
    if pair.value is None or pair.low is None or pair.high is None:
        return MISSING
    return format_factor(pair.value, pair.low, pair.high)


def _peak(step: Step) -> Cell | str:
    if step.peak is not None:
        return format_value(step.peak, "bytes")
    return value_cell(step.memory) if step.time and step.memory else MISSING


def _peak_factor(base: Step | None, step: Step) -> str:
    if base is step:
        return ""
    if base is None or not base.peak or step.peak is None:
        return MISSING
    factor = step.peak / base.peak
    return format_factor(factor, factor, factor)


def reasons(found: Sequence[Step]) -> list[str]:
    """Why something is missing: each reason once, with the steps that it stopped."""
    private = [step.name for step in found if step.private]
    lines = []
    for reason, stopped in stopped_by(found).items():
        every = len(private) > 1 and stopped == private
        lines.append(f"{'every private step' if every else first_of(stopped, 3)}: {reason}")
    return lines


def why_all_failed(found: Sequence[Step]) -> str:
    """The reason why no step has a time, where all have the same."""
    (reason, stopped), *others = stopped_by(found).items() or [("", [])]
    return reason if not others and stopped == [step.name for step in found] else ""


def stopped_by(found: Sequence[Step]) -> dict[str, list[str]]:
    """Each reason with the steps that it stopped; of a step that was timed, the metric too."""
    steps_of: dict[str, dict[str, None]] = {}
    for step in found:
        for metric, reason in step.failed.items():
            name = f"{metric} of {step.name}" if step.time else step.name
            steps_of.setdefault(reason, {})[name] = None
    return {reason: list(names) for reason, names in steps_of.items()}


def cheapest(found: Sequence[Step]) -> list[str]:
    """Which private step is the fastest, as far as that is known, and which needs the least
    memory."""
    private = [step for step in found if step.private and step.time]
    timed = [(s.time, s.mode) for s in private if s.time and s.time.estimate]
    timed.sort(key=lambda each: each[0].estimate or 0.0)
    held = [(s.peak, s.mode) for s in private if s.peak]
    reach = (timed[0][0].high or 0.0) if timed else 0.0
    rivals = [mode for time, mode in timed[1:] if (time.low or 0.0) <= reach]
    lines = [f"fastest private step: {timed[0][1]}"] if timed else []
    if rivals:
        lines[0] += f" (its interval overlaps with {first_of(rivals, 3)})"
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
    vague = ", ".join(pair.step.name for pair in pairs if pair.within_noise)
    notes = [f"explained: the difference of {vague} is within the noise"] if vague else []
    return plain_table(title, ["part", *differences], rows, words=1, notes=notes, wrap=False)


def _row(name: str, seconds: Sequence[float | None]) -> list[str]:
    return [name, *(MISSING if each is None else format_value(each, "s") for each in seconds)]


def memory_table(found: Sequence[Step], title: str) -> Table:
    """A row for each layer, the largest first, and a column for each variant."""
    notes = ["parameters, gradients and gradients by sample"]
    largest = {name: max(s.held.get(name, 0) for s in found) for s in found for name in s.held}
    names = sorted(largest, key=lambda name: -largest[name])
    groups = [(name, [name]) for name in names[:LISTED]]
    if names[LISTED:]:
        groups.append((f"{len(names) - LISTED} other layers", names[LISTED:]))
    rows = [
        [label, *(format_value(sum(s.held.get(n, 0) for n in group), "bytes") for s in found)]
        for label, group in groups
    ]
    header = ["layer", *(step.name.partition("+")[0] for step in found)]
    return plain_table(title, header, rows, words=1, notes=notes, wrap=False)
