"""A program: the inputs, the set-up and the forward statement of one benchmark at one point.

A definition says *what* is computed; a framework (see `opbench.frameworks`) says how its stages
are spelled. `Program` is what passes from the first to the second, `Source` what comes back.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from opbench.case import UserModule, Work


@dataclass(frozen=True)
class Domain:
    """The values a tensor is filled with. Values decide time: the square root of negative
    numbers was seen to cost 60 times that of positive ones.

    The kinds: `normal`, `uniform` (low, high), `integers` (low, high), `zeros`, `ones`, `signs` (-1
    or 1), `spd` (…, n, n: symmetric positive definite, well conditioned), `lower` (…, n, n: lower
    triangular with a diagonal from 1 to 2), `simplex` (the last axis is positive and sums to 1),
    `permutation` (the last axis holds each of 0 … n-1 once), `file` (the raw numbers in `path`).
    """

    kind: str = "normal"
    low: float = 0.0
    high: float = 1.0
    path: str = ""


NORMAL = Domain("normal")
ONES = Domain("ones")
ZEROS = Domain("zeros")
SIGNS = Domain("signs")
SPD = Domain("spd")
LOWER = Domain("lower")
SIMPLEX = Domain("simplex")
PERMUTATION = Domain("permutation")
#: Well away from zero and from overflow: fit for logarithms, divisions and powers.
POSITIVE = Domain("uniform", 0.5, 1.5)


#: Bytes of an element.
ITEM_SIZE = {
    "float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "int64": 8, "int32": 4, "int16": 2,
    "int8": 1, "uint8": 1, "bool": 1, "complex64": 8, "complex128": 16, "uint16": 2, "uint32": 4,
    "uint64": 8, "float8_e4m3fn": 1, "float8_e5m2": 1,
}  # fmt: skip

#: Of a larger tensor so many normal or uniform numbers are drawn on the CPU, and repeated: drawing
#: them all took longer than measuring (torch on Arm: 22 ns a number). The prime next to 2**20, so
#: that rows differ.
DRAWN = 1048583

#: Layouts other than contiguous: axes exchanged, every other element of a row, channels last.
LAYOUTS = ("transposed", "strided", "channels_last")
#: The numbers of sides for which there is such a thing; other tensors stay contiguous.
LAYOUT_SIDES = {"transposed": range(2, 9), "strided": range(1, 9), "channels_last": range(4, 5)}


def uniform(low: float, high: float) -> Domain:
    return Domain("uniform", low, high)


def integers(low: int, high: int) -> Domain:
    """Whole numbers from `low` up to, and without, `high`."""
    return Domain("integers", low, high)


@dataclass(frozen=True)
class Tensor:
    """An input: a name for it in the source, and how it is made."""

    name: str
    shape: tuple[int, ...]
    dtype: str = "float32"
    domain: Domain = NORMAL
    #: Whether a stage that goes backward asks for its gradient.
    grad: bool = False
    #: A parameter of the model rather than an argument of the call.
    weight: bool = False
    #: How it lies in memory: empty for contiguous, or one of `LAYOUTS`.
    layout: str = ""

    @property
    def repeats(self) -> bool:
        """Whether its numbers are drawn and repeated."""
        return prod(self.shape) > DRAWN


@dataclass(frozen=True)
class Program:
    """One computation. The names `seed`, `grad` and `opt` belong to the stages around it."""

    #: The statement of the forward stage, assigning what `output` reads: `y = torch.mm(x, w)`.
    forward: str
    inputs: tuple[Tensor, ...] = ()
    globals: str = ""
    #: Run once, after the inputs are made.
    setup: str = ""
    #: An expression for the tensor from which a backward stage starts.
    output: str = "y"
    #: What is compared between frameworks, where their layouts differ; empty for `output`.
    compared: str = ""
    #: Gradients that are not those of the input of that name: (input, expression).
    gradients: tuple[tuple[str, str], ...] = ()
    #: Whether a compiler can take the forward statement; a copy to NumPy leaves what it knows.
    compilable: bool = True
    #: Whether that tensor is a single number, such as a loss, which needs no gradient from outside.
    scalar: bool = False
    #: Whether it is a tuple of tensors, from all of which a backward stage starts.
    several: bool = False
    #: Name of a module whose parameters take part in the backward stages.
    module: str = ""
    #: Name of a list of further tensors whose gradients a backward stage clears.
    leaves: str = ""
    #: For the stage `step`: an optimizer, with `{parameters}` where they belong.
    optimizer: str = "torch.optim.SGD({parameters}, lr=1e-3)"
    #: Untimed source before each call of a statement that cannot be repeated as it is.
    before: str = ""
    components: tuple[tuple[str, str], ...] = ()
    preload: tuple[str, ...] = ()
    user: UserModule | None = None
    #: Why this point cannot run, when the definition knows that already.
    unsupported: str = ""
    #: How the outputs of several frameworks are compared before any is timed: one of the ways of
    #: `case.Parity`, or empty where nothing else computes the same.
    parity: str = ""
    #: Factor on the tolerance of the dtype.
    tolerance: float = 1.0
    #: FLOPs and bytes of one call of the forward stage, where there is a formula.
    work: Work | None = None


@dataclass(frozen=True)
class Source:
    """The text of one stage of one program: the fields of a `Case` that are executed."""

    stmt: str
    setup: str = ""
    globals: str = ""
    before: str = ""
    timing_mode: str = "repeatable"
    sync: str = ""
    preload: tuple[str, ...] = ()
    unsupported: str = ""
    #: Variables of the set-up that another framework can be given as well, the gradient that a
    #: backward stage starts from included; and what the stage computes: names and expressions.
    inputs: tuple[str, ...] = ()
    outputs: tuple[tuple[str, str], ...] = ()


def lines(*parts: str) -> str:
    """Pieces of source one below the other, empty ones left out."""
    return "\n".join(part.strip("\n") for part in parts if part.strip())
