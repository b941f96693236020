"""Do two outputs agree? A pure function of two arrays, with a tolerance for their dtype.

An element may differ by a share of its own size and of the typical size of the whole: what a
matrix product loses by cancellation in one element is small beside the others, not beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy

#: Some hundred roundings of each type: frameworks add in different orders and take different
#: polynomials, and a mistake in a parameter (an epsilon of 1e-3 for 1e-5) still shows.
TOLERANCE = {
    "float64": 1e-8, "complex128": 1e-8, "float32": 1e-4, "complex64": 1e-4, "float16": 1e-2,
    "bfloat16": 5e-2,
}  # fmt: skip
#: By default GPUs round the inputs of float32 products and convolutions to ten bits (TF32).
TOLERANCE_CUDA = {**TOLERANCE, "float32": 5e-3, "complex64": 5e-3}
#: Equal values may be put in any order, and halves rounded up or down: so few elements may differ.
FEW = 0.005
#: Standard errors that the means of two random samples may lie apart.
SIGMAS = 6.0
#: And by how much their spreads may differ, beyond what chance explains.
SPREAD = 0.1


@dataclass(frozen=True)
class Output:
    """What one child computed under one name."""

    name: str
    dtype: str
    #: Of the whole; the array may be an evenly spread sample of it.
    shape: tuple[int, ...]
    values: numpy.ndarray

    @classmethod
    def read(cls, header: dict[str, Any]) -> Output:
        """From a raw file and the header that came with it."""
        import numpy

        dtype = str(header["dtype"])
        # NumPy has neither; what is held in eight bits is compared bit by bit.
        kind = "uint16" if dtype == "bfloat16" else "uint8" if "float8" in dtype else dtype
        values = numpy.fromfile(header["file"], dtype=kind)
        if dtype == "bfloat16":
            values = (values.astype("uint32") << 16).view("float32")
        return cls(str(header["name"]), dtype, tuple(map(int, header["shape"])), values)


def disagreement(
    here: Output, there: Output, compare: str, tolerance: float = 1.0, device: str = "cpu"
) -> str:
    """How `here` differs from `there`, the reference, in one line; empty when they agree."""
    if _essential(here.shape) != _essential(there.shape):
        return f"its shape is {_text(here.shape)} and not {_text(there.shape)}"
    if compare == "shape" or not here.values.size:
        return ""
    if compare == "statistics":
        return _statistics(here, there)
    allowed = _tolerance(here.dtype, there.dtype, device) * tolerance
    share, where = _differing(here, there, allowed)
    if share == 0 or (compare == "ties" and share <= FEW):
        return ""
    return f"{where}; {share:.2%} of its elements differ" if share < 1 else where


def _essential(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Axes of length one are a matter of taste: MXNet knows no scalars."""
    return tuple(length for length in shape if length != 1)


def _tolerance(here: str, there: str, device: str) -> float:
    """That of the coarser of two types; none where both hold whole numbers."""
    known = TOLERANCE_CUDA if device.startswith("cuda") else TOLERANCE
    return max(known.get(here, 0.0), known.get(there, 0.0))


def _differing(here: Output, there: Output, allowed: float) -> tuple[float, str]:
    """The share of elements that differ, and the worst of them in words."""
    import numpy

    mine, other = here.values, there.values
    if _equal(mine, other):
        return 0.0, ""
    if not allowed and mine.dtype.kind in "iub" and other.dtype.kind in "iub":
        wrong = mine != other
        error = numpy.where(wrong, 1.0, 0.0)
        limit = numpy.zeros_like(error)
    else:
        mine, other = _plain(mine), _plain(other)
        finite = numpy.isfinite(mine) & numpy.isfinite(other)
        # Infinities agree with themselves, and what is no number with what is none.
        same = (mine == other) | (numpy.isnan(mine) & numpy.isnan(other))
        with numpy.errstate(invalid="ignore", over="ignore"):
            error = numpy.where(same, 0.0, numpy.where(finite, abs(mine - other), numpy.inf))
            usual = numpy.sqrt(numpy.mean(numpy.square(other[finite]))) if finite.any() else 0.0
            limit = allowed * (numpy.where(finite, abs(other), 0.0) + usual)
        wrong = error > limit
    if not wrong.any():
        return 0.0, ""
    worst = int(numpy.argmax(numpy.where(wrong, error, -1.0)))
    found, right = float(mine[worst]), float(other[worst])
    off = abs(found - right)
    words = f"it has {found:.6g} where the reference has {right:.6g}"
    if numpy.isfinite(off):
        words += f" (off by {off:.2g}, at most {float(limit[worst]):.1g} allowed)"
    return float(wrong.mean()), words


def _equal(mine: numpy.ndarray, other: numpy.ndarray) -> bool:
    """To the bit, as most elementwise operators are: errors take a hundred times as long to compute
    as this takes to see."""
    import numpy

    same_kind = mine.dtype == other.dtype and mine.shape == other.shape
    return same_kind and numpy.array_equal(mine.view("uint8"), other.view("uint8"))


def _plain(values: numpy.ndarray) -> numpy.ndarray:
    """As float64; of complex numbers, real and imaginary parts one after the other."""
    if values.dtype.kind == "c":
        values = values.view("float32" if values.dtype.itemsize == 8 else "float64")
    return values.astype("float64")


def _statistics(here: Output, there: Output) -> str:
    mine, other = _plain(here.values), _plain(there.values)
    if len(mine) < 2:
        return ""
    means = float(mine.mean()), float(other.mean())
    spreads = float(mine.std()), float(other.std())
    error = (spreads[0] ** 2 / len(mine) + spreads[1] ** 2 / len(other)) ** 0.5
    if not abs(means[0] - means[1]) <= SIGMAS * error + 1e-6 * abs(means[1]):
        return f"its mean is {means[0]:.4g} and not {means[1]:.4g}"
    slack = SPREAD + SIGMAS / len(mine) ** 0.5
    if not abs(spreads[0] - spreads[1]) <= slack * max(spreads):
        return f"its standard deviation is {spreads[0]:.4g} and not {spreads[1]:.4g}"
    return ""


def _text(shape: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, shape))})"
