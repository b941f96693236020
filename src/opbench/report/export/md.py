"""Markdown: a table for people, with units, for a pull request or a notebook.

One table per run. A column that says the same in every row (metric, environment) is left out of the
table and said once above it; what failed, and what to know about a number, stands below it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TextIO

from opbench.report.table import Column, Table, code, markdown, one_line
from opbench.report.units import format_interval
from opbench.report.warnings.run_note import run_note
from opbench.store.records import RunRecord, StoredResult


def write(results: Sequence[StoredResult], runs: Sequence[RunRecord], stream: TextIO) -> None:
    by_id = {run.id: run for run in runs}
    grouped: dict[str, list[StoredResult]] = {}
    for stored in results:
        grouped.setdefault(stored.run_id, []).append(stored)
    if not grouped:
        stream.write("No results.\n")
    for position, (run_id, members) in enumerate(grouped.items()):
        stream.write("\n" if position else "")
        stream.write(_title(by_id.get(run_id, RunRecord(run_id))) + "\n\n")
        note = run_note([stored.result for stored in members])
        members = [replace(stored, result=note.own(stored.result)) for stored in members]
        stream.writelines(f"{line}\n" for line in markdown(_table(members)))
        _write_notes(members, stream)
        stream.write(f"\n{note.line}\n" if note.line else "")


def _title(run: RunRecord) -> str:
    name = f" “{one_line(run.name)}”" if run.name else ""
    facts = [
        f"opbench {run.version}" if run.version else "",
        run.commit and f"commit {run.commit[:12]}",
    ]
    known = ", ".join(fact for fact in facts if fact)
    return f"### Run {run.id}{name}" + (f"\n\n{known}" if known else "")


def _table(members: Sequence[StoredResult]) -> Table:
    several_metrics = len({stored.result.metric for stored in members}) > 1
    several_places = len({stored.result.environment for stored in members}) > 1
    columns = [
        Column("case", code=True),
        *([Column("environment")] if several_places else []),
        *([Column("metric")] if several_metrics else []),
        Column("value" if several_metrics else members[0].result.metric, number=True),
        Column("samples", number=True),
    ]
    rows = [
        [
            stored.case.id,
            *([stored.result.environment] if several_places else []),
            *([stored.result.metric] if several_metrics else []),
            _value(stored),
            f"{stored.n_samples or len(stored.result.samples):,}",
        ]
        for stored in members
    ]
    return Table(columns, rows)


def _value(stored: StoredResult) -> str:
    result = stored.result
    if not result.ok:
        return f"**{result.outcome.replace('_', ' ')}**"
    text = format_interval(result.estimate, result.low, result.high, result.unit)
    return f"{text} (!)" if result.warnings else text


def _write_notes(members: Sequence[StoredResult], stream: TextIO) -> None:
    notes = []
    for stored in members:
        result = stored.result
        where = f"{code(stored.case.id)} ({one_line(result.metric)})"
        if not result.ok:
            notes.append(f"- {where}: {one_line(result.outcome_text)}")
        notes += [f"- {where} (!): {one_line(warning.text)}" for warning in result.warnings]
    if notes:
        stream.write("\n" + "\n".join(notes) + "\n")
