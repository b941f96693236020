"""Files of other tools, in the form their own writers give them: what becomes of each."""

from __future__ import annotations

import copy
import gzip
import io
import json
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opbench.case import Case
from opbench.imports import file as importing
from opbench.imports.file import import_files, read_file
from opbench.imports.formats import formats
from opbench.report.export import export
from opbench.result import Result, Sample, Warning
from opbench.store import RunRecord, Store, StoredResult, StoreError

GOOGLE = {
    "context": {
        "date": "2026-03-01T10:20:30+00:00", "host_name": "box", "executable": "./bench",
        "num_cpus": 8, "mhz_per_cpu": 3000, "library_build_type": "release",
        "json_schema_version": 1,
    },
    "benchmarks": [
        *({
            "name": "BM_copy/1024", "run_name": "BM_copy/1024", "run_type": "iteration",
            "repetitions": 3, "repetition_index": i, "threads": 1, "iterations": 1000 + i,
            "real_time": 250.0 + i, "cpu_time": 249.0, "time_unit": "ns",
        } for i in range(3)),
        {"name": "BM_copy/1024_median", "run_name": "BM_copy/1024", "run_type": "aggregate",
         "aggregate_name": "median", "real_time": 251.0, "cpu_time": 249.0, "time_unit": "ns"},
        {"name": "BM_slow", "run_name": "BM_slow", "run_type": "aggregate",
         "aggregate_name": "median", "real_time": 3.5, "cpu_time": 3.4, "time_unit": "ms"},
        {"name": "BM_bad", "run_name": "BM_bad", "run_type": "iteration", "error_occurred": True,
         "error_message": "no such file"},
    ],
}  # fmt: skip

HYPERFINE = {
    "results": [
        {
            "command": "sort a.txt", "mean": 0.021, "stddev": 0.001, "median": 0.021,
            "user": 0.01, "system": 0.01, "min": 0.02, "max": 0.022,
            "times": [0.02, 0.021, 0.022], "memory_usage_byte": [900, 1000, 1100],
            "exit_codes": [0, 0, 0],
        },
        {"command": "sort -n a.txt", "mean": 0.05, "median": 0.05, "times": [0.04, 0.05, 0.06],
         "exit_codes": [0, 1, 0], "parameters": {"threads": "4"}},
    ]
}  # fmt: skip

ASV = {
    "commit_hash": "abcdef1234567890", "env_name": "virtualenv-py3.12", "date": 1_700_000_000_000,
    "params": {"machine": "ci", "arch": "x86_64", "cpu": "EPYC", "os": "Linux", "ram": "64GB"},
    "python": "3.12", "requirements": {"numpy": "2.1"}, "env_vars": {},
    "result_columns": ["result", "params", "version", "started_at", "duration", "stats_ci_99_a",
                       "stats_ci_99_b", "stats_q_25", "stats_q_75", "stats_number", "stats_repeat",
                       "samples", "profile"],
    "results": {
        "suite.Sort.time_sort": [
            [0.1, 0.2, None, float("nan")], [["10", "20"], ["'fast'", "'safe'"]], "v", 1.7e12, 1.5,
            None, None, None, None, [5, 5, None, None], None,
            [[0.09, 0.1, 0.11], [0.19, 0.2, 0.21], None, None],
        ],
        "suite.peakmem_all": [[4096.0], [], "v", 1.7e12, 1.0],
    },
    "durations": {}, "version": 2,
}  # fmt: skip

CRITERION = [
    {"reason": "benchmark-complete", "id": "fib/20", "report_directory": "target/criterion",
     "iteration_count": [100, 200, 300], "measured_values": [5000.0, 10200.0, 14700.0],
     "unit": "ns", "throughput": [], "typical": {"estimate": 50.0, "unit": "ns"}},
    {"reason": "group-complete", "group_name": "fib", "benchmarks": ["fib/20"]},
]  # fmt: skip

CRITERION_SAMPLE = {
    "sampling_mode": "Linear", "iters": [10.0, 20.0], "times": [1000.0, 2100.0],
}  # fmt: skip


def summary(tag: str, value: float) -> dict[str, Any]:
    data = [{"name": "value", "type": "float64", "value": repr(value)}]
    return {"tag": tag, "name": "a name", "hint": "duration", "data": data}


NVBENCH = {
    "meta": {"argv": ["bench"], "version": {"json": {"major": 1, "minor": 0, "string": "1.0.0"},
                                            "nvbench": {"string": "0.1.0"}}},
    "devices": [{"id": 0, "name": "H200"}],
    "benchmarks": [{
        "name": "copy", "index": 0, "devices": [0], "axes": None,
        "states": [
            {"name": "Device=0 N=2^20", "device": 0, "type_config_index": 0, "is_skipped": False,
             "axis_values": [{"name": "N", "type": "int64", "value": "1048576"},
                             {"name": "T", "type": "string", "value": "F32"}],
             "summaries": [
                 summary("nv/cold/time/gpu/mean", 1.5e-5),
                 summary("nv/cold/time/cpu/mean", 2.5e-5),
                 summary("nv/batch/time/gpu/mean", 1.2e-5),
                 {"tag": "nv/json/bin:nv/cold/sample_times", "name": "Sample Times File",
                  "data": [{"name": "filename", "type": "string", "value": "out.json-bin/0.bin"},
                           {"name": "size", "type": "int64", "value": "4"}]},
             ]},
            {"name": "Device=0 N=2^30", "device": 0, "axis_values": None, "summaries": None,
             "is_skipped": True, "skip_reason": "not enough memory"},
        ],
    }],
}  # fmt: skip


def our_own() -> dict[str, Any]:
    """What `export -f json` writes of a run with a time, a warning and a failure."""
    case = Case("ops", "add", "forward", "x + y", labels=(("n", 64), ("mode", None)), dtype="f32")
    lost = Case("ops", "crash", "call", "boom()")
    samples = tuple(Sample(1e-6 + i * 1e-9, i, 0, i, 100, 1, 1, i, i == 2) for i in range(3))
    run = RunRecord("20261115-120000-ab12", "nightly", created=1.79e9, status="finished")
    results = [
        Result(case.hash, "time", "s", estimate=1e-6, low=float("nan"), high=2e-6, samples=samples,
               warnings=(Warning("few", "raise it"),), detail={"way": "each"}, created=1.79e9),
        Result(lost.hash, "time", "s", "crashed", "SIGSEGV", node="rack-2", created=1.79e9),
    ]  # fmt: skip
    stored = [StoredResult(run.id, of, result, 3) for of, result in zip((case, lost), results)]
    stream = io.StringIO()
    export("json", stored, [run], stream)
    return json.loads(stream.getvalue())


FILES = {
    "opbench-json": our_own(), "google-benchmark": GOOGLE, "hyperfine": HYPERFINE, "asv": ASV,
    "criterion": CRITERION,
    "nvbench": NVBENCH,
}  # fmt: skip


def written(path: Path, data: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data))
    return path


def imported(tmp_path: Path, *paths: Path):
    with Store.open(tmp_path / "x.db") as store:
        runs = [run for run, _ in import_files(store, paths)]
        results = [store.results(run=run, samples=True) for run in runs]
    return runs, [{(s.case.id, s.result.metric): s.result for s in each} for each in results]


def values(result) -> list[float]:
    return [sample.value for sample in result.samples]


def test_google_benchmark(tmp_path):
    (run,), (found,) = imported(tmp_path, written(tmp_path / "g.json", GOOGLE))
    copied = found["google-benchmark/BM_copy/1024/call", "time"]
    assert values(copied) == pytest.approx([250e-9, 251e-9, 252e-9])
    assert [sample.n for sample in copied.samples] == [1000, 1001, 1002]
    assert {sample.start for sample in copied.samples} == {0}, "repetitions share a process"
    slow = found["google-benchmark/BM_slow/call", "time"]
    assert slow.estimate == pytest.approx(3.5e-3)
    assert [w.code for w in slow.warnings] == ["no-samples"]
    bad = found["google-benchmark/BM_bad/call", "time"]
    assert (bad.outcome, bad.reason) == ("failed", "no such file")
    assert len(found) == 3
    assert run.created == 1_772_360_430.0


def test_hyperfine(tmp_path):
    (_,), (found,) = imported(tmp_path, written(tmp_path / "h.json", HYPERFINE))
    plain = found["hyperfine/sort a.txt/call", "time"]
    assert {sample.start for sample in plain.samples} == {0, 1, 2}, "every time is a process"
    assert found["hyperfine/sort a.txt/call", "memory"].estimate == 1000
    numeric = found["hyperfine/sort -n a.txt[threads=4]/call", "time"]
    assert [w.code for w in numeric.warnings] == ["exit-codes"]
    assert "1 of its 3 runs" in numeric.warnings[0].text
    assert len(found) == 3


def test_asv(tmp_path):
    folder = tmp_path / ".asv" / "results"
    written(folder / "benchmarks.json", {
        "suite.Sort.time_sort": {"param_names": ["n", "mode"], "unit": "seconds"}, "version": 2,
    })  # fmt: skip
    written(folder / "ci" / "machine.json", {"machine": "ci", "version": 1})
    written(folder / "ci" / "abcdef12-py.json", ASV)
    (run,), (found,) = imported(tmp_path, tmp_path)
    assert (run.commit, run.created, run.name) == (
        "abcdef1234567890", 1_700_000_000.0, "abcdef12-py",
    )  # fmt: skip
    fast = found["asv/suite.Sort.time_sort[n=10,mode=fast]/call", "time"]
    assert values(fast) == [0.09, 0.1, 0.11]
    assert fast.samples[0].n == 5
    assert found["asv/suite.Sort.time_sort[n=20,mode=fast]/call", "time"].outcome == "failed"
    assert found["asv/suite.Sort.time_sort[n=20,mode=safe]/call", "time"].outcome == "unsupported"
    peak = found["asv/suite.peakmem_all/call", "memory"]
    assert (peak.estimate, peak.unit) == (4096.0, "bytes")


def test_asv_without_its_list_of_benchmarks(tmp_path):
    _, (found,) = imported(tmp_path, written(tmp_path / "r.json", ASV))
    assert ("asv/suite.Sort.time_sort[param1=10,param2=fast]/call", "time") in found


def test_criterion_s_messages_are_lines(tmp_path):
    path = tmp_path / "c.json"
    path.write_text("\n".join(json.dumps(message) for message in CRITERION) + "\n")
    _, (found,) = imported(tmp_path, path)
    assert list(found) == [("criterion/fib/20/call", "time")]
    (result,) = found.values()
    assert values(result) == pytest.approx([50e-9, 51e-9, 49e-9])
    assert [sample.n for sample in result.samples] == [100, 200, 300]


def test_the_folder_of_criterion_is_one_run(tmp_path):
    root = tmp_path / "target" / "criterion"
    for name in ("fib/20", "fib/21", "sort"):
        written(root / name / "new" / "sample.json", CRITERION_SAMPLE)
        written(root / name / "new" / "benchmark.json", {"full_id": name, "directory_name": name})
        written(root / name / "base" / "sample.json", CRITERION_SAMPLE)
    (run,), (found,) = imported(tmp_path, tmp_path / "target")
    assert run.name == "criterion"
    assert set(found) == {
        (f"criterion/{name}/call", "time") for name in ("fib/20", "fib/21", "sort")
    }
    assert values(found["criterion/sort/call", "time"]) == pytest.approx([100e-9, 105e-9])


def test_nvbench_with_its_samples(tmp_path):
    path = written(tmp_path / "out.json", NVBENCH)
    (tmp_path / "out.json-bin").mkdir()
    times = (1.4e-5, 1.5e-5, 1.5e-5, 1.6e-5)
    (tmp_path / "out.json-bin" / "0.bin").write_bytes(struct.pack("<4f", *times))
    (run,), (found,) = imported(tmp_path, path)
    case = "nvbench/copy[N=1048576,T=F32]/call"
    cold = found[case, "device_time_cold"]
    assert values(cold) == pytest.approx(times)
    assert found[case, "host_time"].estimate == 2.5e-5
    assert found[case, "device_time"].estimate == 1.2e-5
    skipped = found["nvbench/copy/call", "device_time_cold"]
    assert (skipped.outcome, skipped.reason) == ("unsupported", "not enough memory")
    assert run.machine["gpus"] == [{"name": "H200"}]


def test_nvbench_reads_no_file_outside_its_folder(tmp_path):
    (tmp_path / "secret").write_bytes(struct.pack("<f", 42.0))
    for name in ("../secret", "/etc/passwd", "a/../../secret"):
        data = copy.deepcopy(NVBENCH)
        summaries = data["benchmarks"][0]["states"][0]["summaries"]
        summaries[-1]["data"][0]["value"] = name
        with pytest.raises(StoreError, match="outside of its folder"):
            read_file(written(tmp_path / "here" / "out.json", data))


def test_two_benchmarks_of_one_name_are_two_results(tmp_path):
    data = {"results": [HYPERFINE["results"][0], HYPERFINE["results"][0]]}
    _, (found,) = imported(tmp_path, written(tmp_path / "h.json", data))
    assert {case_id for case_id, _ in found} == {
        "hyperfine/sort a.txt/call", "hyperfine/sort a.txt #2/call",
    }  # fmt: skip
    assert len(found) == 4


# ---------------------------------------------------------------- strangers' files


@pytest.mark.parametrize("name", FILES)
def test_one_format_reads_a_file_and_no_other(name):
    readers = [
        module.__name__.rpartition(".")[2] for module in formats() if module.reads(FILES[name])
    ]
    assert readers == [name.replace("-", "_")]


JUNK = st.sampled_from(
    [
        None,
        True,
        -1,
        0,
        10**400,
        float("inf"),
        float("nan"),
        "",
        "x",
        "a\nb\x1b[2J",
        "\ud800",
        [],
        [None],
        {},
        {"a": 1},
    ]
)


def places(value: Any, at: tuple = ()) -> list[tuple]:
    """Where every value in a document is."""
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    return [at, *(place for key, each in inner for place in places(each, (*at, key)))]


@pytest.fixture(scope="module")
def shared_store(tmp_path_factory):
    with Store.open(tmp_path_factory.mktemp("shared") / "x.db") as store:
        yield store


@pytest.mark.parametrize("name", FILES)
@given(data=st.data())
@settings(max_examples=25)
def test_a_changed_file_is_read_or_refused_in_one_line(name, data, shared_store, tmp_path):
    document = copy.deepcopy(FILES[name])
    for _ in range(data.draw(st.integers(1, 3))):
        (*above, last) = data.draw(st.sampled_from(places(document)[1:]))
        target = document
        for key in above:
            target = target[key]
        target[last] = copy.deepcopy(data.draw(JUNK))
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(document))
    said = ""
    try:
        for run, _ in import_files(shared_store, [path]):
            shared_store.results(run=run, samples=True)
            shared_store.delete_run(run.id)
    except StoreError as error:
        said = str(error)
    assert said.isprintable()


def test_a_small_file_that_unpacks_to_a_large_one_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(importing, "LARGEST", 1 << 20)
    path = tmp_path / "bomb.json.gz"
    path.write_bytes(gzip.compress(b" " * (1 << 24)))
    with pytest.raises(StoreError, match="larger than 1 MiB"):
        read_file(path)
    (tmp_path / "large.json").write_bytes(b" " * (1 << 21))
    with pytest.raises(StoreError, match="larger than 1 MiB"):
        read_file(tmp_path / "large.json")


def test_a_run_of_our_own_that_is_there_already_is_refused(tmp_path):
    path = written(tmp_path / "own.json", our_own())
    imported(tmp_path, path)
    with pytest.raises(StoreError, match="has run 20261115-120000-ab12 already"):
        imported(tmp_path, path)


def test_a_later_format_of_our_own_is_refused(tmp_path):
    path = written(tmp_path / "own.json", our_own() | {"schema": "opbench-results/2"})
    with pytest.raises(StoreError, match="format 2 is of a later opbench"):
        read_file(path)


@pytest.mark.parametrize("cut", [10, 40, -1])
def test_a_gzip_file_that_was_cut_is_refused(tmp_path, cut):
    path = tmp_path / "cut.json.gz"
    path.write_bytes(gzip.compress(json.dumps(HYPERFINE).encode())[:cut])
    with pytest.raises(StoreError, match="damaged gzip"):
        read_file(path)


def test_a_folder_without_results_says_so(tmp_path):
    with (
        Store.open(tmp_path / "x.db") as store,
        pytest.raises(StoreError, match="holds no results"),
    ):
        list(import_files(store, [tmp_path]))
