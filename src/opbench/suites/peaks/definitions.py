"""What this machine can do at most: the fastest matrix product of each dtype, the fastest copy.

Ordinary benchmarks, so that a peak has an interval, an environment and a script like any other
number. `opbench peaks` runs them; a roofline sets what operators achieve against the best.
"""

from __future__ import annotations

from opbench.case import Work
from opbench.define.definition import Axis, Context, Definition, Point
from opbench.define.program import ITEM_SIZE, POSITIVE, Program, Tensor

SUITE = "peaks"

#: Dtypes whose product is measured.
FULL, HALF = ("float64", "float32"), ("float16", "bfloat16")
DTYPES = (*FULL, *HALF)

#: Large enough that the product, and not what surrounds it, takes the time.
SIZES = (512, 1024)
#: Processors without instructions for a 16-bit type take seconds for a large product of it: 7 s for
#: n = 512 with torch on the machine that this was written on.
SIZES_HALF = (128, 256)
#: What it takes to keep many cores, or a GPU, busy.
SIZES_MANY = (1024, 2048, 4096)
SIZES_CUDA = (2048, 4096, 8192)
#: Several times the caches of most processors, so that a copy goes through memory.
COPIED_MB = (64, 512)

#: The best of both is the machine's: either may have been built with the slower library.
DEFAULT = ("torch", "numpy")
PRODUCT = {
    "torch": "y = torch.mm(a, b)",
    "numpy": "y = np.matmul(a, b)",
    "jax": "y = jnp.matmul(a, b)",
}
COPY = {"torch": "y = b.copy_(a)", "numpy": "np.copyto(b, a)\ny = b", "jax": "y = jnp.copy(a)"}


def definitions() -> list[Definition]:
    return [
        *(
            Definition(
                SUITE,
                name,
                gemm,
                axes={
                    "framework": Axis(default, choices=choices),
                    "dtype": Axis(dtypes),
                    "n": Axis(n, open=True),
                },
            )
            for name, default, choices, dtypes, n in (
                ("gemm", DEFAULT, tuple(PRODUCT), FULL, SIZES),
                ("gemm_half", ("torch",), ("torch", "jax"), HALF, SIZES_HALF),
            )
        ),
        Definition(
            SUITE,
            "copy",
            copy,
            axes={
                "framework": Axis(DEFAULT, choices=tuple(COPY)),
                "mb": Axis(COPIED_MB, open=True),
            },
        ),
    ]


def gemm(point: Point, context: Context) -> Program:
    n, dtype = int(point["n"] or 0), str(point["dtype"])
    return Program(
        PRODUCT[context.framework.name],
        tuple(Tensor(name, (n, n), dtype, POSITIVE) for name in "ab"),
        work=Work(flops=2.0 * n**3, bytes=3.0 * n * n * ITEM_SIZE[dtype]),
    )


def copy(point: Point, context: Context) -> Program:
    elements = int(point["mb"] or 0) * 1_000_000 // 4
    return Program(
        COPY[context.framework.name],
        tuple(Tensor(name, (elements,), "float32", POSITIVE) for name in "ab"),
        work=Work(bytes=2.0 * elements * 4),
    )
