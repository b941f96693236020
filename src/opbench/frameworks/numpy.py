"""NumPy. Its threads are its BLAS library's, which reads the environment once, on import."""

from __future__ import annotations

from dataclasses import dataclass

from opbench.define.program import DRAWN, Program, Tensor
from opbench.frameworks.framework import Framework

#: One for each BLAS that NumPy is built with, and for OpenMP below some of them.
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


#: Domains that are neither drawn from a range nor whole numbers.
MADE = {
    "ones": "np.ones({shape}, dtype={dtype})",
    "zeros": "np.zeros({shape}, dtype={dtype})",
    "signs": "(2 * rng.integers(0, 2, {shape}) - 1).astype({dtype})",
    "spd": (
        "(lambda a: (a @ a.swapaxes(-1, -2) / {n} + np.eye({n})).astype({dtype}))"
        "(rng.standard_normal({shape}))"
    ),
    "lower": (
        "(np.tril(rng.standard_normal({shape}), -1) / {n}"
        " + rng.uniform(1, 2, {shape}[:-1])[..., None] * np.eye({n})).astype({dtype})"
    ),
    "permutation": "np.argsort(rng.random({shape}), -1).astype({dtype})",
    "simplex": (
        "(lambda a: (a / a.sum(-1, keepdims=True)).astype({dtype}))(rng.exponential(size={shape}))"
    ),
}


LAID_OUT = {
    "transposed": "np.ascontiguousarray({}.swapaxes(-1, -2)).swapaxes(-1, -2)",
    "strided": "(lambda t: np.stack((t, t), -1)[..., 0])({})",
}

#: It has no bfloat16 of its own.
DTYPES = (
    *("float64", "float32", "float16", "complex64", "complex128", "bool"),
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
)


def gradient_like(program: Program, part: str) -> str:
    """The numbers of a gradient, as large as `part`."""
    if any(each.repeats for each in program.inputs):
        return f"np.resize(rng.standard_normal({DRAWN}).astype({part}.dtype), {part}.shape)"
    return f"rng.standard_normal({part}.shape)"


@dataclass(frozen=True)
class NumPy(Framework):
    def imports(self) -> str:
        return "import numpy as np"

    def seed(self) -> str:
        # Code that still draws from the global generator is seeded too.
        return "np.random.seed(seed)\nrng = np.random.default_rng(seed)"

    def thread_env(self, threads: int) -> dict[str, str]:
        return dict.fromkeys(THREAD_VARIABLES, str(threads))

    def tensor(self, tensor: Tensor, device: str, grad: bool) -> str:
        text = self.drawn(tensor)
        return LAID_OUT[tensor.layout].format(text) if tensor.layout in LAID_OUT else text

    def drawn(self, tensor: Tensor) -> str:
        """A contiguous array of values from the tensor's domain."""
        shape, domain, dtype = repr(tuple(tensor.shape)), tensor.domain, repr(tensor.dtype)
        if domain.kind in MADE:
            n = tensor.shape[-1] if tensor.shape else 1
            return MADE[domain.kind].format(shape=shape, dtype=dtype, n=n)
        if domain.kind == "file":
            return f"np.fromfile({domain.path!r}, dtype={dtype}).reshape({shape})"
        if domain.kind == "integers":
            numbers = f"rng.integers({int(domain.low)}, {int(domain.high)}, {shape}"
            whole = not tensor.dtype.startswith(("float", "complex"))
            return f"{numbers}, dtype={dtype})" if whole else f"{numbers}).astype({dtype})"
        if tensor.dtype.startswith(("int", "uint")) or tensor.dtype == "bool":
            # A normal or uniform draw would be mostly zeros; the same range as torch's.
            high = 2 if tensor.dtype == "bool" else 100
            return f"rng.integers(0, {high}, {shape}, dtype={dtype})"
        number = DRAWN if tensor.repeats else shape
        drawn = f"rng.standard_normal({number})"
        if domain.kind == "uniform":
            drawn = f"rng.uniform({domain.low}, {domain.high}, {number})"
        if tensor.dtype.startswith("complex"):
            drawn = f"({drawn} + 1j * {drawn})"
        text = f"{drawn}.astype({dtype})"
        return f"np.resize({text}, {shape})" if tensor.repeats else text


# Every other framework imports NumPy as well, so it is the last guess but plain Python.
FRAMEWORK = NumPy(
    "numpy",
    module="numpy",
    rank=900,
    dtypes=DTYPES,
    layouts=tuple(LAID_OUT),
    title="NumPy",
    aliases=("np",),
)
