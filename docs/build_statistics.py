"""Draws the picture of docs/statistics.md from the kept samples of `perf.holdout`.

    python docs/build_statistics.py

Two cases, twelve worker starts each: one whose starts agree, one whose starts do not.
"""

from __future__ import annotations

import sys
from pathlib import Path

from opbench.report.charts.chart import Chart, side_by_side
from opbench.report.charts.samples import samples
from opbench.result import Result
from opbench.sampling.design import estimate_of

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from perf.holdout.samples import DATA, Measured, read  # noqa: E402

PICTURE = ROOT / "docs" / "images" / "starts.svg"
STARTS, WIDTH = 12, 300
#: The name of the pair, and which side of it; the statement.
SHOWN = {
    "z @ z": ("matmul: z @ z | F.linear(z, z)", 0),
    "x.sum()": ("reduction: x.sum() | x.mean()", 0),
}


def main() -> None:
    kept = read(sorted(DATA.glob("*.npz"))[0])
    charts = [chart(kept, stmt, *which) for stmt, which in SHOWN.items()]
    side_by_side(charts, "Twelve worker starts of the same code").save(PICTURE)
    print(f"wrote {PICTURE.relative_to(ROOT)}")


def chart(kept: Measured, stmt: str, name: str, side: int) -> Chart:
    by_start = kept.samples(kept.names.index(name), side)
    taken = tuple(sample for start in range(STARTS) for sample in by_start[start])
    found = estimate_of(taken)
    assert found is not None
    result = Result(
        "", "time", "s", estimate=found.value, low=found.low, high=found.high, samples=taken
    )
    drawing = samples(result, f"{stmt}: ± {found.half_width:.1%}")
    assert drawing is not None
    return drawing.chart(width=WIDTH)


if __name__ == "__main__":
    main()
