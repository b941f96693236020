"""Many writers at once, and a million results, in SQLite and in PostgreSQL."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from opbench.case import Case
from opbench.machine import machine_facts
from opbench.result import Result, Sample
from opbench.store import RunRecord, Store
from opbench.store import payload as packing
from opbench.store.connection.database import Database
from opbench.store.insertion import insert_cases, insert_rows
from opbench.store.rows import result_row
from perf.local_postgres import Server

#: Each result has its own transaction, as in a run.
WRITER = """
import sys, time
from opbench.case import Case
from opbench.result import Result, Sample
from opbench.store import Store

where, writer, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
store = Store.open(where)
cases = [Case("perf", f"n{number}", "call", "pass") for number in range(50)]
results = []
for number in range(count):
    case = cases[number % 50]
    samples = tuple(Sample(1e-6 * (number + i), start=i % 3, order=i, n=100) for i in range(30))
    metric = f"w{writer}m{number}"
    results.append((case, Result(case.hash, metric, "s", estimate=1.0, samples=samples)))
for case in cases:  # known to the store, as in a run that has begun
    store.add_result("perf", case, Result(case.hash, f"w{writer}", "s"))
print("ready", flush=True)
sys.stdin.readline()
began = time.time()
for case, result in results:
    store.add_result("perf", case, result)
print(began, time.time(), flush=True)
"""


def writers_rate(where: str, writers: int, each: int) -> tuple[float, int, int]:
    """Results per second, and how many were lost and duplicated."""
    with Store.open(where) as store:
        store.begin_run(RunRecord("perf", created=1.0))
    command = [sys.executable, "-c", WRITER, where]
    running = [
        subprocess.Popen(
            [*command, str(number), str(each)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(writers)
    ]
    for process in running:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in running:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    times = [tuple(map(float, process.communicate(timeout=600)[0].split())) for process in running]
    seconds = max(end for _, end in times) - min(begin for begin, _ in times)
    wanted = {f"w{writer}m{number}" for writer in range(writers) for number in range(each)}
    with Store.open(where, create=False) as store:
        found = [s.result.metric for s in store.results() if "m" in s.result.metric]
    return writers * each / seconds, len(wanted - set(found)), len(found) - len(set(found))


@contextmanager
def stores(server: Server) -> Iterator[dict[str, str]]:
    with TemporaryDirectory(prefix="opbench-perf-") as folder:
        yield {"SQLite": str(Path(folder) / "results.db"), "PostgreSQL": server.new_database()}


def fill(where: str, runs: int, cases: int) -> list[Case]:
    """Every result has one of a few sets of thirty samples, since packing is not what is timed."""
    filled = [Case("perf", f"operator{number}", "call", "pass") for number in range(cases)]
    rng = random.Random(20261115)
    packed = []
    for _ in range(20):
        values = [1e-5 * rng.gauss(1.0, 0.01) for _ in range(30)]
        taken = [
            Sample(v, start=i % 3, session=i % 3, order=i, n=100) for i, v in enumerate(values)
        ]
        packed.append(packing.pack(taken))
    base = Result(
        filled[0].hash, "time", "s", estimate=1e-5, low=0.99e-5, high=1.01e-5,
        detail={"stopped": "precise", "starts": 3}, fingerprint="f" * 16, policy="adaptive",
    )  # fmt: skip
    machine = machine_facts()  # as large as they are in a real run
    database = Database.open(where, create=True)
    with Store.open(where) as store:
        store.add_environment("f" * 16, {"machine": {}, "interpreter": {"version": "3.11"}})
        with database.writing() as connection:
            insert_cases(connection, filled)
        for number in range(runs):
            run_id = f"20260101-{number:06d}-perf"
            begun = 1.7e9 + 86400.0 * number
            store.begin_run(
                RunRecord(run_id, "nightly", begun, begun + 60, "finished", machine=machine)
            )
            rows, blobs = [], []
            for index, case in enumerate(filled):
                value = 1e-5 * (1 + 0.01 * rng.random())
                result = replace(base, case_hash=case.hash, estimate=value, created=begun)
                rows.append({**result_row(run_id, result), "n_samples": 30})
                blobs.append(packed[(number + index) % len(packed)])
            with database.writing() as connection:
                insert_rows(connection, rows, blobs)
    database.close()
    return filled


def queries(where: str, case: Case, repeats: int = 5) -> tuple[float, float]:
    """Seconds for `compare` of the latest two runs, and for `history` of one case."""
    from opbench.analyse.history import history
    from opbench.cli.compare import Selection, comparisons

    def compare_two() -> None:
        with Store.open(where, create=False) as store:
            (found,) = comparisons(store, ["last~1", "last"], Selection())
            assert len(found.rows) > 0

    def history_of_one() -> None:
        with Store.open(where, create=False) as store:
            found = history(store, store.find_cases(case.id)[0].id, "time", None)
            assert found.series

    return median(timed(compare_two, repeats)), median(timed(history_of_one, repeats))


def timed(action, repeats: int) -> list[float]:  # type: ignore[no-untyped-def]
    action()  # imports, and fills the page cache
    taken = []
    for _ in range(repeats):
        began = time.perf_counter()
        action()
        taken.append(time.perf_counter() - began)
    return taken
