"""`opbench report`: what was measured, to be read: the page, and the reports of suites."""

from __future__ import annotations

import typer

from opbench.cli.report_group import PAGE, ReportGroup
from opbench.cli.report_page import page

report = typer.Typer(
    name="report",
    help="A run as one HTML page, or a report of its own.",
    cls=ReportGroup,
    rich_markup_mode=None,
)
report.command(PAGE)(page)
