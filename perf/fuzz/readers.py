"""Everything that reads data from outside: valid examples, and the reader that must survive what
becomes of them."""

from __future__ import annotations

import json
import pickle
import random
import socket
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perf.fuzz import mutation

DATA = Path(__file__).resolve().parent.parent.parent / "tests" / "capture" / "data"


@dataclass(frozen=True)
class Reader:
    """A kind of input: `read` is given the path of one, and may raise `UserError`."""

    name: str
    suffix: str
    seeds: tuple[bytes, ...]
    read: Callable[[Path], Any]
    #: Of a thousand inputs, how many are of this kind.
    share: int
    #: Whether the seeds are JSON, which is also changed value by value; `lines` of it.
    json: str = ""

    def made(self, rng: random.Random) -> bytes:
        seed = rng.choice(self.seeds)
        if not self.json or rng.random() < 0.4:
            return mutation.damaged(seed, rng)
        if self.json == "whole":
            return mutation.as_json(mutation.changed(json.loads(seed), rng))
        lines = [json.loads(line) for line in seed.splitlines() if line.strip()]
        for _ in range(rng.choice((1, 1, 3))):
            place = rng.randrange(len(lines))
            lines[place] = mutation.changed(lines[place], rng)
        return b"\n".join(map(mutation.as_json, lines))


RUN_TOML = b"""
[run]
precision = "1%"
budget = "60s"
metrics = ["time", "memory"]
axes = {n = [1, 2]}
cpus = "0-1"

[[benchmark]]
name = "sorted"
setup = "import random\\nvalues = [random.random() for _ in range(n)]"
stmt = "sorted(values)"
axes.n = [10, 100, 1000]
axes.kind = ["a", "b"]

[[benchmark]]
name = "mm"
globals = "import torch"
setup = "a = torch.rand(n, n, requires_grad=True)"
stmt = "y = a @ a"
stages = ["forward", "forward_backward"]
wrt = ["a"]
axes = {n = [8, 16], dtype = ["float32"]}
"""

RUN_JSON = json.dumps(
    {
        "run": {"precision": 0.01, "keep": ["sorted"], "seed": 3, "num_runs": 2, "top": "95%"},
        "benchmark": [
            {"name": "s", "stmt": "sorted(v)", "setup": "v = [n]", "axes": {"n": [1, 2.5, "x"]}},
            {"name": "t", "stmt": "pass", "before": "x = 1", "framework": "torch"},
        ],
    }
).encode()

LAYERS_JSON = json.dumps(
    {
        "linear": {"input_shape": [], "in_features": 64, "out_features": 64},
        "conv": {
            "in_channels": 3, "input_shape": [8, 8], "out_channels": 4, "kernel_size": 3,
            "stride": 1, "padding": 0, "dilation": 1, "groups": 1,
        },
        "num_runs": 2,
        "batch_sizes": [16, 32],
    }
).encode()  # fmt: skip

COMPARED_JSON = json.dumps(
    {
        "layers": [
            {
                "comparison": ["linear", "gsm_linear"],
                "config": {"input_shape": [], "in_features": 8, "out_features": 8},
                "batch_sizes": [2],
            }
        ],
        "num_runs": 5,
        "num_repeats": 2,
    }
).encode()

PYPERF_JSON = json.dumps(
    {
        "version": "1.0",
        "metadata": {"name": "telco", "unit": "second", "hostname": "h", "python_version": "3.11"},
        "benchmarks": [
            {
                "metadata": {"name": "telco", "loops": 8},
                "runs": [
                    {
                        "metadata": {"date": "2026-11-15 03:51:30.5", "duration": 1.5},
                        "warmups": [[1, 0.1]],
                        "values": [0.025, 0.026],
                    }
                ],
            }
        ],
    }
).encode()

PYTEST_JSON = json.dumps(
    {
        "machine_info": {"node": "n", "cpu": {"brand_raw": "X"}},
        "commit_info": {"id": "abc", "dirty": False},
        "benchmarks": [
            {
                "group": None, "name": "test_a", "fullname": "t.py::test_a[1]",
                "params": {"n": 1}, "param": "1", "extra_info": {},
                "options": {"timer": "perf_counter"},
                "stats": {
                    "min": 1.0, "max": 2.0, "mean": 1.5, "stddev": 0.5, "rounds": 2,
                    "median": 1.5, "iterations": 1, "data": [1.0, 2.0],
                },
            }
        ],
        "datetime": "2026-11-15T03:51:30.123456", "version": "4.0.0",
    }
).encode()  # fmt: skip

OPACUS = {
    "layer": "linear", "batch_size": 16, "num_runs": 2, "num_repeats": 2, "forward_only": False,
    "random_seed": None, "input_shape": [], "in_features": 8, "out_features": 8,
    "results": [
        {"runtime": 0.1, "memory_stats": {"cpu": 1, "allocated": 2, "reserved": 3}},
        {"runtime": 0.2, "memory_stats": None},
    ],
}  # fmt: skip

TRACE_JSON = json.dumps(
    {
        "schemaVersion": 1,
        "traceEvents": [
            {
                "ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 1.0,
                "dur": 2.0, "args": {
                    "External id": 1, "Input Dims": [[2, 2], [2, 2], []],
                    "Input type": ["float", "float", "Scalar"],
                    "Concrete Inputs": ["", "", "1"], "Input Strides": [[2, 1], [2, 1], []],
                },
            },
            {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "ts": 0.5, "dur": 9,
             "pid": 1, "tid": 1, "args": {}},
        ],
    }
).encode()  # fmt: skip

POINTS = b"n,m,dtype\n1,2,float32\n# more\n3,4,float64\n"
OPTIONS = b"precision=1%\nbudget=60s\naxes=n=1,2\ncpus=0-3\nseed=1\nnum_runs=5\ntop=95%\ntimeout=5s"

ANSWERS = b"\n".join(
    json.dumps(each).encode()
    for each in (
        {"ok": True, "token": "t", "value": 1.5, "n": 10, "wall_ns": 5, "cpu_ns": 5, "queued_ns": 0,
         "switches": 0, "peak_bytes": 1, "device_bytes": [0, 0], "seen": {"slowdown": 0}},
        {"ok": True, "token": "t", "results": {"memory": {"value": 1, "unit": "bytes"}}},
        {"ok": False, "token": "t", "error": {"outcome": "failed", "reason": "r"}},
        {"event": "exited", "session": 1, "status": 0, "output": "", "oom": False},
        {"op": "block", "metric": "time", "n": 5, "token": "t"},
    )
)  # fmt: skip


def read_run_file(path: Path) -> None:
    from opbench.define import runfile
    from opbench.define.expand import expand
    from opbench.define.targets import options_of
    from opbench.plan.options import RunOptions, asked

    content = runfile.load(path)
    options = RunOptions.of(asked(options_of(content.run)))
    options.policy  # noqa: B018
    definitions = content.definitions
    if definitions:
        cases = expand(
            definitions, axes=options.axes, keep=options.keep, stages=options.stages,
            seed=options.seed, points=options.shapes,
        )  # fmt: skip
        json.dumps([case.to_dict() for case in cases[:50]], allow_nan=False).encode()
        [case.hash for case in cases[:50]]
    json.dumps(options.to_dict())


def read_config(path: Path) -> None:
    from opbench.suites.layers.config import load

    load(path)


def read_capture(path: Path) -> None:
    from opbench.capture.reading import level_of, read, read_api

    if level_of(path) == "api":
        read_api(path)
        return
    from opbench.define.expand import expand
    from opbench.suites.captured.definition import definitions

    capture = read(path)
    cases = expand(definitions(capture))
    [(case.hash, case.id) for case in cases[:50]]


def read_import(path: Path) -> None:
    from opbench.imports.file import read_file

    read_file(path)


def read_trace(path: Path) -> None:
    from opbench.suites.captured.exchange import trace_of

    trace_of(path)


def read_points(path: Path) -> None:
    from opbench.define import points
    from opbench.errors import UserError

    try:
        points.read(path)
    except ValueError as error:  # what an option's reader raises, which is shown as one line
        raise UserError(str(error)) from None


def read_options(path: Path) -> None:
    from opbench.plan.options import RunOptions, asked

    given: dict[str, Any] = {}
    for line in path.read_bytes().decode("utf-8", "surrogateescape").splitlines():
        name, _, value = line.partition("=")
        given[name] = [value] if name == "axes" else value
    RunOptions.of(asked(given)).to_dict()


def read_messages(path: Path) -> None:
    """As a child's answers on its channel, then as events and requests."""
    from opbench.errors import UserError
    from opbench.worker import protocol

    ours, theirs = socket.socketpair()
    with closing(ours), closing(theirs):
        theirs.sendall(path.read_bytes()[:100_000] + b"\n")
        theirs.shutdown(socket.SHUT_WR)
        channel = protocol.Channel(ours)
        refused = None
        while True:
            try:
                message = channel.receive(1.0)
                for operation in protocol.ANSWERS:
                    try:
                        protocol.check_answer(message, operation, "t")
                    except protocol.ProtocolError as error:
                        refused = error
                for vocabulary, key in ((protocol.EVENTS, "event"), (protocol.OPERATIONS, "op")):
                    try:
                        protocol.validate(message, vocabulary, key)
                    except protocol.ProtocolError as error:
                        refused = error
            except protocol.Closed:
                break
            except protocol.ProtocolError as error:
                refused = error
                continue
    if refused is not None:
        raise UserError(str(refused))


def read_store(path: Path) -> None:
    from opbench.store import Store
    from opbench.store.checking import check
    from opbench.store.connection.database import Database

    with closing(Database.open(path, create=False)) as database:
        check(database)
    with Store.open(path, create=False) as store:
        store.runs()
        store.tally()
        store.cases()
        store.results(samples=True)
        for run in store.runs(limit=1):
            store.history(run=run)
            store.done_keys(run.id)


def store_seed(folder: Path) -> bytes:
    """A small store with two runs."""
    from opbench.case import Case
    from opbench.result import Result, Sample, Warning
    from opbench.store import RunRecord, Store

    path = folder / "seed.db"
    with Store.open(path) as store:
        for number in range(2):
            store.begin_run(RunRecord(f"r{number}", "name", created=1e9 + number, machine={"a": 1}))
            store.add_environment("f" * 16, {"machine": {"model": "X"}})
            for n in range(3):
                case = Case("s", "n", "call", "pass", labels=(("n", n),))
                samples = tuple(Sample(1 + i / 7, start=i, order=i) for i in range(4))
                result = Result(
                    case.hash, "time", "s", estimate=1.5, low=1.4, high=1.6, samples=samples,
                    detail={"starts": 4}, warnings=(Warning("drift", "d"),), created=1e9,
                )  # fmt: skip
                store.add_result(f"r{number}", case, result)
            store.finish_run(f"r{number}")
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path.read_bytes()


def readers(folder: Path) -> dict[str, Reader]:
    """All of them; `folder` is for what the examples need."""
    captures = tuple(path.read_bytes() for path in sorted(DATA.glob("*.jsonl")))
    found: Iterable[Reader] = (
        Reader("run_toml", ".toml", (RUN_TOML,), read_run_file, 160),
        Reader("run_json", ".json", (RUN_JSON,), read_run_file, 160, json="whole"),
        Reader("config", ".json", (LAYERS_JSON, COMPARED_JSON), read_config, 130, json="whole"),
        Reader("capture", ".jsonl", captures, read_capture, 150, json="lines"),
        Reader("import", ".json", (PYPERF_JSON, PYTEST_JSON), read_import, 120, json="whole"),
        Reader("pickle", ".pkl", tuple(pickle.dumps(OPACUS, p) for p in (2, 4)), read_import, 60),
        Reader("trace", ".json", (TRACE_JSON,), read_trace, 60, json="whole"),
        Reader("points", ".csv", (POINTS,), read_points, 40),
        Reader("options", ".txt", (OPTIONS,), read_options, 40),
        Reader("messages", ".bin", (ANSWERS,), read_messages, 40, json="lines"),
        Reader("store", ".db", (store_seed(folder),), read_store, 40),
    )
    return {reader.name: reader for reader in found}
