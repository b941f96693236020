"""A substitute for Arm's Performance Libraries, which MXNet's wheel for aarch64 needs and lacks.

The wheel is linked against `libarmpl_lp64_mp.so` and two companions that Arm distributes on its
own. Of the first it calls some fifty functions of BLAS and LAPACK, of the others none that the C
library lacks. So libraries of these names are built next to the wheel's own: one whose functions
jump to those of OpenBLAS (PyPI's `scipy-openblas32`, which prefixes their names), and two that are
empty. Where Arm's libraries are installed, or the machine is not aarch64, nothing is built.
Products and factorisations then take OpenBLAS's time, not Arm's; the environment has a note.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from opbench import children

LIBRARY = "libarmpl_lp64_mp.so"
EMPTY = ("libamath.so", "libastring.so")
OPENBLAS = "scipy-openblas32==0.3.34.237.2"
NOTE = (
    "BLAS and LAPACK are OpenBLAS's (scipy-openblas32), as Arm's Performance Libraries, which this "
    "wheel was built for, are not installed: products and factorisations take OpenBLAS's time"
)

#: Everything that libmxnet.so 1.9.1 leaves undefined and neither it nor the C, C++ and Fortran
#: runtimes define (`nm -D --undefined-only`), by precision.
LAPACKE = (
    *("geev", "gelqf", "gesdd", "gesv", "gesvd"),
    *("getrf", "getri", "orglq", "potrf", "potri", "syevd"),
)
LAPACK = ("gels_", "geqrf_", "gesdd_", "gesv_", "getrf_", "posv_", "potrf_")
CBLAS = ("dot", "gemm", "ger", "syrk", "trmm", "trsm")
SYMBOLS = (
    *(f"LAPACKE_{precision}{name}" for precision in "sd" for name in LAPACKE),
    *(f"{precision}{name}" for precision in "sd" for name in LAPACK),
    *(f"cblas_{precision}{name}" for precision in "sd" for name in CBLAS),
    "cblas_saxpy",
    "cblas_cgemm",
    "cblas_zgemm",
)


class CannotBuild(Exception):
    """Why there is no substitute, in one line."""


def make(site_packages: Path) -> str:
    """Build the libraries next to MXNet's own; returns a note for readers of results."""
    target = site_packages / "mxnet"
    openblas = site_packages / "scipy_openblas32" / "lib"
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "g++", "clang"))), None)
    if compiler is None:
        raise CannotBuild("a C compiler is needed to substitute Arm's Performance Libraries")
    with children.temporary_folder("opbench-armpl-") as folder:
        jumps = folder / "jumps.s"
        jumps.write_text("".join(_jump(name) for name in SYMBOLS))
        empty = folder / "empty.s"
        empty.write_text("")
        libraries = [f"-L{openblas}", "-lscipy_openblas", "-Wl,--no-undefined"]
        rpath = "-Wl,-rpath,$ORIGIN/../scipy_openblas32/lib"
        _link([compiler, str(jumps), *libraries, rpath], target / LIBRARY)
        for name in EMPTY:
            _link([compiler, str(empty)], target / name)
    return NOTE


def _jump(name: str) -> str:
    """A function that jumps to another one, whatever its arguments."""
    return f".globl {name}\n.type {name}, %function\n{name}:\n    b scipy_{name}\n"


def _link(command: list[str], library: Path) -> None:
    words = [*command, "-shared", "-nostartfiles", f"-Wl,-soname,{library.name}"]
    done = children.run(children.program(*words, "-o", str(library)))
    if done.returncode:
        errors = done.stderr.strip().splitlines() or ["no reason given"]
        raise CannotBuild(f"{library.name} was not linked: {errors[-1]}")
