"""The suite `tour`: what `opbench run` measures when nothing is named.

Two dozen torch cases on the CPU, from a 64×64 addition to a training step, chosen to show the
parts of the product (axes, stages, a dtype to compare with `--baseline dtype=float32`) within
two minutes and a few megabytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from opbench.case import Label
from opbench.define.definition import Axis, Context, Definition, Point
from opbench.define.program import Program, Tensor, integers, lines

FLOATS = ("float32", "float64", "bfloat16", "float16")
TRAINING = ("forward", "backward", "forward_backward")


def add(point: Point, context: Context) -> Program:
    n = size(point["n"])
    return Program("y = x + w", (Tensor("x", (n, n)), Tensor("w", (n, n))))


def matmul(point: Point, context: Context) -> Program:
    n, dtype = size(point["n"]), str(point["dtype"])
    return Program("y = x @ w", (Tensor("x", (n, n), dtype), Tensor("w", (n, n), dtype)))


def softmax(point: Point, context: Context) -> Program:
    n = size(point["n"])
    return Program("y = torch.softmax(x, -1)", (Tensor("x", (n, n)),))


def total(point: Point, context: Context) -> Program:
    n = size(point["n"])
    return Program("y = x.sum()", (Tensor("x", (n, n)),))


def embedding(point: Point, context: Context) -> Program:
    batch = size(point["batch"])
    tokens = Tensor("x", (batch, 128), "int64", integers(0, 20_000))
    table = Tensor("w", (20_000, 100))
    return Program("y = torch.nn.functional.embedding(x, w)", (tokens, table))


def attention(point: Point, context: Context) -> Program:
    shape = (size(point["batch"]), 4, 64, 32)
    inputs = tuple(Tensor(name, shape, grad=True) for name in ("q", "k", "v"))
    return Program("y = torch.nn.functional.scaled_dot_product_attention(q, k, v)", inputs)


def layernorm(point: Point, context: Context) -> Program:
    return layer("torch.nn.LayerNorm(512)", (size(point["batch"]), 512), context)


def linear(point: Point, context: Context) -> Program:
    return layer("torch.nn.Linear(512, 512)", (size(point["batch"]), 512), context)


def conv2d(point: Point, context: Context) -> Program:
    return layer("torch.nn.Conv2d(16, 32, 3)", (size(point["batch"]), 16, 32, 32), context)


def mlp(point: Point, context: Context) -> Program:
    batch = size(point["batch"])
    net = "torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))"
    return Program(
        forward="loss = torch.nn.functional.cross_entropy(net(x), labels)",
        inputs=(Tensor("x", (batch, 64)), Tensor("labels", (batch,), "int64", integers(0, 10))),
        setup=f"net = {net}{on(context.device)}",
        output="loss",
        scalar=True,
        module="net",
    )


def layer(constructor: str, shape: tuple[int, ...], context: Context) -> Program:
    return Program(
        forward="y = net(x)",
        inputs=(Tensor("x", shape),),
        setup=lines(f"net = {constructor}{on(context.device)}"),
        module="net",
    )


def on(device: str) -> str:
    return "" if device == "cpu" else f'.to("{device}")'


def size(value: Label) -> int:
    return int(value or 0)


def definitions() -> Iterator[Definition]:
    def torch(
        name: str,
        program: Callable[[Point, Context], Program],
        axes: dict[str, Axis],
        stages: tuple[str, ...] = ("forward",),
    ) -> Definition:
        return Definition("tour", name, program, axes, framework="torch", stages=stages)

    dtype = Axis(("float32", "float64"), choices=FLOATS)
    yield torch("add", add, {"n": Axis.of((64, 1024))})
    yield torch("matmul", matmul, {"n": Axis.of((64, 256, 512)), "dtype": dtype})
    yield torch("softmax", softmax, {"n": Axis.of((64, 1024))})
    yield torch("sum", total, {"n": Axis.of((1024,))})
    yield torch("embedding", embedding, {"batch": Axis.of((16,))})
    yield torch("attention", attention, {"batch": Axis.of((4,))}, ("forward", "forward_backward"))
    yield torch("layernorm", layernorm, {"batch": Axis.of((64,))}, ("forward", "forward_backward"))
    yield torch("linear", linear, {"batch": Axis.of((64,))}, TRAINING)
    yield torch("conv2d", conv2d, {"batch": Axis.of((8,))}, TRAINING)
    yield torch("mlp", mlp, {"batch": Axis.of((32,))}, ("step",))
