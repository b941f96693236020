"""A recorded Python call as source: its arguments created anew, its function looked up by name.

Names from the file never become code: a module is one of `torch.nn`, a function one of those in
torch's own tables of functions on tensors, and every literal is written by us.
"""

from __future__ import annotations

import re
from typing import Any

from opbench.capture.calls import ApiCall
from opbench.capture.values import ModuleSpec, TensorSpec
from opbench.define.program import Program, lines
from opbench.suites.captured.source import NotReplayable, SourceWriter

FLOATS = ("float64", "float32", "float16", "bfloat16")
INTEGERS = ("int64", "int32", "int16", "int8", "uint8", "bool")
TORCH_NN = re.compile(r"torch\.nn\.modules\.\w+\.([A-Za-z]\w*)|torch\.nn\.([A-Za-z]\w*)", re.ASCII)

REGISTERED = '''
class Unsupported(Exception):
    """What this torch does not have."""


def registered(name):
    """A function of torch's own tables; nothing else in a file is ever called."""
    home, _, short = name.rpartition(".")
    # Functions that make tensors cannot be overridden, and stand in another table.
    functions = torch._C._VariableFunctions
    if home == "torch" and short != "from_file" and short in dir(functions):
        return getattr(functions, short)
    if home == "torch.Tensor" and not short.startswith("_") and short in vars(torch._C.TensorBase):
        return getattr(torch.Tensor, short)
    if home == "torch.nn.init" and short in vars(torch.nn.init):
        found = getattr(torch.nn.init, short)
        if getattr(found, "__module__", "") == home:
            return found
    for found in torch.overrides.get_overridable_functions().values():
        for function in found:
            if torch.overrides.resolve_name(function) == name:
                return function
    raise Unsupported(f"torch {torch.__version__} has no function {name} of tensors")


def module_class(name):
    found = getattr(torch.nn, name, None)
    if not (isinstance(found, type) and issubclass(found, torch.nn.Module)):
        raise Unsupported(f"torch {torch.__version__} has no module torch.nn.{name}")
    return found
'''


class ApiWriter(SourceWriter):
    """Tensors by their shape, filled with random numbers."""

    def quoted(self, text: str) -> str:
        return f'"{text}"'

    def tensor(self, spec: TensorSpec, number: int) -> str:
        if spec.layout:
            raise NotReplayable(f"an argument is a tensor of layout {spec.layout}")
        if spec.dtype not in FLOATS + INTEGERS:
            raise NotReplayable(
                f"an argument is a tensor of {spec.dtype}, which opbench cannot create"
            )
        options = f"dtype=torch.{spec.dtype}"
        if self.device != "cpu":
            options += f', device="{self.device}"'
        if spec.strides is not None:
            empty = f"torch.empty_strided({spec.shape!r}, {spec.strides!r}, {options})"
        else:
            empty = f"torch.empty({spec.shape!r}, {options})"
        fill = "normal_()"
        if spec.dtype in INTEGERS:
            low, high = spec.bounds if spec.values else (0, 1)
            fill = f"random_({low}, {high + 1})"
        self.lines.append(f"t{number} = {empty}.{fill}")
        return f"t{number}"

    def module(self, spec: ModuleSpec) -> str:
        """An expression that creates a module of torch.nn."""
        found = TORCH_NN.fullmatch(spec.name)
        if found is None:
            raise NotReplayable(
                f"its class {spec.name} is not in torch.nn; the calls inside it are here too"
            )
        return f'module_class("{found[1] or found[2]}")({self.arguments(spec.init)})'


def check_kind(call: ApiCall) -> None:
    if call.kind == "named":
        raise NotReplayable("a function of the program itself is recorded, not replayed")
    if call.short == "backward" or call.name.startswith("torch.autograd."):
        raise NotReplayable("a backward pass is more than this call; capture the level operators")


def output_of(value: Any, path: str = "y") -> str:
    """The path to the first tensor of real numbers in what a call returned; empty without one."""
    if isinstance(value, TensorSpec):
        return path if value.dtype in FLOATS else ""
    for index, part in enumerate(value if isinstance(value, (list, tuple)) else ()):
        inner = output_of(part, f"{path}[{index}]")
        if inner:
            return inner
    return ""


def in_place(call: ApiCall) -> bool:
    name = call.short
    return (
        (name.endswith("_") and not name.endswith("__"))
        or bool(re.fullmatch(r"__i\w+__", name) and name not in ("__invert__", "__index__"))
        or name == "__setitem__"
        or "out" in call.kwargs
        or call.kwargs.get("inplace") is True
        or call.init.kwargs.get("inplace") is True
    )


def program_of(call: ApiCall, device: str) -> Program:
    """The call as a program, or one that says why it cannot be replayed."""
    writer = ApiWriter(device)
    try:
        check_kind(call)
        net = writer.module(ModuleSpec(call.name, call.init)) if call.kind == "module" else ""
        given = writer.arguments(call.given)
    except NotReplayable as reason:
        return Program("pass", unsupported=str(reason))
    setup = list(writer.lines)
    if net:
        move = f'.to("{device}")' if device != "cpu" else ""
        setup.append(f"net = {net}{move}.train({call.training})")
        forward = f"y = net({given})"
    elif call.kind == "method" and call.short in ("T", "mT", "H", "mH", "real", "imag"):
        forward = f"y = {given}.{call.short}"
    else:
        setup.append(f'function = registered("{call.name}")')
        forward = f"y = function({given})"
    names = [f"t{number}" for number in range(len(writer.specs))]
    leaf_names = [n for n, spec in zip(names, writer.specs) if spec.grad and spec.dtype in FLOATS]
    before, with_leaves = "", bool(leaf_names)
    if in_place(call):
        # Values must not drift into infinities or denormals from one call to the next.
        setup += [f"{name}_kept = {name}" for name in names]
        before = lines(*(f"{name} = {name}_kept.clone()" for name in names))
        with_leaves = False
    if with_leaves:
        setup.append(f"leaves = [{', '.join(leaf_names)}]")
    return Program(
        forward=forward,
        globals=REGISTERED,
        setup=lines(*setup),
        before=before,
        output=output_of(call.out) or "y",
        module="net" if net else "",
        leaves="leaves" if with_leaves else "",
        components=tuple((name, name) for name in names),
    )
