"""Products in few bits, and attention as one call: what PyTorch's own operator benchmark adds.

Weights are quantized and packed in the set-up, as loading a model does. float8 needs a GPU that has
it; grouped products need bfloat16.
"""

from __future__ import annotations

from typing import Any

from opbench.define.program import ZEROS, integers, uniform
from opbench.suites.ops.entry import FLOAT8, Call, Input, Operator, weight
from opbench.suites.ops.shapes import PLANE, op, sizes

ROWS = sizes((16, 64), (512, 512), (4096, 1024))
MAPS = sizes((1, 8, 16, 16), (8, 32, 56, 56), (32, 64, 112, 112))
#: int8 with one scale: enough for values from -1 to 1.
SCALE = 0.01


def quantized(name: str, inputs: tuple[str | Input, ...], shapes: Any, **more: Any) -> Operator:
    given = {"flops": None, "dtypes": ("float32",), "parity": "", **more}
    return op(name, "quantized", inputs, shapes, grad=False, **given)


def torch(text: str, setup: str = "", **more: Any) -> Call:
    return Call(text, setup=setup, compilable=False, **more)


LINEAR = (
    Input("data", dtype="float32"),
    weight("weight", uniform(-0.5, 0.5), dtype="float32", shape=lambda v: (v.units, v.data[1])),
)
CODES = "of quint8 data and qint8 weights"
#: The engine that torch 2.13 takes by itself on Linux cannot pack weights on an ARM processor.
ENGINE = """\
import platform
engines = torch.backends.quantized
if platform.machine() in ("aarch64", "arm64") and engines.engine in ("x86", "fbgemm"):
    engines.engine = "onednn"
"""
PACKED = f"""{ENGINE}\
q = torch.quantize_per_tensor(weight, {SCALE}, 0, torch.qint8)
packed = torch.ops.quantized.linear_prepack(q, torch.zeros(weight.shape[0]))"""
CONVOLVED = f"""{ENGINE}\
q = torch.quantize_per_tensor(weight, {SCALE}, 0, torch.qint8)
bias = torch.zeros(weight.shape[0])
packed = torch.ops.quantized.conv2d_prepack(q, bias, [1, 1], [1, 1], [1, 1], 1)
given = torch.quantize_per_tensor(data, {SCALE}, 128, torch.quint8)"""
COLUMNS = """\
columns = rhs.t().contiguous().t()
one = torch.ones((), device=lhs.device)"""
#: Of the projections to queries, keys and values at once, and of that back.
PROJECTIONS = (
    weight("w_in", uniform(-0.1, 0.1), shape=lambda v: (3 * v.data[2], v.data[2])),
    weight("b_in", ZEROS, shape=lambda v: (3 * v.data[2],)),
    weight("w_out", uniform(-0.1, 0.1), shape=lambda v: (v.data[2], v.data[2])),
    weight("b_out", ZEROS, shape=lambda v: (v.data[2],)),
)


def products(v: Any) -> float:
    return 2.0 * v.data[0] * v.data[1] * v.units


OPERATORS = (
    # A few values lie half way between two codes.
    quantized("quantize_per_tensor", ("data",), PLANE, result_dtype="uint8", parity="ties",
        torch=torch(f"torch.quantize_per_tensor(data, {SCALE}, 128, torch.quint8)",
            compared="y.int_repr()"),
        onnx=Call(f"QuantizeLinear(data, {SCALE}, zero)", setup="zero = np.uint8(128)")),
    quantized("dequantize", ("data",), PLANE, torch=torch("given.dequantize()",
        f"given = torch.quantize_per_tensor(data, {SCALE}, 128, torch.quint8)")),
    quantized("fake_quantize", ("data",), PLANE,
        torch=f"torch.fake_quantize_per_tensor_affine(data, {SCALE}, 0, -128, 127)"),
    quantized("quantized_linear", LINEAR, {"data": ROWS, "units": sizes(32, 512, 1024)},
        dtypes=("int8",), result=lambda v: (v.data[0], v.units), flops=products, torch=torch(
            "torch.ops.quantized.linear(given, packed, 0.1, 128)",
            f"{PACKED}\ngiven = torch.quantize_per_tensor(data, {SCALE}, 128, torch.quint8)",
            devices=("cpu",), note=CODES)),
    quantized("quantized_linear_dynamic", LINEAR, {"data": ROWS, "units": sizes(32, 512, 1024)},
        dtypes=("int8",), result=lambda v: (v.data[0], v.units), flops=products,
        torch=torch("torch.ops.quantized.linear_dynamic(data, packed)", PACKED, devices=("cpu",),
            note="of float32 data, quantized in the call, and qint8 weights")),
    quantized("quantized_conv2d",
        (Input("data", dtype="float32"), weight("weight", uniform(-0.5, 0.5), dtype="float32",
            shape=lambda v: (v.channels, v.data[1], 3, 3))),
        MAPS, dtypes=("int8",), channels=32, needs={"data[1] >= 1": ""},
        result=lambda v: (v.data[0], v.channels, *v.data[2:]),
        flops=lambda v: 18.0 * v.data[0] * v.data[1] * v.channels * v.data[2] * v.data[3],
        torch=torch("torch.ops.quantized.conv2d(given, packed, 0.1, 128)", CONVOLVED,
            devices=("cpu",), note=CODES)),
    quantized("int_mm", (Input("lhs", integers(-8, 8)), Input("rhs", integers(-8, 8))),
        sizes((64, 64), (512, 512), (4096, 4096)), dtypes=("int8",), result_dtype="int32",
        needs={"len(lhs) == len(rhs) == 2": "", "lhs[1] == rhs[0]": ""},
        flops=lambda v: 2.0 * v.lhs[0] * v.lhs[1] * v.rhs[1], parity="values",
        torch=torch("torch._int_mm(lhs, rhs)"), onnx="MatMulInteger(lhs, rhs)",
        jax="lax.dot(lhs, rhs, preferred_element_type='int32')",
        numpy="np.matmul(lhs, rhs, dtype='int32')"),
    quantized("scaled_mm", ("lhs", "rhs"), sizes((64, 64), (1024, 1024), (4096, 4096)),
        dtypes=(FLOAT8,), result_dtype="bfloat16",
        flops=lambda v: 2.0 * v.lhs[0] * v.lhs[1] * v.rhs[1],
        torch=torch("torch._scaled_mm(lhs, columns, one, one, out_dtype=torch.bfloat16)", COLUMNS,
            devices=("cuda",))),
    quantized("grouped_mm", ("lhs", Input("rhs", shape=lambda v: (v.groups, v.lhs[1], v.lhs[1]))),
        {"lhs": sizes((64, 64), (512, 256), (8192, 1024))}, groups=4, dtypes=("bfloat16",),
        # Rows begin at multiples of 16 bytes.
        needs={"len(lhs) == 2": "", "lhs[1] >= 8 and lhs[1] % 8 == 0": ""},
        flops=lambda v: 2.0 * v.lhs[0] * v.lhs[1] ** 2,
        torch=torch("torch._grouped_mm(lhs, rhs, offs=offsets)",
            "step = lhs.shape[0] // {groups}\n"
            "offsets = torch.arange(1, {groups} + 1, device=lhs.device, dtype=torch.int32) * step",
            )),
    op("multi_head_attention", "quantized", ("data", *PROJECTIONS),
        sizes((8, 2, 32), (128, 16, 256), (512, 32, 512)), heads=8, parity="", tolerance=64.0,
        needs={"len(data) == 3": ""},
        flops=lambda v: v.data[0] * v.data[1] * v.data[2] * (8.0 * v.data[2] + 4.0 * v.data[0]),
        torch="F.multi_head_attention_forward(data, data, data, {data}[2], {heads}, w_in, b_in, "
        "None, None, False, 0.0, w_out, b_out, need_weights=False)[0]"),
)  # fmt: skip
