"""Numbers for people: `12.3 µs ± 1.2 %`, `4.19 MB`, `1,234,567`.

Three significant digits, four when the interval is narrow enough to deserve them. Bytes are decimal
(1 kB = 1000 B), as on the label of a memory stick and in the SI.
"""

from __future__ import annotations

import math
from datetime import datetime, timezone

#: Unit of a metric → the scales a person reads it in, smallest first.
SCALES: dict[str, tuple[tuple[float, str], ...]] = {
    "s": ((1e-9, "ns"), (1e-6, "µs"), (1e-3, "ms"), (1.0, "s")),
    "J": ((1e-6, "µJ"), (1e-3, "mJ"), (1.0, "J")),
    "bytes": ((1.0, "B"), (1e3, "kB"), (1e6, "MB"), (1e9, "GB"), (1e12, "TB")),
}

#: Units counted one by one: whole numbers, with thousands separators.
COUNTED = ("count", "instructions")

#: An interval narrower than this (relative, one side) earns the estimate a fourth digit.
NARROW = 0.005

#: Anything smaller is reported as no change.
SMALLEST_CHANGE = 1e-4

MISSING = "–"


def format_value(value: float | None, unit: str, digits: int = 3) -> str:
    if value is None:
        return MISSING
    if not math.isfinite(value):
        return f"{value} {unit_name(unit)}".rstrip()
    if unit in COUNTED:
        text = f"{value:,.0f}" if value == round(value) else f"{value:,.1f}"
        return f"{text} {unit_name(unit)}".rstrip()
    scales = SCALES.get(unit)
    if scales is None:
        return f"{_significant(value, digits)} {unit}".rstrip()
    if value == 0:
        return f"0 {unit_name(unit)}"
    factor, symbol = _scale(value, scales, digits)
    scaled = value / factor
    if unit == "bytes" and factor == 1.0 and scaled == round(scaled):
        return f"{scaled:.0f} {symbol}"
    return f"{_significant(scaled, digits)} {symbol}"


def format_interval(
    estimate: float | None, low: float | None, high: float | None, unit: str
) -> str:
    """`12.3 µs ± 1.2 %`; the value alone where there is no interval, or one of no width."""
    if estimate is None:
        return MISSING
    relative = None
    if low is not None and high is not None and estimate and math.isfinite(estimate):
        relative = (high - low) / 2 / abs(estimate)
    if relative is None or relative == 0:
        return format_value(estimate, unit)
    value = format_value(estimate, unit, digits=4 if relative < NARROW else 3)
    return f"{value} ± {format_half(relative)}"


def format_half(relative: float) -> str:
    """Half the width of an interval: a percentage, never below the smallest that is written."""
    return format_percent(max(relative, SMALLEST_CHANGE))


def format_percent(fraction: float) -> str:
    """`1.2 %`, `0.04 %`, `35 %`: two significant digits, as much as an interval knows of itself."""
    percent = fraction * 100
    if not math.isfinite(percent):
        return f"{percent} %"
    if abs(percent) < 0.01:
        return "<0.01 %" if percent else "0 %"
    decimals = 0 if abs(percent) >= 9.95 else 1 if abs(percent) >= 0.995 else 2
    return f"{percent:.{decimals}f} %"


def format_change(ratio: float) -> str:
    """`+12 %`, `−3.4 %`: a ratio as what it adds or takes away."""
    change = ratio - 1
    if abs(change) < SMALLEST_CHANGE:
        return "0 %"
    return f"{'+' if change > 0 else '−'}{format_percent(abs(change))}"


#: Half the width of an interval of a ratio, relative to the ratio, from which on one number after ±
#: misleads: the ends are at equal distance as factors, so the lower is 22 % away here, the upper
#: 28 %, and farther out ± would put the lower below zero.
LOPSIDED = 0.25


def format_ratio(value: float, low: float, high: float) -> str:
    """`1.500 [1.498, 1.502]`; what was counted has no interval."""
    if low == high:
        return f"{value:.4g}"
    # Three decimals where a change of a percent is the question; digits where it is a thousandfold,
    # and where the interval leaves no more than the first of them.
    narrow = (high - low) / 2 < LOPSIDED * value
    form = ".3f" if narrow and 0.1 <= value < 100 else ".3g"
    return f"{value:{form}} [{low:{form}}, {high:{form}}]"


def format_factor(value: float, low: float, high: float) -> str:
    """A ratio for a table of many: `2.27 ± 5.2 %`, and `1.09 [0.372, 3.19]` where it is wide."""
    half = (high - low) / 2 / value
    if half >= LOPSIDED:
        return format_ratio(value, low, high)
    return f"{value:.3g}" + (f" ± {format_half(half)}" if half else "")


def format_time(seconds: float | None, shape: str) -> str:
    """Seconds since the epoch in UTC, as `strftime` writes `shape`; empty for a time never set."""
    if not seconds:
        return ""
    try:
        return datetime.fromtimestamp(seconds, tz=timezone.utc).strftime(shape)
    except (OverflowError, ValueError, OSError):  # a year that no calendar has
        return "?"


def unit_name(unit: str) -> str:
    """What stands after a number that is not scaled. A count needs no word: its metric is one."""
    return {"bytes": "B", **dict.fromkeys(COUNTED, "")}.get(unit, unit)


def _scale(value: float, scales: tuple[tuple[float, str], ...], digits: int) -> tuple[float, str]:
    """The largest scale in which the *rounded* value is at least 1: 999.96 ns reads 1.00 µs."""
    rounded = abs(float(f"{value:.{digits - 1}e}"))
    # A hair below the scale still counts: the factors and the rounded value are binary floats.
    fitting = [scale for scale in scales if rounded >= scale[0] * (1 - 1e-12)]
    return fitting[-1] if fitting else scales[0]


def _significant(value: float, digits: int) -> str:
    if value == 0:
        return "0"
    exponent = int(f"{value:.{digits - 1}e}".split("e")[1])
    if exponent >= 7 or exponent < -4:
        return f"{value:.{digits - 1}e}"
    return f"{value:,.{max(0, digits - 1 - exponent)}f}"
