"""One entry of the operator catalogue: what an operator computes, said once for every framework.

An entry names the operator's parameters with a value for each size class, the domain of each input
(a logarithm of negative numbers measures how NaN is handled), the work it does, and how each
framework spells it. Adding an operator is adding one entry to the file of its category.

A spelling is text over the names of the inputs, `{parameter}` standing for a parameter's value:
an expression (`torch.sum(data, {axis})`), or statements that assign `y`. For ONNX it is calls of
ONNX operators in the same manner: `ReduceSum(data, [{axis}], keepdims=0)`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from types import SimpleNamespace
from typing import Any

from opbench import frameworks
from opbench.define.program import ITEM_SIZE, NORMAL, Domain

SIZES = ("small", "typical", "large", "skewed")

#: The frameworks and runtimes an entry may be spelled in, and the axis `framework` may name.
FRAMEWORKS = tuple(framework.name for framework in frameworks.libraries())

FLOATS = ("float32", "float64", "float16", "bfloat16")
#: Factorisations exist in full precision only, in every framework.
FULL = ("float32", "float64")
INTEGERS = ("int32", "int64", "int8")
#: For what compares or counts.
ANY = (*FLOATS, *INTEGERS)
COMPLEX, FLOAT8 = "complex64", "float8_e4m3fn"
#: For functions that are analytic, sums and products of them.
ANALYTIC = (*FLOATS, COMPLEX)
#: For what adds and multiplies.
NUMBERS = (*ANY, COMPLEX)
#: For what moves elements and computes nothing: all there are.
ALL = (*NUMBERS, FLOAT8)

#: Values of the parameters at one point, as attributes; `dtype` is among them.
Values = SimpleNamespace
Shape = tuple[int, ...]


class DType(str):
    """A parameter that names a dtype: each framework writes it in its own way."""


@dataclass(frozen=True)
class Input:
    """A tensor the operator is given."""

    name: str
    domain: Domain | Callable[[Values], Domain] = NORMAL
    #: Empty for the dtype of the case; indices, labels and masks have one of their own.
    dtype: str = ""
    #: Whether a backward stage asks for its gradient.
    grad: bool = True
    #: A parameter of the model: an exported graph contains it, so that it is prepared once.
    weight: bool = False
    #: Where its shape follows from parameters; None where it is a parameter of the same name.
    shape: Callable[[Values], Shape] | None = None

    def shape_at(self, values: Values) -> Shape:
        return tuple(self.shape(values) if self.shape else getattr(values, self.name))

    def dtype_at(self, values: Values) -> str:
        return self.dtype or str(values.dtype)

    def domain_at(self, values: Values) -> Domain:
        return self.domain if isinstance(self.domain, Domain) else self.domain(values)


def weight(name: str, domain: Domain = NORMAL, **more: Any) -> Input:
    """A parameter of the model."""
    return Input(name, domain, weight=True, **more)


#: Positions: int64, but where users of a framework have int32.
INDEX = "int64"
INDEX_DTYPES = {"jax": "int32"}


@dataclass(frozen=True)
class Call:
    """A spelling that needs more than its text."""

    #: Text, or what makes it where `{parameter}` does not do: `data[2:4]` for begin=2, end=4.
    text: str | Callable[[Values], str]
    #: Source run once, after the inputs are made.
    setup: str | Callable[[Values], str] = ""
    #: Source at module level: imports, functions, classes.
    globals: str = ""
    #: Untimed source before each call, for what cannot be repeated as it is.
    before: str = ""
    #: Where the backward pass starts.
    output: str = "y"
    #: What parity compares, where layouts differ between frameworks; empty for `output`.
    compared: str = ""
    #: False where this framework has the operator but not its gradient.
    differentiable: bool = True
    #: Modules that the framework needs besides itself.
    preload: tuple[str, ...] = ()
    devices: tuple[str, ...] = ("cpu", "cuda")
    #: The dtypes of this spelling, where it lacks some; empty for those of the entry.
    dtypes: tuple[str, ...] = ()
    #: False for what a compiler cannot take: an optimizer's step, a copy to NumPy.
    compilable: bool = True
    #: By the name of an input, its gradient, where that is not the tensor's own: packed weights.
    gradients: Callable[[Values], Mapping[str, str]] | None = None
    #: Several operators stand for one that the framework lacks: never called the fastest.
    emulated: bool = False
    #: What a reader of the time should know.
    note: str = ""
    #: For a fused operator: `kernel` where one call does it all, `sequence` where this is the parts
    #: in one statement, `graph` where a compiler sees them together.
    how: str = ""


@dataclass(frozen=True)
class Operator:
    name: str
    category: str
    inputs: tuple[Input, ...]
    #: Every parameter with its value at `typical`: shapes of inputs first, then options.
    params: Mapping[str, Any]
    #: By framework. `torch_compile` takes that of torch unless it has one of its own, and JAX that
    #: of NumPy, whose interface `jax.numpy` is.
    spelling: Mapping[str, str | Call | Callable[[Values], str]]
    #: What other size classes change in `params`. A class that is absent is not worth measuring.
    sizes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    differentiable: bool = True
    dtypes: tuple[str, ...] = FLOATS
    #: Shape of the result; None for that of the first input.
    result: Callable[[Values], Shape] | None = None
    #: Empty for the dtype of the case.
    result_dtype: str = ""
    #: Operations of one forward call: a number for each element of the result, or a formula.
    #: None where no count means anything (a sort, a random draw).
    flops: float | Callable[[Values], float] | None = 1.0
    #: Bytes of one forward call; None for each input read once, the result written once.
    traffic: Callable[[Values], float] | None = None
    #: Inputs of which no more is read than the result holds: a table that rows are taken from.
    partly: tuple[str, ...] = ()
    #: Names of the sides of inputs, `{"lhs": "m k", "rhs": "k n"}`: equal names, equal sides.
    sides: Mapping[str, str] = field(default_factory=dict)
    #: Conditions on the parameters, `{"0 <= p <= 1": ""}`, with where they hold (see `needs`).
    needs: Mapping[str, str] = field(default_factory=dict)
    #: Whether tensors may have any number of sides. Where the result has the shape of the first
    #: input, they may.
    any_rank: bool = False
    #: Whether `axis` may be several axes, `0x2`.
    several_axes: bool = False
    #: Parameters whose leading dimension shrinks when memory or time cannot hold the size; empty
    #: for every shape that has the leading dimension of the first.
    shrinks: tuple[str, ...] = ()
    #: A tuple of tensors comes out, and a backward pass starts from all of them.
    several: bool = False
    #: A single number comes out, so that a backward pass needs no gradient from outside.
    scalar: bool = False
    #: How outputs of frameworks are compared before timing (see `opbench.case.Parity`); empty for
    #: not at all.
    parity: str = "values"
    #: Factor on the tolerance of the dtype.
    tolerance: float = 1.0
    #: Framework → why it has no such operator, where there is more to say.
    absent: Mapping[str, str] = field(default_factory=dict)
    #: Other names that `-a op=` accepts.
    aliases: tuple[str, ...] = ()
    #: Name of its class in `opbench.ops`; empty for `name` in camel case.
    classic: str = ""
    #: Name in the lines of the classic suite (`Inplace_Add`); empty for `classic`.
    printed: str = ""
    #: For a fused operator: names of the operators it joins, and what each of them is given.
    parts: tuple[Part, ...] = ()

    def __post_init__(self) -> None:
        wrong = set(self.spelling) - set(FRAMEWORKS) or set(self.sizes) - set(SIZES)
        if wrong:
            raise ValueError(f"{self.name}: unknown framework or size: {', '.join(wrong)}")
        numpy = self.call("numpy")
        if numpy is None or "jax" in {*self.spelling, *self.absent}:
            return
        plain = numpy == Call(numpy.text, note=numpy.note, emulated=numpy.emulated)
        # Random generators are the one part of NumPy that JAX does differently.
        if plain and isinstance(numpy.text, str) and "rng." not in numpy.text:
            jax = Call(re.sub(r"\bnp\.", "jnp.", numpy.text), emulated=numpy.emulated)
            object.__setattr__(self, "spelling", {**self.spelling, "jax": jax})

    @property
    def default_dtype(self) -> str:
        return self.dtypes[0]

    def dtype_in(self, framework: str) -> str:
        """The dtype where none is asked for: a framework may lack that of the entry."""
        call = self.call(framework)
        own = call.dtypes if call else ()
        return own[0] if own and self.default_dtype not in own else self.default_dtype

    def values(
        self, size: str = "typical", dtype: str = "", given: Mapping[str, Any] | None = None
    ) -> Values:
        """The parameters at a size class, with `given` on top."""
        changed = {**self.sizes.get(size, {}), **(given or {})}
        return SimpleNamespace(**{**self.params, **changed, "dtype": dtype or self.default_dtype})

    def call(self, framework: str) -> Call | None:
        """How the framework spells it; None where it does not."""
        spelled = self.spelling.get(framework)
        if spelled is None and framework == "torch_compile":
            spelled = self.spelling.get("torch")
        return spelled if spelled is None or isinstance(spelled, Call) else Call(spelled)

    def result_shape(self, values: Values) -> Shape:
        if self.result is not None:
            return tuple(self.result(values))
        shapes = [each.shape_at(values) for each in self.inputs]
        return broadcast(shapes) or shapes[0]


@dataclass(frozen=True)
class Part:
    """An operator within a fused one, at the shapes it has there."""

    operator: str
    #: Its parameters, computed from those of the fused operator.
    params: Callable[[Values], Mapping[str, Any]]


def numbers(value: int | Shape) -> Shape:
    """One number as several."""
    return value if isinstance(value, tuple) else (value,)


def elements(shape: Shape) -> int:
    return prod(shape)


def itemsize(dtype: str) -> int:
    return ITEM_SIZE[str(dtype)]


def broadcast(shapes: Sequence[Shape]) -> Shape | None:
    """The shape of all of them together; None where they do not broadcast."""
    longest = max(map(len, shapes), default=0)
    sides = zip(*((1,) * (longest - len(shape)) + tuple(shape) for shape in shapes))
    together = [set(each) - {1} for each in sides]
    if any(len(each) > 1 for each in together):
        return None
    return tuple(each.pop() if each else 1 for each in together)
