"""What operators achieve of what a machine can do: arithmetic on stored results."""

from __future__ import annotations

from dataclasses import replace

import pytest

from opbench.case import Case, Work
from opbench.result import Result, Sample
from opbench.store.records import StoredResult
from opbench.suites.peaks.limits import peaks_of
from opbench.suites.peaks.roofline import roofline

FACTS = {"here": {"machine": {"model": "one"}}, "there": {"machine": {"model": "another"}}}


def stored(
    name: str, seconds: float, flops: float, moved: float, suite: str = "ops", **more
) -> StoredResult:
    where = more.pop("where", "here")
    metric = more.pop("metric", "time")
    case = Case(suite, name, "forward", "pass", work=Work(flops, moved), **more)
    result = Result(case.hash, metric, "s", estimate=seconds, fingerprint=where, created=5.0)
    return StoredResult("run", case, result)


#: 100 GFLOP/s in float32, 10 GB/s: memory limits what does less than ten operations a byte.
PEAKS = [
    stored("gemm", 0.02, 2e9, 1e6, "peaks", dtype="float32"),
    stored("gemm", 0.04, 2e9, 1e6, "peaks", dtype="float32", seed=1),
    stored("gemm", 0.04, 2e9, 1e6, "peaks", dtype="float64"),
    stored("copy", 0.1, 0, 1e9, "peaks", dtype="float32"),
]


def test_peaks_are_the_best_of_each_dtype_and_place():
    fast = stored("gemm", 0.001, 2e9, 1e6, "peaks", dtype="float32", where="there")
    two = stored("gemm", 0.01, 2e9, 1e6, "peaks", dtype="float32", threads=2)
    found = {place[1:]: peaks for place, peaks in peaks_of([*PEAKS, two], FACTS).items()}
    assert found["cpu", 1].flops == {"float32": pytest.approx(1e11), "float64": pytest.approx(5e10)}
    assert found["cpu", 1].bandwidth == pytest.approx(1e10)
    assert found["cpu", 2].flops == {"float32": pytest.approx(2e11)}
    assert len(peaks_of([*PEAKS, fast], FACTS)) == 2, "another machine is another place"


def test_an_operator_is_limited_by_memory_or_by_arithmetic():
    add = stored("add", 0.001, 1e6, 5e6, dtype="float32")  # 0.2 FLOP per byte, 5 GB/s
    dot = stored("dot", 0.1, 8e9, 1e7, dtype="float32")  # 800 FLOP per byte, 80 GFLOP/s
    move = stored("transpose", 0.001, 0, 8e6, dtype="float32")
    points = roofline([add, dot, move], peaks_of(PEAKS, FACTS), FACTS)
    assert [(p.case.name, p.bound, round(p.share or 0, 3)) for p in points] == [
        ("add", "memory", 0.5),
        ("dot", "arithmetic", 0.8),
        ("transpose", "memory", 0.8),
    ]
    assert points[0].flops == pytest.approx(1e9)
    assert points[0].bytes == pytest.approx(5e9)
    assert points[0].intensity == pytest.approx(0.2)


def test_without_peaks_of_that_machine_there_is_a_rate_and_no_share():
    (point,) = roofline(
        [stored("add", 0.001, 1e6, 5e6, where="there")], peaks_of(PEAKS, FACTS), FACTS
    )
    assert (point.bound, point.share) == ("", None)
    assert point.bytes == pytest.approx(5e9)


@pytest.mark.parametrize("missing", ["gemm", "copy"])
def test_with_one_limit_unknown_it_is_unknown_which_is_lower(missing):
    """`opbench peaks` stopped early: with the copy known, memory limits this sum."""
    known = [each for each in PEAKS if each.case.name != missing]
    total = stored("sum", 0.001, 1e6, 5e6, dtype="float32")
    (point,) = roofline([total], peaks_of(known, FACTS), FACTS)
    assert (point.bound, point.share) == ("", None)


def test_what_does_no_arithmetic_needs_the_limit_of_memory_only():
    move = stored("transpose", 0.001, 0, 8e6, dtype="float32")
    (point,) = roofline([move], peaks_of(PEAKS[-1:], FACTS), FACTS)
    assert (point.bound, point.share) == ("memory", pytest.approx(0.8))


def test_on_a_gpu_the_time_it_works_counts_where_it_is_known():
    both = [
        stored("add", 0.004, 1e6, 5e6, metric="host_time", device="cuda"),
        stored("add", 0.002, 1e6, 5e6, metric="device_time", device="cuda"),
    ]
    (point,) = roofline(both, {}, FACTS)
    assert point.result.metric == "device_time"


def test_results_without_a_formula_or_without_a_time_are_left_out():
    plain = stored("add", 0.001, 1e6, 5e6)
    failed = StoredResult(
        "run", plain.case, Result(plain.case.hash, "time", "s", "failed", fingerprint="here")
    )
    memory = stored("add", 4e6, 1e6, 5e6, metric="memory")
    nothing = StoredResult("run", Case("ops", "x", "forward", "pass"), plain.result)
    assert roofline([failed, memory, nothing, *PEAKS], {}, FACTS) == []


def blocks(*values: tuple[float, float, int]) -> tuple[Sample, ...]:
    """(value, CPU share, preemptions) of each block of a tenth of a second."""
    return tuple(
        Sample(value, wall_ns=10**8, cpu_ns=int(share * 10**8), switches=switches)
        for value, share, switches in values
    )


def test_a_limit_is_the_best_sample_that_nothing_disturbed():
    """Of 2 GFLOP: 0.01 s waiting for the core, 0.02 s undisturbed, 0.05 s on a crowded machine."""
    quiet = stored("gemm", 0.05, 2e9, 1e6, "peaks", dtype="float32")
    samples = blocks((0.01, 0.5, 9), (0.02, 0.99, 1), (0.05, 0.4, 9))
    quiet = replace(quiet, result=replace(quiet.result, samples=samples))
    (found,) = peaks_of([quiet], FACTS).values()
    assert found.flops["float32"] == pytest.approx(1e11)
    crowded = replace(quiet, result=replace(quiet.result, samples=samples[2:]))
    assert peaks_of([crowded], FACTS) == {}


def test_truth_values_are_not_held_against_products_of_matrices():
    mask = stored("logical_and", 0.001, 1e9, 5e6, dtype="bool")
    (point,) = roofline([mask], peaks_of(PEAKS, FACTS), FACTS)
    assert point.bound == "memory"
