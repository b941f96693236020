"""The top of the page: what a reader should know before reading any row.

Written into the HTML itself, so that it stands there before any script runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from opbench import frameworks
from opbench.analyse.compare import Comparison, Mean, verdict_word
from opbench.errors import first_of, plural
from opbench.report.comparison.tables import SIGNS, change_text
from opbench.report.page.table import Place, Row, cases_in, place_of
from opbench.report.units import format_change, format_percent, format_time
from opbench.report.warnings.kinds import warning_kinds
from opbench.store.facts import hardware_of, packages_of, section
from opbench.store.records import RunRecord

#: Changes, reasons and kinds of warnings listed at the top; the table has them all.
LISTED = 6
MINUTES = "%Y-%m-%d %H:%M UTC"


@dataclass(frozen=True)
class Tile:
    label: str
    value: str
    #: Of the style sheet: how it is coloured. Empty for neutral.
    kind: str = ""
    sign: str = ""
    #: What the table is filtered by when it is clicked: `verdict:slower`.
    filter: str = ""


@dataclass(frozen=True)
class Line:
    """One remark, and the row it leads to."""

    text: str
    name: str = ""
    row: int | None = None
    kind: str = ""
    sign: str = ""
    filter: str = ""


@dataclass(frozen=True)
class Verdicts:
    base: str
    new: str
    tiles: list[Tile]
    changed: list[Line]
    more: int
    means: list[str]
    alone: list[str]


@dataclass(frozen=True)
class Summary:
    title: str
    facts: list[tuple[str, str]]
    tiles: list[Tile]
    verdicts: list[Verdicts] = field(default_factory=list)
    problems: list[Line] = field(default_factory=list)
    warnings: list[Line] = field(default_factory=list)


def summary(
    run: RunRecord,
    rows: Sequence[Row],
    environments: Mapping[str, dict[str, Any]],
    comparisons: Sequence[Comparison],
    places: Mapping[Place, int],
    note: str = "",
) -> Summary:
    """`note` is what is true of the whole run (`report.warnings.run_note`)."""
    return Summary(
        title=run.name or f"Run {run.id}",
        facts=_facts(run, environments),
        tiles=_tiles(rows),
        verdicts=[_verdicts(each, places) for each in comparisons if each.rows],
        problems=_problems(rows),
        warnings=[*([Line(note, kind="warn", sign="!")] if note else []), *_warnings(rows)],
    )


def _facts(run: RunRecord, environments: Mapping[str, dict[str, Any]]) -> list[tuple[str, str]]:
    packages: dict[str, str] = {}
    for facts in environments.values():
        interpreter = section(facts, "interpreter")
        packages |= packages_of(interpreter) if len(environments) == 1 else {}
    dirty = " + changes" if section(run.machine, "git").get("dirty") else ""
    shown = (*frameworks.by_module(), "opacus")
    facts_shown = [
        ("run", run.id if run.name else ""),
        ("measured", format_time(run.created, MINUTES)),
        ("status", "" if run.status == "finished" else run.status),
        ("machine", hardware_of(run.machine)),
        ("packages", ", ".join(f"{n} {packages[n]}" for n in shown if n in packages)),
        ("commit", f"{run.commit[:12]}{dirty}" if run.commit else ""),
        ("command", run.command),
    ]
    return [(name, value) for name, value in facts_shown if value]


def _tiles(rows: Sequence[Row]) -> list[Tile]:
    outcomes: dict[str, int] = {}
    warned = 0
    for row in rows:
        worst = next((s.result.outcome for s in row.results.values() if not s.result.ok), "ok")
        outcomes[worst] = outcomes.get(worst, 0) + 1
        warned += any(stored.result.warnings for stored in row.results.values())
    cases = cases_in(rows)
    label = "case" if cases == 1 else "cases"
    if len(rows) > cases:
        label += f" in {plural(len(rows), 'row')}"
    tiles = [Tile(label, f"{cases:,}")]
    for outcome, count in sorted(outcomes.items(), key=lambda item: -item[1]):
        if outcome != "ok":
            kind = "muted" if outcome == "unsupported" else "bad"
            label = outcome.replace("_", " ")
            tiles.append(Tile(label, f"{count:,}", kind, "×", f"outcome:{outcome}"))
    if warned:
        tiles.append(Tile("with a warning", f"{warned:,}", "warn", "!", "warning:any"))
    return tiles


def _interval(mean: Mean) -> str:
    if mean.low >= mean.high:  # of bytes, which repeat exactly
        return ""
    return f" [{format_change(mean.low)}, {format_change(mean.high)}]"


def _verdicts(comparison: Comparison, places: Mapping[Place, int]) -> Verdicts:
    changed = sorted(
        (row for row in comparison.rows if row.verdict in ("slower", "faster")),
        # What has no ratio (from zero to something) is the largest of changes.
        key=lambda row: -max(row.value, 1 / row.value) if row.value else float("-inf"),
    )
    lines = [
        Line(
            text=(change_text(row) or row.reason)
            + (f" {row.metric}" if len(comparison.metrics) > 1 else ""),
            name=row.case_id,
            row=places.get(place_of(row.new)) if row.new else None,
            kind=row.verdict,
            sign=f"{SIGNS[row.verdict]} {row.word}",
        )
        for row in changed[:LISTED]
    ]
    means = [
        f"{mean.metric}: {format_change(mean.value)}{_interval(mean)} over {mean.cases:,} cases"
        for mean in comparison.means
        if mean.cases > 1
    ]
    alone = [
        f"{len(ids):,} only in {name}, e.g. {ids[0]}"
        for name, ids in (
            (comparison.base, comparison.only_base),
            (comparison.new, comparison.only_new),
        )
        if ids
    ]
    tiles = [
        tile
        for metric, unit in {row.metric: row.unit for row in comparison.rows}.items()
        for tile in _verdict_tiles(comparison, metric, unit)
    ]
    more = len(changed) - len(lines)
    return Verdicts(comparison.base, comparison.new, tiles, lines, more, means, alone)


def _verdict_tiles(comparison: Comparison, metric: str, unit: str) -> list[Tile]:
    """Each counts the rows that it opens, of one metric."""
    counts = comparison.counts_of(metric)
    several = len(comparison.metrics) > 1
    named, chosen = (f"{metric}: ", f"@{metric}") if several else ("", "")
    return [
        Tile(
            f"{named}{verdict_word(name, unit)}",
            f"{counts.get(name, 0):,}",
            name,
            sign,
            f"verdict:{name}{chosen}",
        )
        for name, sign in SIGNS.items()
        if not several or name in counts
    ]


def _problems(rows: Sequence[Row]) -> list[Line]:
    """Each reason once, with a case that it stopped; what is merely unsupported comes last."""
    by_reason: dict[tuple[str, str], list[int]] = {}
    for index, row in enumerate(rows):
        for stored in row.results.values():
            result = stored.result
            if not result.ok:
                by_reason.setdefault((result.outcome, result.outcome_text), []).append(index)
    ordered = sorted(
        by_reason.items(), key=lambda item: (item[0][0] == "unsupported", -len(item[1]))
    )
    lines = []
    for (outcome, text), stopped in ordered[:LISTED]:
        kind = "muted" if outcome == "unsupported" else "bad"
        name = first_of((rows[index].case.id for index in dict.fromkeys(stopped)), 1)
        lines.append(Line(text, name, stopped[0], kind, "×"))
    if len(ordered) > LISTED:
        left = plural(len(ordered) - LISTED, "more reason")
        lines.append(Line(f"{left} in the table below"))
    return lines


def _warnings(rows: Sequence[Row]) -> list[Line]:
    kinds = warning_kinds(
        (index, stored.result) for index, row in enumerate(rows) for stored in row.results.values()
    )
    counted = "case" if cases_in(rows) == len(rows) else "row"
    return [
        Line(
            text=f"e.g. {rows[kind.worst].case.id}: {kind.text}",
            name=f"{kind.code}: {plural(kind.count, counted)} "
            f"({format_percent(kind.count / len(rows))})",
            row=kind.worst,
            kind="warn",
            sign="!",
            filter=f"warning:{kind.code}",
        )
        for kind in sorted(kinds, key=lambda kind: -kind.count)
    ]
