"""What this machine can do at most: the fastest matrix product of each dtype, the fastest copy.

Ordinary benchmarks, so that a peak has an interval, an environment and a script like any other
number. `opbench peaks` runs them; a roofline sets what operators achieve against the best.
"""

from __future__ import annotations

from opbench.case import Work
from opbench.define.definition import Axis, Context, Definition, Point
from opbench.define.program import POSITIVE, Program, Tensor

SUITE = "peaks"

BYTES = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2}
DTYPES = tuple(BYTES)

#: Large enough that the product, and not what surrounds it, takes the time; on a GPU more is
#: needed to keep it busy.
SIZES = (512, 1024, 2048)
SIZES_CUDA = (2048, 4096, 8192)
#: A processor without instructions for a 16-bit type takes seconds for a large product of it, and
#: is no faster than with a small one.
LARGEST_HALF_ON_CPU = 1024
#: Several times the caches of large servers, so that a copy goes through memory.
COPIED_MB = (64, 512)

PRODUCT = {
    "torch": "y = torch.mm(a, b)",
    "numpy": "y = np.matmul(a, b)",
    "jax": "y = jnp.matmul(a, b)",
}
COPY = {"torch": "y = b.copy_(a)", "numpy": "np.copyto(b, a)\ny = b", "jax": "y = jnp.copy(a)"}


def definitions() -> list[Definition]:
    frameworks = Axis(("torch",), choices=tuple(PRODUCT))
    return [
        Definition(
            SUITE,
            "gemm",
            gemm,
            axes={
                "framework": frameworks,
                "dtype": Axis(DTYPES),
                "n": Axis(SIZES, open=True),
            },
        ),
        Definition(
            SUITE,
            "copy",
            copy,
            axes={"framework": frameworks, "mb": Axis(COPIED_MB, open=True)},
        ),
    ]


def gemm(point: Point, context: Context) -> Program:
    n, dtype = int(point["n"] or 0), str(point["dtype"])
    half = BYTES[dtype] < 4 and context.device == "cpu"
    return Program(
        PRODUCT[context.framework.name],
        tuple(Tensor(name, (n, n), dtype, POSITIVE) for name in "ab"),
        work=Work(flops=2.0 * n**3, bytes=3.0 * n * n * BYTES[dtype]),
        unsupported=(
            f"on a processor, 16-bit products are measured up to n={LARGEST_HALF_ON_CPU}"
            if half and n > LARGEST_HALF_ON_CPU
            else ""
        ),
    )


def copy(point: Point, context: Context) -> Program:
    elements = int(point["mb"] or 0) * 1_000_000 // 4
    return Program(
        COPY[context.framework.name],
        tuple(Tensor(name, (elements,), "float32", POSITIVE) for name in "ab"),
        work=Work(bytes=2.0 * elements * 4),
    )
