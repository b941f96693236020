"""`opbench selftest`: this machine's false-alarm rate, and the smallest slowdown it can detect."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from opbench.cli.options import AT_LEAST_1, checked
from opbench.define.reading import fraction, seconds
from opbench.errors import plural

if TYPE_CHECKING:
    from opbench.api.selftest import Report


def selftest(
    pairs: str = typer.Option(
        "5",
        "-n",
        "--pairs",
        metavar="N",
        callback=AT_LEAST_1,
        help="Pairs per operator and effect.",
    ),
    effect: list[str] = typer.Option(
        ["2%", "5%"], "--effect", metavar="2%", help="Extra work to inject; may be repeated."
    ),
    time_per_pair: str = typer.Option(
        "10s", "--time-per-pair", callback=checked(seconds), help="At most this long per pair."
    ),
    framework: str = typer.Option(
        None, metavar="torch|python", help="What to measure. [default: torch, if installed]"
    ),
    device: str = typer.Option("cpu", metavar="cpu|cuda[:N]", help="Where to measure."),
    json: bool = typer.Option(False, "--json", help="Print the report as JSON."),
) -> int:
    """Measure identical pairs and pairs with injected work. Report false alarms and detections."""
    from opbench.api.progress import progress
    from opbench.api.selftest import selftest as run_selftest
    from opbench.report.terminal.console import Console

    try:
        effects = [fraction(text) for text in effect]
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    with progress(Console(stderr=True)) as listener:
        report = run_selftest(
            int(pairs),
            [0.0, *effects],
            seconds=float(time_per_pair),
            framework=framework,
            device=device,
            listener=listener,
        )
    print(_as_json(report) if json else _as_text(report))
    return 1 if report.unmeasured else 0


def _as_json(report: Report) -> str:
    import json
    import math
    from dataclasses import asdict

    page = {
        "framework": report.framework,
        "rows": [asdict(tally) for tally in report.tallies],
        "detectable": report.detectable if math.isfinite(report.detectable) else None,
        "seconds_per_pair": report.seconds_per_pair,
        "unmeasured": [trial.row.reason for trial in report.unmeasured],
    }
    return json.dumps(page, indent=2)


def _as_text(report: Report) -> str:
    lines = []
    for tally in report.tallies:
        what = (
            f"pairs with {tally.effect:.1%} more work called slower"
            if tally.effect
            else "identical pairs called different (false alarms)"
        )
        share = f"(95 %: {tally.low:.0%} to {tally.high:.0%})"
        lines.append(f"{what}: {tally.found} of {tally.trials}  {share}")
    if report.unmeasured:
        reason = report.unmeasured[0].row.reason
        lines.append(f"{plural(len(report.unmeasured), 'pair')} could not be measured: {reason}")
    if len(report.unmeasured) < len(report.trials):
        lines.append(
            f"Smallest detectable slowdown: {report.detectable:.1%}, in four of five comparisons, "
            f"at {report.seconds_per_pair:.1f} s per case."
        )
    return "\n".join(lines)
