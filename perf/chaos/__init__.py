"""Chaos: commands, workers, stores and servers that die or lie, and what must hold all the same.

Nothing that was stored is lost or doubled; no process and no temporary file is left; exit codes are
those of the documentation; a continued run completes. Seeded: the same trials every time, though
not the same moments. `python -m perf chaos --quick` makes a few of each.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from perf.chaos import commands, outages, stores, workers
from perf.fuzz.readers import store_seed

TITLE = "Kills, outages and damaged stores"
CODE = ("children.py", "cli", "running", "store", "worker", "workers")

SEED = 20261116
#: Seconds for the whole of it; what does not fit is not tried, and the table says so.
MOST_TIME = 1200.0


@dataclass
class Trials:
    what: str
    tried: int = 0
    planned: int = 0
    faults: list[str] = field(default_factory=list)
    seconds: float = 0.0


def measure(quick: bool = False) -> str:
    rng = random.Random(SEED)
    deadline = time.monotonic() + (MOST_TIME / 10 if quick else MOST_TIME)
    done = [
        _tried("commands × signals: something is left, another exit code, a traceback",
               _commands(quick), deadline),
        _tried("runs with a worker killed from outside: a case without a result, or with two",
               [_in_folder(workers.workers_killed, rng)] * (2 if quick else 50), deadline),
        _tried("runs killed three times and continued: a result lost or doubled",
               [_in_folder(workers.command_killed, rng)] * (1 if quick else 10), deadline),
        _tried(f"damaged stores × {len(stores.READING)} commands: tracebacks, hangs, writes",
               _damaged(rng, 10 if quick else 500), deadline),
        _tried(f"hostile stores × {len(stores.READING)} commands: tracebacks, hangs, writes",
               _hostile(stores.HOSTILE[::10] if quick else stores.HOSTILE), deadline),
        *_outages(rng, quick, deadline),
    ]  # fmt: skip
    lines = [f"Seed {SEED}.", "", "| campaign | trials | faults |", "|---|---|---|"]
    for trials in done:
        count = f"{trials.tried}" + (
            f" of {trials.planned}" if trials.tried < trials.planned else ""
        )
        lines.append(f"| {trials.what} | {count} | {len(trials.faults)} |")
    lines += [f"\n- {fault}" for trials in done for fault in trials.faults[:5]]
    return "\n".join(lines)


def _tried(
    what: str, trials: Iterable[Callable[[], list[str]]], deadline: float, show: bool = True
) -> Trials:
    planned = list(trials)
    found, began = Trials(what, planned=len(planned)), time.monotonic()
    for trial in planned:
        if time.monotonic() > deadline:
            break
        faults = trial()
        found.tried += 1
        found.faults += [", ".join(faults)] if faults else []
    found.seconds = time.monotonic() - began
    if show:
        print(f"{what}: {found.tried} in {found.seconds:.0f} s, {found.faults}", flush=True)
    return found


def _in_folder(trial: Callable[[Path, random.Random], list[str]], rng: random.Random):
    def call() -> list[str]:
        with tempfile.TemporaryDirectory(prefix="opbench-chaos-") as folder:
            return trial(Path(folder), rng)

    return call


def _commands(quick: bool) -> Iterable[Callable[[], list[str]]]:
    for command in commands.COMMANDS.values():
        for end in ("KILL", "INT") if quick else commands.ENDS:
            if command.possible and not (quick and command.needs):
                yield _command(command, end)


def _command(command: commands.Command, end: str) -> Callable[[], list[str]]:
    def call() -> list[str]:
        with tempfile.TemporaryDirectory(prefix="opbench-chaos-") as folder:
            faults = commands.trial(command, end, Path(folder)).faults(end)
        return [f"{command.name}, {end}: {fault}" for fault in faults]

    return call


def _damaged(rng: random.Random, count: int) -> Iterable[Callable[[], list[str]]]:
    with tempfile.TemporaryDirectory() as folder:
        sound = store_seed(Path(folder))
    for _ in range(count):
        content = stores.damaged(sound, rng)
        yield _store(lambda path, content=content: path.write_bytes(content))


def _hostile(statements: Iterable[str]) -> Iterable[Callable[[], list[str]]]:
    for each in statements:

        def make(path: Path, each: str = each) -> None:
            with tempfile.TemporaryDirectory() as folder:
                store_seed(Path(folder))
                stores.hostile(Path(folder) / "seed.db", each, path)

        yield _store(make)


def _store(make: Callable[[Path], object]) -> Callable[[], list[str]]:
    def call() -> list[str]:
        with tempfile.TemporaryDirectory(prefix="opbench-chaos-") as folder:
            path = Path(folder) / "theirs.db"
            make(path)
            return stores.faults(path)

    return call


def _outages(rng: random.Random, quick: bool, deadline: float) -> list[Trials]:
    from perf.local_postgres import Unavailable, postgres

    what = "PostgreSQL down for 1, 5 or 30 s in a run: not complete without a person"
    lengths = [1.0] if quick else [1.0] * 8 + [5.0] * 8 + [30.0] * 4
    try:
        with postgres(durable=False) as server:

            def through(seconds: float) -> Callable[[], list[str]]:
                def trial(folder: Path, rng: random.Random) -> list[str]:
                    return outages.outage(server, folder, seconds, rng)

                return _in_folder(trial, rng)

            return [_tried(what, map(through, lengths), deadline)]
    except Unavailable as why:
        return [Trials(f"{what} ({why})", planned=len(lengths))]
