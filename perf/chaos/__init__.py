"""Chaos: commands, workers, stores and servers that die or lie, and what must hold all the same.

Nothing that was stored is lost or doubled; no process and no temporary file is left; exit codes are
those of the documentation; a continued run completes. Seeded: the same trials every time, though
not the same moments. `python -m perf chaos --quick` makes a few of each.
"""

from __future__ import annotations

import multiprocessing
import random
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from perf.chaos import commands, outages, stores, user_code, workers

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
    """Three lanes at a time: much of each is waiting."""
    most = MOST_TIME / 6 if quick else MOST_TIME
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(len(LANES), mp_context=spawn) as lanes:
        found = [lanes.submit(lane, quick, most) for lane in LANES]
        done = [trials for each in found for trials in each.result()]
    lines = [f"Seed {SEED}.", "", "| campaign | trials | faults |", "|---|---|---|"]
    for trials in done:
        count = f"{trials.tried}" + (
            f" of {trials.planned}" if trials.tried < trials.planned else ""
        )
        lines.append(f"| {trials.what} | {count} | {len(trials.faults)} |")
    shown = [fault for trials in done for fault in trials.faults[:5]]
    lines += [f"\n- {' '.join(fault.split())[:300]}" for fault in shown]
    return "\n".join(lines)


def kills(quick: bool, most: float) -> list[Trials]:
    """Of commands, workers and children, and by the code under test."""
    rng, deadline = random.Random(SEED), time.monotonic() + most
    return [
        _tried("commands × signals: something is left, another exit code, a traceback",
               _commands(quick), deadline),
        _tried("runs with a worker killed from outside: not every case finished, or one twice",
               [_in_folder(workers.worker_killed, rng)] * (2 if quick else 50), deadline),
        _tried("runs with a child killed from outside: another case lost, `--cont` not complete",
               [_in_folder(workers.child_killed, rng)] * (1 if quick else 10), deadline),
        _tried("runs killed three times and continued: a result lost or doubled",
               [_in_folder(workers.command_killed, rng)] * (1 if quick else 10), deadline),
        _tried(f"a run of {len(user_code.FAULTS)} kinds of faults in user code: not an outcome, "
               "an innocent case harmed", [_in_folder(_user_code, rng)], deadline),
    ]  # fmt: skip


def strangers(quick: bool, most: float) -> list[Trials]:
    """Stores that somebody else made, or that a disk has damaged."""
    rng, deadline = random.Random(SEED), time.monotonic() + most
    what = "tracebacks, hangs, writes elsewhere, over 512 MiB"
    with tempfile.TemporaryDirectory(prefix="opbench-chaos-") as folder:
        sound = stores.sound(Path(folder))
        stores.warm(sound)
        reading = len(stores.READING)
        return [
            _tried(f"hostile stores × {reading + len(stores.DRAWING)} commands: {what}",
                   _hostile(sound, stores.HOSTILE[::10] if quick else stores.HOSTILE), deadline),
            _tried(f"damaged stores × {reading} commands: {what}",
                   _damaged(sound, rng, 10 if quick else 500), deadline),
        ]  # fmt: skip


def servers(quick: bool, most: float) -> list[Trials]:
    """Databases and clusters that go away."""
    rng, deadline = random.Random(SEED), time.monotonic() + most
    found = _outages(rng, quick, deadline)
    return found if quick else found + _clusters(rng, deadline)


LANES = (kills, strangers, servers)


def _user_code(folder: Path, _rng: random.Random) -> list[str]:
    return user_code.faults_of_code(folder)


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


def _write(content: bytes, path: Path) -> None:
    path.write_bytes(content)


def _damaged(sound: Path, rng: random.Random, count: int) -> Iterable[Callable[[], list[str]]]:
    for _ in range(count):
        content = stores.damaged(sound.read_bytes(), rng)
        yield _store(partial(_write, content), stores.READING)


def _hostile(sound: Path, statements: Iterable[str]) -> Iterable[Callable[[], list[str]]]:
    for each in statements:
        commands_read = (*stores.READING, *stores.DRAWING)
        yield _store(partial(stores.hostile, sound, each), commands_read)


def _store(
    make: Callable[[Path], object], words: Sequence[tuple[str, ...]]
) -> Callable[[], list[str]]:
    def call() -> list[str]:
        with tempfile.TemporaryDirectory(prefix="opbench-chaos-") as folder:
            path = Path(folder) / "in" / "theirs.db"
            path.parent.mkdir()
            make(path)
            return stores.faults(path, words)

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


def _clusters(rng: random.Random, deadline: float) -> list[Trials]:
    from perf.chaos import clusters
    from perf.local_ray import Unavailable

    def head(folder: Path, _rng: random.Random) -> list[str]:
        return clusters.head_killed(folder)

    nodes = "a run on Ray with four nodes or agents killed: a result lost or doubled"
    heads = "a run on Ray whose head is killed, continued elsewhere: a result lost or doubled"
    try:
        return [
            _tried(nodes, [clusters.nodes_killed], deadline),
            _tried(heads, [_in_folder(head, rng)], deadline),
        ]
    except Unavailable as why:
        return [Trials(f"{nodes} ({why})", planned=1)]
