"""What the checks against deaths and strangers cost: with and without them, alternated.

"Without" replaces them in the measured process, by functions of this file: guards around children,
the process that removes temporary files, streams that show control characters, the types of a
message and of a row, the limits of a connection. What is compared is processor time, of the command
and of all it started: on a machine that others use too, waiting says nothing.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

TITLE = "Cost of the checks"
CODE = ("children.py", "cli/streams.py", "store", "worker/protocol.py", "worker/ending")

MOST = 0.02
CASES = 100

#: Seconds of processor time that this script prints are those of reading all results.
READ = """
import sys, time
from perf import checks
from opbench.store import Store
if sys.argv[2] == "without":
    checks.remove()
with Store.open(sys.argv[1], create=False) as store:
    runs = store.runs()
    began, count = time.process_time(), 0
    for run in runs:
        count += len(store.results(run=run))
    print(time.process_time() - began, count)
"""
RUN = """
import sys
from perf import checks
from opbench.cli.main import main
if sys.argv.pop() == "without":
    checks.remove()
main()
"""


def remove() -> None:
    """Take the checks out of this process."""
    from opbench import children
    from opbench.cli import streams
    from opbench.store import queries, rows, store
    from opbench.store.connection import sqlite_file
    from opbench.worker import protocol
    from opbench.worker.main import command

    replaced: list[tuple[Any, str, Any]] = [
        (children, "module", command),
        (children, "program", lambda *words: list(words)),
        (children.Tidy, "add", lambda _self, _entry: None),
        (streams, "guarded", contextlib.nullcontext),
        (protocol, "validate", lambda message, _vocabulary, _key: message),
        (protocol, "check_fields", lambda message, _fields, _what: message),
        (sqlite_file, "check_objects", lambda _connection, _path: None),
        (queries, "result_from_row", _result_from_row),
        (store, "run_from_row", lambda row: rows.RunRecord(*row)),
    ]
    for holder, name, _ in replaced:
        assert hasattr(holder, name), f"{holder} has no {name} any more"
    for holder, name, plain in replaced:
        setattr(holder, name, plain)


def _result_from_row(row: Any, samples: Any = ()) -> Any:
    from opbench.result import Result, Warning

    return Result(
        case_hash=row["case_hash"],
        metric=row["metric"],
        unit=row["unit"],
        outcome=row["outcome"],
        reason=row["reason"],
        estimate=row["estimate"],
        low=row["low"],
        high=row["high"],
        samples=samples,
        warnings=tuple(Warning(code, text) for code, text in row["warnings"]),
        detail=row["detail"],
        environment=row["environment"],
        fingerprint=row["fingerprint"],
        policy=row["policy"],
        group=row["group_name"],
        created=row["created"],
        node=row["node"],
    )


def measure(quick: bool = False) -> str:
    from perf.fleet_stores import fill

    runs, repeats, cases = (20, 2, 3) if quick else (1000, 5, 15)
    with tempfile.TemporaryDirectory(prefix="opbench-perf-") as name:
        folder = Path(name)
        large = folder / "large.db"
        fill(str(large), runs, 1000)
        figures: list[tuple[str, Callable[[str], float], int]] = [
            (f"a run of {CASES} small cases", lambda side: run_seconds(folder, side), cases),
            (f"reading {runs * 1000:,} results", lambda side: read_seconds(large, side), repeats),
        ]
        lines = ["| figure | without | with | cost | allowed | |", "|:--|--:|--:|--:|--:|:--|"]
        lines += [_row(what, *_alternated(each, times)) for what, each, times in figures]
    how = (
        "Processor time, user and system, of the command and all it started; medians of alternated "
        "repeats, and the median of their ratios with its range of the middle half. The "
        "run has a fixed design of one start, so that little of it is the statements themselves."
    )
    return "\n".join(lines) + f"\n\n{how}"


def _alternated(seconds: Callable[[str], float], repeats: int) -> tuple[list[float], list[float]]:
    """Processor time of each repeat, without and with; which comes first is drawn."""
    rng = random.Random(20261116)
    found: dict[str, list[float]] = {"without": [], "with": []}
    for _ in range(repeats):
        for side in rng.sample(sorted(found), 2):
            found[side].append(seconds(side))
    return found["without"], found["with"]


def _row(what: str, without: Sequence[float], with_: Sequence[float]) -> str:
    ratios = sorted(b / a - 1 for a, b in zip(without, with_))
    cost = statistics.median(ratios)
    low, high = ratios[len(ratios) // 4], ratios[-1 - len(ratios) // 4]
    verdict = "reached" if cost <= MOST else "**missed**"
    return (
        f"| {what} | {statistics.median(without):.2f} s | {statistics.median(with_):.2f} s "
        f"| {cost:+.1%} ({low:+.1%} to {high:+.1%}) | {MOST:.0%} | {verdict} |"
    )


def run_seconds(folder: Path, side: str) -> float:
    benchmarks = [{"name": f"s{n}", "stmt": f"sum(range({n}))"} for n in range(CASES)]
    (folder / "small.json").write_text(json.dumps({"benchmark": benchmarks}))
    words = ["run", "small.json", "--num-runs", "1", "--num-repeats", "5"]
    before = _children_seconds()
    _python(folder, RUN, *words, "--store", "run.db", side)
    (folder / "run.db").unlink()
    return _children_seconds() - before


def read_seconds(store: Path, side: str) -> float:
    return float(_python(store.parent, READ, str(store), side).split()[0])


def _python(folder: Path, code: str, *words: str) -> str:
    root = str(Path(__file__).resolve().parent.parent)
    path = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
