"""`opbench selftest`: this machine's false-alarm rate, and the smallest slowdown it would show."""

from __future__ import annotations

import typer

from opbench.cli.quantities import checked, duration, share


def selftest(
    pairs: int = typer.Option(5, "-n", "--pairs", min=1, help="Pairs per operator and effect."),
    effect: list[str] = typer.Option(
        ["2%", "5%"], "--effect", metavar="2%", help="Extra work to inject; may be repeated."
    ),
    time_per_pair: str = typer.Option(
        "10s", "--time-per-pair", callback=checked(duration), help="At most this long per pair."
    ),
    json: bool = typer.Option(False, "--json", help="Print the report as JSON."),
) -> int:
    """Measure identical pairs and pairs with injected work; report alarms and what is caught."""
    import json as json_format

    from rich.console import Console

    from opbench.cli.progress import progress
    from opbench.selftest import selftest as run_selftest
    from opbench.selftest import share_interval

    try:
        effects = [float(share(text)) for text in effect]
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    console = Console(stderr=True)
    with progress(console) as listener:
        report = run_selftest(
            pairs, [0.0, *effects], seconds=float(time_per_pair), listener=listener
        )
    rows = []
    for value in report.effects:
        trials = report.of(value)
        hits = sum(trial.found if value else trial.alarmed for trial in trials)
        low, high = share_interval(hits, len(trials))
        rows.append(
            {"effect": value, "trials": len(trials), "found": hits, "low": low, "high": high}
        )
    if json:
        page = {
            "rows": rows,
            "detectable": report.detectable,
            "seconds_per_pair": report.seconds_per_pair,
        }
        print(json_format.dumps(page, indent=2))
        return 0
    for row in rows:
        what = (
            f"identical pairs called different (false alarms): {row['found']}"
            if not row["effect"]
            else f"pairs with {row['effect']:.1%} more work called slower: {row['found']}"
        )
        print(f"{what} of {row['trials']}  (95 %: {row['low']:.0%} to {row['high']:.0%})")
    print(
        f"A slowdown of {report.detectable:.1%} would be caught in four of five comparisons here, "
        f"in {report.seconds_per_pair:.1f} s per case."
    )
    return 0
