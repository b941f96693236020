"""Our files read by the tools they are for, and theirs by us: the real ones, in processes."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import page_store
from opbench.report.export import formats
from opbench.store import Store

OPERATORS = 60


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("exchange") / "results.db"
    page_store.fill(path, nights=2)
    return path


@pytest.fixture
def exported(opbench_here, filled: Path, tmp_path: Path):
    def write(name: str, run: str = "night 1", file: str = "out.json") -> Path:
        done = opbench_here("export", run, "-f", name, "-o", tmp_path / file, "--store", filled)
        assert done.returncode == 0, done.stderr
        return tmp_path / file

    return write


def called(*words: str | Path, cwd: Path) -> str:
    # Inside a worker of pytest-xdist, pytest-benchmark disables itself.
    env = {name: value for name, value in os.environ.items() if "XDIST" not in name}
    done = subprocess.run(
        [sys.executable, "-m", *map(str, words)], cwd=cwd, env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# ------------------------------------------------------------------ pyperf


def test_pyperf_reads_our_file(exported, tmp_path):
    path = exported("pyperf")
    shown = called("pyperf", "show", path, cwd=tmp_path)
    assert "ops/matmul[n=256,framework=torch]/forward" in shown
    stats = called("pyperf", "stats", path, cwd=tmp_path)
    assert stats.count("Number of run") == OPERATORS + 1  # and the one with a nasty name
    import pyperf

    suite = pyperf.BenchmarkSuite.load(str(path))
    benchmark = suite.get_benchmark("ops/add[n=64,framework=jax]/forward")
    assert benchmark.get_nrun() == 4  # worker starts
    assert benchmark.get_unit() == "second"
    assert benchmark.median() == pytest.approx(page_store.cost("add", 64, "jax"), rel=0.05)


def test_pyperf_compares_two_of_our_files(exported, tmp_path):
    first, second = exported("pyperf", "night 0", "a.json"), exported("pyperf", file="b.json")
    table = called("pyperf", "compare_to", first, second, cwd=tmp_path)
    assert "ops/add[n=512,framework=torch]/forward" in table
    assert "1.12x slower" in table


def test_pyperf_reads_a_slowdown_as_one_although_the_first_run_was_disturbed(
    opbench_here, tmp_path
):
    """Blocks that waited for other programs are slow in their mean: left in, they would make the
    run that was disturbed look slower than it is."""
    case = page_store.operator("add", 64, "torch")
    with Store.open(tmp_path / "x.db") as store:
        for number, (name, value, disturbed) in enumerate((("a", 1e-5, 3e-5), ("b", 1.8e-5, 0.0))):
            clean = page_store.sampled(case, value, random.Random(number))
            samples = tuple(
                replace(s, value=s.value + disturbed, contended=True, switches=1)
                if disturbed and s.order % 3
                else replace(s, contended=False, switches=0)
                for s in clean.samples
            )
            run = page_store.begin(store, number, name)
            store.add_results(run, [(case, replace(clean, samples=samples))])
            store.finish_run(run)
    for name in "ab":
        done = opbench_here("export", name, "-f", "pyperf", "-o", f"{name}.json", "--store", "x.db")
        assert done.returncode == 0, done.stderr
    shown = called("pyperf", "compare_to", "a.json", "b.json", cwd=tmp_path)
    assert re.search(r"1\.8[01]x slower", shown), shown


def test_an_export_says_how_many_results_it_holds(opbench_here, filled, tmp_path):
    """Of 64: 61 have a value, 3 failed."""
    counts = {
        "csv": 64, "json": 64, "md": 64, "parquet": 64, "pyperf": 61, "pytest-benchmark": 61,
        "github-action-benchmark": 61, "bencher": 61, "pytorch-hud": 61, "pytorch-ci": 61,
    }  # fmt: skip
    assert set(formats()) == set(counts)
    for name, count in counts.items():
        done = opbench_here("export", "night 1", "-f", name, "-o", "out", "--store", filled)
        first, *rest = done.stderr.splitlines()
        assert first == f"{count} results in out", name
        which = "1 time crashed, 1 time unsupported, 1 time failed"
        left_out = [f"3 results left out ({which}): {name} holds only "] if count < 64 else []
        assert [line[: len(text)] for line, text in zip(rest, left_out, strict=True)] == left_out


def test_an_export_says_which_results_it_left_out(opbench_here, filled, tmp_path):
    arguments = ("export", "layers", "-f", "pytest-benchmark", "-o", "out", "--store", filled)
    assert opbench_here(*arguments).stderr.splitlines()[1:] == [
        "36 results left out (36 memory): pytest-benchmark holds only times with at least one "
        "undisturbed sample"
    ]


def held(name: str, path: Path) -> int:
    """How many results a file holds, counted in the file."""
    data = json.loads(path.read_text())
    if name == "bencher":
        return sum(map(len, data.values()))
    if name == "pytorch-ci":
        return sum(bool(entry["times"]) for entry in data["values"].values())
    return len(data if isinstance(data, list) else data["benchmarks"])


@pytest.mark.parametrize(
    "name", ["pyperf", "pytest-benchmark", "github-action-benchmark", "bencher", "pytorch-hud"]
)
def test_the_count_is_that_of_the_file(exported, name):
    assert held(name, exported(name)) == 61


def test_every_run_comes_back_from_our_json(opbench_here, exported, filled, tmp_path):
    done = opbench_here("import", exported("json", "all"), "--store", "back.db")
    assert done.returncode == 0, done.stderr
    with Store.open(filled, create=False) as one, Store.open(tmp_path / "back.db") as other:
        assert other.runs() == one.runs()
        before, after = one.results(samples=True), other.results(samples=True)
    assert {(s.run_id, s.result.key()): s for s in after} == {
        (s.run_id, s.result.key()): s for s in before
    }


def test_memory_is_bytes_in_pyperf(exported):
    import pyperf

    suite = pyperf.BenchmarkSuite.load(str(exported("pyperf", "layers")))
    name = "layers/conv[mode=hooks,batch_size=16]/forward_backward (memory)"
    assert suite.get_benchmark(name).get_unit() == "byte"


def test_a_file_of_pyperf_becomes_a_run(opbench_here, tmp_path):
    called(
        "pyperf", "timeit", "--name", "sum of range", "-p", "3", "-n", "2", "-w", "1",
        "-l", "64", "-o", "perf.json", "sum(range(100))", cwd=tmp_path,
    )  # fmt: skip
    done = opbench_here("import", tmp_path / "perf.json")
    assert done.returncode == 0, done.stderr
    assert "1 benchmark of pyperf" in done.stdout
    import pyperf

    theirs = pyperf.Benchmark.load(str(tmp_path / "perf.json"))
    with Store.open(tmp_path / ".opbench/results.db", create=False) as store:
        (stored,) = store.results(samples=True)
        run = store.find_run("last")
        facts = store.environment(stored.result.fingerprint)
    assert stored.case.id == "pyperf/sum of range/call"
    assert tuple(s.value for s in stored.result.samples) == theirs.get_values()
    assert {s.start for s in stored.result.samples} == {0, 1, 2}
    assert stored.result.low < theirs.mean() < stored.result.high
    assert run.name == "perf"
    assert abs(run.created - theirs.get_dates()[0].replace(tzinfo=None).timestamp()) < 100_000
    assert facts["interpreter"]["version"] == sys.version.split()[0]


def test_there_and_back_through_pyperf(opbench_here, exported, filled, tmp_path):
    path = exported("pyperf")
    assert opbench_here("import", path, "--name", "back").returncode == 0
    with Store.open(filled, create=False) as store:
        before = store.results(run=store.find_run("night 1"), outcome="ok", samples=True)
    assert any(v.contended for s in before for v in s.result.samples)
    with Store.open(tmp_path / ".opbench/results.db", create=False) as store:
        after = store.results(run=store.find_run("back"), samples=True)
    ours = {s.case.id: sorted(v.value for v in s.result.samples if not v.contended) for s in before}
    theirs = {s.case.name: sorted(v.value for v in s.result.samples) for s in after}
    assert ours == theirs


# -------------------------------------------------------- pytest-benchmark


def test_pytest_benchmark_compares_our_files(exported, tmp_path):
    exported("pytest-benchmark", "night 0", "0001_a.json")
    exported("pytest-benchmark", "night 1", "0002_b.json")
    shown = called(
        "pytest_benchmark", "compare", "0001_a.json", "0002_b.json", "--columns=median,rounds",
        cwd=tmp_path,
    )  # fmt: skip
    assert "ops/matmul[n=1024,framework=numpy]/forward" in shown
    rows = [line for line in shown.splitlines() if line.startswith("ops/matmul[n=512")]
    assert len(rows) == 6
    rounds = [int(line.split()[-1]) for line in rows]
    assert all(16 < each <= 32 for each in rounds)
    assert min(rounds) < 32, "disturbed blocks are left out"


def test_our_statistics_are_pytest_benchmark_s():
    from pytest_benchmark.stats import Stats

    from opbench.report.export.pytest_benchmark import stats

    theirs = Stats()
    values = [1.0, 1.2, 0.9, 1.1, 5.0, 1.05, 1.15, 0.95]
    for value in values:
        theirs.update(value)
    ours, known = stats(values), theirs.as_dict()
    for name in ("min", "max", "mean", "stddev", "rounds", "median", "ops", "total"):
        assert ours[name] == pytest.approx(known[name]), name
    assert set(known) <= set(ours)


BENCHMARKS = """
import pytest

@pytest.mark.parametrize("n", [10, 1000])
def test_sum(benchmark, n):
    benchmark(sum, range(n))

def test_plain(benchmark):
    benchmark(len, "abc")
"""


def test_a_file_of_pytest_benchmark_becomes_a_run(opbench_here, tmp_path):
    (tmp_path / "test_them.py").write_text(BENCHMARKS)
    called(
        "pytest", "test_them.py", "-q", "-p", "no:cacheprovider", "--benchmark-json", "with.json",
        "--benchmark-max-time=0.05", "--benchmark-min-rounds=5",
        cwd=tmp_path,
    )  # fmt: skip
    done = opbench_here("import", tmp_path / "with.json")
    assert done.returncode == 0, done.stderr
    assert "3 benchmarks of pytest-benchmark" in done.stdout
    written = json.loads((tmp_path / "with.json").read_text())
    with Store.open(tmp_path / ".opbench/results.db", create=False) as store:
        results = store.results(samples=True)
    ids = {stored.case.id for stored in results}
    assert ids == {
        "pytest-benchmark/test_them.py::test_sum[n=10]/call",
        "pytest-benchmark/test_them.py::test_sum[n=1000]/call",
        "pytest-benchmark/test_them.py::test_plain/call",
    }
    plain = next(s for s in results if "plain" in s.case.id)
    theirs = next(b for b in written["benchmarks"] if b["name"] == "test_plain")
    assert [s.value for s in plain.result.samples] == theirs["stats"]["data"]
    assert [w.code for w in plain.result.warnings] == ["few-starts"]


def test_without_data_the_median_is_what_is_known(opbench_here, exported, tmp_path):
    path = exported("pytest-benchmark")
    data = json.loads(path.read_text())
    for benchmark in data["benchmarks"]:
        del benchmark["stats"]["data"]
    path.write_text(json.dumps(data))
    assert opbench_here("import", path, "--name", "medians").returncode == 0
    with Store.open(tmp_path / ".opbench/results.db", create=False) as store:
        stored = store.results(run=store.find_run("medians"), samples=True)
    assert len(stored) == len(data["benchmarks"])
    assert all(s.result.estimate and not s.result.samples for s in stored)
    assert {w.code for s in stored for w in s.result.warnings} == {"no-samples"}


def test_imported_runs_are_compared_and_drawn_like_any(opbench_here, exported, tmp_path):
    opbench_here("import", exported("pyperf", "night 0", "a.json"), "--name", "before")
    opbench_here("import", exported("pyperf", "night 1", "b.json"), "--name", "after")
    done = opbench_here("compare", "before", "after", "--format", "json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    (comparison,) = found["comparisons"]
    slower = [row["case"] for row in comparison["rows"] if row["verdict"] == "slower"]
    assert slower
    assert all("ops/add[" in name for name in slower)
    assert opbench_here("report", "after", "-o", "page.html").returncode == 0
    assert "before" in (tmp_path / "page.html").read_text(encoding="utf-8")


# --------------------------------------------------------------- bad files


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("not json", "is not JSON"),
        ("[1, 2]", "is not a file of asv, criterion, Google Benchmark, hyperfine, nvbench"),
        ('{"version": "0.5", "benchmarks": []}', "pyperf convert"),
        ('{"version": "1.0", "benchmarks": []}', "holds no benchmarks"),
        ('{"version": "1.0", "benchmarks": [{"runs": [{"values": ["x"]}]}]}', "not a number"),
        ('{"version": "1.0", "benchmarks": {"a": 1}}', "not a list"),
        ('{"machine_info": {}, "benchmarks": [{"stats": {}}]}', "neither data nor a median"),
        ('{"machine_info": 3, "benchmarks": []}', "not an object"),
        ("[" * 100_000, "is not JSON"),
    ],
)
def test_what_is_wrong_with_a_file_is_one_line(opbench_here, tmp_path, content, said):
    (tmp_path / "bad.json").write_text(content)
    done = opbench_here("import", tmp_path / "bad.json")
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_same_file_is_not_imported_twice(opbench_here, exported, tmp_path):
    path = exported("pyperf")
    assert opbench_here("import", path).returncode == 0
    again = opbench_here("import", path)
    assert again.returncode == 2
    assert "was imported before, as run" in again.stderr


def test_a_missing_file_is_one_line(opbench_here):
    done = opbench_here("import", "nothing.json")
    assert done.returncode == 2
    assert "file not found: nothing.json" in done.stderr


# ----------------------------------------------------- services and tables


def test_github_action_benchmark(exported):
    entries: list[dict[str, Any]] = json.loads(exported("github-action-benchmark").read_text())
    names = [entry["name"] for entry in entries]
    assert len(set(names)) == len(names) == OPERATORS + 1
    matmul = next(e for e in entries if "matmul[n=512,framework=torch]" in e["name"])
    assert matmul["unit"] == "ns"
    assert matmul["value"] == pytest.approx(page_store.cost("matmul", 512, "torch") * 1e9, rel=0.02)
    assert matmul["range"].startswith("± ")


#: From bencher.dev/docs/reference/bencher-metric-format.
BMF = {
    "$schema": "http://json-schema.org/draft-07/schema",
    "type": "object",
    "patternProperties": {
        ".+": {
            "type": "object",
            "patternProperties": {
                ".+": {
                    "type": "object",
                    "properties": {
                        "value": {"type": "number"},
                        "lower_value": {"type": "number"},
                        "upper_value": {"type": "number"},
                    },
                    "required": ["value"],
                }
            },
        }
    },
}


def test_bencher_metric_format(exported):
    import jsonschema

    found = json.loads(exported("bencher", "layers").read_text())
    jsonschema.validate(found, BMF)
    name = "layers/conv[mode=hooks,batch_size=16]/forward_backward"
    assert set(found[name]) == {"latency", "memory"}
    latency = found[name]["latency"]
    assert latency["lower_value"] < latency["value"] < latency["upper_value"]
    assert 1e5 < latency["value"] < 1e7  # nanoseconds


#: The columns of pytorch/test-infra's clickhouse_db_schema/oss_ci_benchmark_v3/schema.sql that a
#: record fills; the rest is added by its action.
TEXTS = {"type": "object", "additionalProperties": {"type": "string"}}
HUD = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["benchmark", "model", "metric"],
        "additionalProperties": False,
        "properties": {
            "benchmark": {
                "type": "object", "required": ["name"], "additionalProperties": False,
                "properties": {"name": {"type": "string"}, "mode": {"type": "string"},
                               "dtype": {"type": "string"}, "extra_info": TEXTS},
            },
            "model": {
                "type": "object", "required": ["name"], "additionalProperties": False,
                "properties": {
                    "name": {"type": "string"}, "type": {"type": "string"},
                    "backend": {"type": "string"}, "extra_info": TEXTS,
                    "origins": {"type": "array", "items": {"type": "string"}},
                },
            },
            "inputs": {
                "type": "object",
                "additionalProperties": {
                    "type": "object", "additionalProperties": False,
                    "properties": {"dtype": {"type": "string"}, "extra_info": TEXTS},
                },
            },
            "metric": {
                "type": "object", "required": ["name", "benchmark_values"],
                "additionalProperties": False,
                "properties": {
                    "name": {"type": "string"}, "target_value": {"type": "number"},
                    "benchmark_values": {"type": "array", "items": {"type": "number"}},
                    "extra_info": TEXTS,
                },
            },
        },
    },
}  # fmt: skip


def test_pytorch_hud(exported):
    import jsonschema

    found = json.loads(exported("pytorch-hud", "layers").read_text())
    jsonschema.validate(found, HUD)
    name = "layers/conv[mode=hooks,batch_size=16]/forward_backward"
    own = {each["metric"]["name"]: each for each in found if each["model"]["name"] == name}
    latency, memory = own["latency"], own["memory"]
    assert latency["benchmark"]["mode"] == "training"
    assert 1e2 < latency["metric"]["benchmark_values"][0] < 1e4  # microseconds
    assert latency["inputs"]["batch_size"]["extra_info"] == {"value": "16"}
    assert memory["metric"]["extra_info"]["unit"] == "bytes"
    assert latency["benchmark"]["extra_info"]["arch"] == "EPYC 9654"


def test_parquet_keeps_types_and_samples(exported):
    import pandas

    frame = pandas.read_parquet(exported("parquet", file="out.parquet"))
    row = frame[frame["case_id"] == "ops/exp[n=128,framework=torch]/forward"].iloc[0]
    assert row["label.n"] == 128
    assert row["estimate"] == pytest.approx(page_store.cost("exp", 128, "torch"), rel=0.02)
    assert len(row["samples"]) == 32
    assert sorted(set(row["starts"])) == [0, 1, 2, 3]
    assert str(frame["created"].dtype).startswith("datetime64")
    assert set(frame["outcome"]) == {"ok", "crashed", "failed", "unsupported"}


def test_our_json_is_what_its_schema_says(opbench_here, exported, filled, tmp_path):
    import jsonschema

    schema = json.loads(opbench_here("export", "--schema").stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    for run in ("night 1", "layers", "all"):
        data = json.loads(exported("json", run).read_text(encoding="utf-8"))
        assert list(validator.iter_errors(data)) == []
    broken = json.loads(exported("json").read_text(encoding="utf-8"))
    del broken["results"][0]["outcome"]
    assert len(list(validator.iter_errors(broken))) == 1


def test_an_unknown_format_names_the_nearest(opbench_here, filled):
    done = opbench_here("export", "night 1", "-f", "pytest", "--store", filled)
    assert done.returncode == 2
    assert "pytest-benchmark" in done.stderr
