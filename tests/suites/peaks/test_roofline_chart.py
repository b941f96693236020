"""The roofline drawn: as a table in three formats, and as a picture."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from opbench.case import Case, Work
from opbench.result import Result
from opbench.store.records import StoredResult
from opbench.suites.peaks import roofline_chart
from opbench.suites.peaks import roofline_table as text
from opbench.suites.peaks.limits import peaks_of
from opbench.suites.peaks.roofline import roofline


def stored(name: str, seconds: float, flops: float, moved: float, suite: str = "ops"):
    case = Case(suite, name, "forward", "pass", work=Work(flops, moved), dtype="float32",
                framework="torch")  # fmt: skip
    result = Result(case.hash, "time", "s", estimate=seconds, fingerprint="here", created=86400.0)
    return StoredResult("run", case, result)


@pytest.fixture
def drawn():
    facts = {"here": {"machine": {"model": "one"}}}
    best = [stored("gemm", 0.02, 2e9, 1e6, "peaks"), stored("copy", 0.1, 0, 1e9, "peaks")]
    results = [stored("add", 0.001, 1e6, 5e6), stored("<dot>|", 0.1, 8e9, 1e7)]
    peaks = peaks_of(best, facts)
    return roofline(results, peaks, facts), peaks


def test_the_table_says_rates_limit_and_share(drawn):
    stream = io.StringIO()
    text.to_terminal(*drawn, Console(file=stream, width=140))
    lines = stream.getvalue().splitlines()
    add = next(line.split() for line in lines if "ops/add" in line)
    assert add == ["ops/add/forward", "1.00", "ms", "1", "5", "0.2", "memory", "50", "%"]
    assert lines[-1] == (
        "limits (cpu, 1 thread, measured 1970-01-02): float32 100 GFLOP/s; copy 10 GB/s"
    )


def test_markdown_and_csv_hold_the_same(drawn):
    stream = io.StringIO()
    text.to_markdown(*drawn, stream)
    assert "| ops/&lt;dot>\\|/forward | 100 ms | 80 | 0.1 | 800 | arithmetic | 80 % |" in (
        stream.getvalue()
    )
    stream = io.StringIO()
    text.to_csv(drawn[0], stream)
    header, add, _dot = stream.getvalue().splitlines()
    assert header.startswith("case,framework,device,threads,dtype,seconds,")
    assert add.startswith("ops/add/forward,torch,cpu,1,float32,0.001,")


def test_the_roof_rises_and_then_is_flat(drawn):
    points, peaks = drawn
    (found,) = peaks.values()
    corners = roofline_chart.roof(found, "float32", 0.1, 1000.0)
    assert [(c["intensity"], c["gflops"]) for c in corners] == [
        (0.1, pytest.approx(1.0)),
        (pytest.approx(10.0), pytest.approx(100.0)),
        (1000.0, pytest.approx(100.0)),
    ]
    spec = roofline_chart.drawing(points, peaks).chart().to_dict()
    assert len(spec["layer"]) == 3


def test_pictures_are_written_in_the_format_of_their_name(drawn, tmp_path):
    for name, begins in (("a.png", b"\x89PNG"), ("a.svg", b"<svg")):
        assert roofline_chart.save(*drawn, tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(begins)
    assert not roofline_chart.save([], {}, tmp_path / "none.png")
