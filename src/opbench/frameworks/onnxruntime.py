"""ONNX Runtime: the forward statement as a model of one or a few nodes, with bound inputs.

A forward text names ONNX operators as if they were functions, one call a line:

    t = Conv(x, w, None, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    y = Relu(t)

Keywords are attributes, `None` leaves out an optional input, a literal becomes a constant (whole
numbers of type int64, others of the float type of the inputs), and `com_microsoft.Gelu(x)` is an
operator of another domain. Dtypes are written as text: `y = Cast(x, to="float16")`.

Weights, and variables of the set-up that the text names, are initializers of the model, as in a
model that was exported: ONNX Runtime folds, reorders and packs them once, when it loads the model.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field

from opbench.define.program import Program, Source, Tensor, lines
from opbench.frameworks import numpy
from opbench.frameworks.framework import Framework

#: The newest that ONNX Runtime 1.18 supports, the oldest we support; and its file format.
OPSET, IR_VERSION = 21, 10

TYPES = {
    "float32": "FLOAT",
    "float64": "DOUBLE",
    "float16": "FLOAT16",
    "bool": "BOOL",
    **{f"{u}int{n}": f"{u}INT{n}".upper() for u in ("", "u") for n in (8, 16, 32, 64)},
}
#: Attributes whose value is a type.
TYPE_ATTRIBUTES = ("to", "dtype")

MODEL = """\
graph = helper.make_graph(
    [
{nodes}
    ],
    "operator",
    [
{inputs}
    ],
    [helper.make_empty_tensor_value_info(name) for name in {outputs}],
    [
{constants}
    ],
)
model = helper.make_model(
    graph,
    opset_imports=[{opsets}],
    ir_version={ir_version},
)
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = {threads}
options.inter_op_num_threads = 1
def make_session():
    return onnxruntime.InferenceSession(
        model.SerializeToString(),
        options,
        providers=["CPUExecutionProvider"],
        disabled_optimizers=["ConstantFolding"],
    )
session = make_session()
binding = session.io_binding()
{bound}
for name in {outputs}:
    binding.bind_output(name)
"""


@dataclass
class Graph:
    """What a forward text says, as source of calls to `onnx.helper`."""

    nodes: list[str] = field(default_factory=list)
    constants: list[str] = field(default_factory=list)
    domains: set[str] = field(default_factory=set)
    #: What the last line assigns.
    last: list[str] = field(default_factory=list)
    #: Names that are read and that no line above assigns: inputs, weights, variables of the set-up.
    free: dict[str, None] = field(default_factory=dict)
    assigned: set[str] = field(default_factory=set)

    @classmethod
    def read(cls, text: str, floating: str) -> Graph:
        """Raises ValueError, with the line, for any other text."""
        graph = cls()
        for line in ast.parse(text).body:
            if not (isinstance(line, ast.Assign) and isinstance(line.value, ast.Call)):
                raise ValueError(f"not `name = Operator(…)`: {ast.unparse(line)}")
            graph._add(line.targets[0], line.value, floating)
        return graph

    def _add(self, target: ast.expr, call: ast.Call, floating: str) -> None:
        targets = target.elts if isinstance(target, ast.Tuple) else [target]
        self.last = [ast.unparse(name) for name in targets]
        domain, _, operator = ast.unparse(call.func).rpartition(".")
        self.domains.add(domain.replace("_", "."))
        inputs = [self._input(arg, floating) for arg in call.args]
        self.assigned |= set(self.last)
        words = [f'"{operator}"', repr(inputs), repr(self.last)]
        words += [f'domain="{domain.replace("_", ".")}"'] * bool(domain)
        words += [f"{key.arg}={_attribute(key)}" for key in call.keywords]
        self.nodes.append(f"helper.make_node({', '.join(words)})")

    def _input(self, node: ast.expr, floating: str) -> str:
        if isinstance(node, ast.Name):
            if node.id not in self.assigned:
                self.free[node.id] = None
            return node.id
        value = ast.literal_eval(node)
        if value is None:
            return ""
        flat = [value] if not isinstance(value, (list, tuple)) else list(value)
        shape = [len(flat)] if isinstance(value, (list, tuple)) else []
        if all(isinstance(item, bool) for item in flat) and flat:
            kind = "BOOL"
        else:
            kind = "INT64" if all(isinstance(item, int) for item in flat) else TYPES[floating]
        name = f"constant{len(self.constants)}"
        self.constants.append(f'helper.make_tensor("{name}", TensorProto.{kind}, {shape}, {flat})')
        return name


def _attribute(keyword: ast.keyword) -> str:
    value = ast.literal_eval(keyword.value)
    if keyword.arg in TYPE_ATTRIBUTES and isinstance(value, str):
        return f"TensorProto.{TYPES[value]}"
    return repr(value)


@dataclass(frozen=True)
class OnnxRuntime(Framework):
    def imports(self) -> str:
        return lines(
            "import numpy as np",
            "import onnxruntime",
            "from onnx import TensorProto, helper, numpy_helper",
        )

    def preload(self, stage: str) -> tuple[str, ...]:
        return ("numpy", "onnx", "onnxruntime")

    def seed(self) -> str:
        return numpy.FRAMEWORK.seed()

    def thread_env(self, threads: int) -> dict[str, str]:
        return {"OMP_NUM_THREADS": str(threads)}

    def tensor(self, tensor: Tensor, device: str, grad: bool) -> str:
        return numpy.FRAMEWORK.tensor(tensor, device, grad)

    def caveat(self, dtype: str, result: str, device: str) -> str:
        if dtype != "float16" or device != "cpu":
            return ""
        return "float16 on a CPU is mostly cast to float32, computed, and cast back"

    def refusal(self, stage: str, program: Program, device: str) -> str:
        if stage not in ("forward", "call"):
            return "onnxruntime runs inference only: it does not compute gradients"
        return super().refusal(stage, program, device)

    def source(self, stage: str, program: Program, *, device: str, threads: int) -> Source:
        reason = program.unsupported or self.refusal(stage, program, device)
        floating = next((t.dtype for t in program.inputs if "float" in t.dtype), "float32")
        graph = Graph() if reason else Graph.read(program.forward, floating)
        outputs = [program.output] if program.output in graph.last else graph.last
        given = [t for t in program.inputs if t.name in graph.free and not t.weight]
        made = [name for name in graph.free if name not in {t.name for t in given}]
        opsets = [("", OPSET), *((domain, 1) for domain in sorted(graph.domains - {""}))]
        model = MODEL.format(
            nodes=_listed(graph.nodes),
            inputs=_listed(
                f'helper.make_tensor_value_info("{t.name}", TensorProto.{TYPES[t.dtype]}, '
                f"{list(t.shape)})"
                for t in given
            ),
            outputs=repr(outputs),
            constants=_listed(
                (
                    *graph.constants,
                    *(f'numpy_helper.from_array(np.ascontiguousarray({n}), "{n}")' for n in made),
                )
            ),
            opsets=", ".join(f'helper.make_opsetid("{d}", {v})' for d, v in opsets),
            ir_version=IR_VERSION,
            threads=threads,
            bound=lines(*(f'binding.bind_cpu_input("{t.name}", {t.name})' for t in given)),
        )
        return Source(
            stmt="session.run_with_iobinding(binding)",
            setup=lines(
                self.seed(),
                *(f"{t.name} = {self.tensor(t, device, False)}" for t in program.inputs),
                program.setup,
                model,
            ),
            globals=lines(self.imports(), program.globals),
            before=program.before,
            timing_mode="each" if program.before else "repeatable",
            preload=self.preload(stage),
            unsupported=reason,
            inputs=tuple(t.name for t in program.inputs),
            outputs=() if reason else self.results(program, outputs),
        )

    def results(self, program: Program, outputs: list[str]) -> tuple[tuple[str, str], ...]:
        found = "binding.copy_outputs_to_cpu()"
        if outputs == [program.output]:
            found += "[0]"
        return (("y", f"(lambda y: {program.compared})({found})" if program.compared else found),)


def _listed(items: Iterable[str]) -> str:
    return "\n".join(f"        {item}," for item in items)


FRAMEWORK = OnnxRuntime(
    "onnxruntime",
    module="onnxruntime",
    rank=40,
    runtime="graph",
    dtypes=tuple(TYPES),
    title="ONNX Runtime",
)
