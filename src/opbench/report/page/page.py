"""Writing the page: template, style and scripts of this folder, and the data, into one file."""

from __future__ import annotations

import base64
import hashlib
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, TextIO

from opbench import __version__
from opbench.analyse.sides import labels_of
from opbench.files import writing
from opbench.report.charts.every import drawings as every_drawing
from opbench.report.page import answers, drawings
from opbench.report.page.contents import Contents
from opbench.report.page.details import PIECE, Details, samples_each
from opbench.report.page.garbage import gc_paused
from opbench.report.page.packing import packed, plain
from opbench.report.page.summary import MINUTES, summary
from opbench.report.page.table import Place, Row, rows_of, table
from opbench.report.page.vega import bundle
from opbench.report.units import format_time
from opbench.report.warnings.run_note import run_note

SCHEMA = "opbench-page/1"

#: In this order: each may use what those before it define.
SCRIPTS = (
    "data", "format", "dom", "rows", "table", "csv", "vega", "case", "case_charts", "chart_history",
    "multiples", "charts", "address", "main",
)  # fmt: skip


def write(contents: Contents, stream: TextIO) -> None:
    """The whole page. Nothing in it is fetched from anywhere."""
    note = run_note([stored.result for stored in contents.results])
    rows = rows_of([replace(each, result=note.own(each.result)) for each in contents.results])
    listed = list(rows.values())
    with gc_paused(), Details(listed, contents.samples).pieces() as details:
        _write(contents, rows, listed, details, note.line, stream)


def _write(
    contents: Contents,
    rows: Mapping[Place, Row],
    listed: Sequence[Row],
    details: Iterable[str],
    note: str,
    stream: TextIO,
) -> None:
    places = {place: index for index, place in enumerate(rows)}
    data = table(listed, labels_of(contents.run))
    metrics = [metric["name"] for metric in data["metrics"]]
    by_id: dict[str, dict[str, int]] = {}
    for index, row in enumerate(listed):
        by_id.setdefault(row.case.id, {}).setdefault(row.environment, index)
    charts = list(every_drawing(contents))
    points = answers.Points()
    if contents.history is not None:
        data["history"], points = answers.history(contents.history, by_id, metrics)
    data |= {
        "schema": SCHEMA,
        "piece": PIECE,
        "kept_samples": samples_each(len(contents.results)),
        "comparisons": [answers.comparison(each, places, metrics) for each in contents.comparisons],
        "environments": plain(contents.environments),
        "machine": plain(contents.run.machine),
        "charts": drawings.head(charts),
        "baseline": str(contents.run.request.get("baseline") or ""),
    }
    script = script_text()
    # A page without a chart needs no renderer.
    vega = bundle() if charts or contents.history or len(contents.results) else ""
    template = _environment().get_template("page.html.j2")
    with points.pieces() as tracks:
        parts = {
            "details": details,
            "tracks": tracks,
            "drawings": drawings.pieces(charts, places, metrics),
        }
        pieces_html = (
            (kind, index, text) for kind, texts in parts.items() for index, text in enumerate(texts)
        )
        for part in template.generate(
            summary=summary(
                contents.run, listed, contents.environments, contents.comparisons, places, note
            ),
            run=contents.run,
            version=__version__,
            written=format_time(time.time(), MINUTES),
            style=_text("style.css"),
            script=script,
            script_hash=_hash(script),
            vega=packed(vega) if vega else "",
            vega_hash=_hash(vega),
            table=packed(data),
            pieces=pieces_html,
        ):
            stream.write(part)


def save(contents: Contents, path: Path) -> None:
    with (
        writing(path) as partial,
        partial.open("w", encoding="utf-8", errors="backslashreplace") as stream,
    ):
        write(contents, stream)


@cache
def script_text() -> str:
    """All scripts as one, so that the page can name the only script that may run in it."""
    parts = [_text(f"{name}.js", "scripts") for name in SCRIPTS]
    return '"use strict";\n(() => {\n' + "\n".join(parts) + "\n})();\n"


def _hash(script: str) -> str:
    """For the page's content security policy: any script but this one is refused."""
    digest = hashlib.sha256(script.encode("utf-8")).digest()
    return base64.b64encode(digest).decode("ascii")


def _text(name: str, *folders: str) -> str:
    place = resources.files("opbench.report.page")
    for part in (*folders, name):
        place = place.joinpath(part)
    return place.read_text("utf-8")


@cache
def _environment() -> Any:
    from jinja2 import Environment, FunctionLoader

    return Environment(
        loader=FunctionLoader(_text), autoescape=True, trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=True,
    )  # fmt: skip
