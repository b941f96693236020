"""A recorded Python call as source: its arguments made anew, its function looked up by name.

Names from the file never become code: a module is one of `torch.nn`, a function one of those in
torch's own tables of functions on tensors, and every literal is written by us.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from opbench.capture.api_file import ApiCall, shape_of
from opbench.define.program import Program, lines

FLOATS = ("float64", "float32", "float16", "bfloat16")
WHOLE = ("int64", "int32", "int16", "int8", "uint8", "bool")
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


class Cannot(Exception):
    """Why a call cannot be replayed."""


@dataclass
class Writer:
    """Turns described arguments into expressions; tensors become variables of the set-up."""

    device: str = "cpu"
    setup: list[str] = field(default_factory=list)
    #: Variables whose tensors took a gradient.
    leaves: list[str] = field(default_factory=list)
    made: int = 0

    def value(self, described: Any) -> str:
        if described is None or isinstance(described, (bool, int, float, str)):
            return repr(described)
        if isinstance(described, list):
            return f"[{', '.join(map(self.value, described))}]"
        kind = next(iter(described))
        return str(getattr(self, f"_{kind}")(described))

    def arguments(self, args: Any, kwargs: Any) -> str:
        parts = [self.value(value) for value in args]
        parts += [f"{name}={self.value(value)}" for name, value in kwargs.items()]
        return ", ".join(parts)

    def module(self, name: str, init: Any) -> str:
        """An expression that makes a module of torch.nn."""
        found = TORCH_NN.fullmatch(name)
        if found is None:
            raise Cannot(f"its class {name} is not in torch.nn; the calls inside it are here too")
        given = self.arguments(init.get("args", []), init.get("kwargs", {}))
        return f'module_class("{found[1] or found[2]}")({given})'

    # -- kinds of values ---------------------------------------------------------------------

    def _tensor(self, described: dict[str, Any]) -> str:
        dtype, shape = shape_of(described)
        if described.get("layout"):
            raise Cannot(f"an argument is a tensor of layout {described['layout']}")
        if dtype not in (*FLOATS, *WHOLE):
            raise Cannot(f"an argument is a tensor of {dtype}, which is not made anew")
        options = f"dtype=torch.{dtype}"
        if self.device != "cpu":
            options += f', device="{self.device}"'
        name = f"t{self.made}"
        self.made += 1
        if described.get("strides") is not None:
            base = f"torch.empty_strided({shape!r}, {tuple(described['strides'])!r}, {options})"
        else:
            base = f"torch.empty({shape!r}, {options})"
        if dtype == "bool":
            fill = "random_(0, 2)"
        elif dtype in WHOLE:
            low, high = described.get("range") or [0, 1]
            fill = f"random_({low}, {high + 1})"
        else:
            fill = "normal_()"
        self.setup.append(f"{name} = {base}.{fill}")
        if described.get("grad") and dtype in FLOATS:
            self.leaves.append(name)
        return name

    def _dtype(self, described: dict[str, Any]) -> str:
        return f"torch.{described['dtype']}"

    _memory_format = _layout = lambda self, described: f"torch.{next(iter(described.values()))}"

    def _device(self, _described: dict[str, Any]) -> str:
        return f'torch.device("{self.device}")'

    def _float(self, described: dict[str, Any]) -> str:
        return f'float("{float(described["float"])}")'

    def _complex(self, described: dict[str, Any]) -> str:
        real, imaginary = (float(part) for part in described["complex"])
        return f"complex({real!r}, {imaginary!r})"

    def _slice(self, described: dict[str, Any]) -> str:
        return f"slice({', '.join(map(self.value, described['slice']))})"

    def _ellipsis(self, _described: dict[str, Any]) -> str:
        return "Ellipsis"

    def _tuple(self, described: dict[str, Any]) -> str:
        return "(" + "".join(f"{self.value(part)}, " for part in described["tuple"]).rstrip() + ")"

    def _dict(self, described: dict[str, Any]) -> str:
        pairs = (f"{name!r}: {self.value(part)}" for name, part in described["dict"])
        return f"{{{', '.join(pairs)}}}"

    def _module(self, described: dict[str, Any]) -> str:
        return self.module(described["module"], described.get("init", {}))

    def _object(self, described: dict[str, Any]) -> str:
        raise Cannot(f"an argument is a {described['object']}, which a file cannot hold")


def output_of(described: Any, path: str = "y") -> str:
    """Where in what it returned the first tensor of real numbers is; empty when there is none."""
    if isinstance(described, dict) and "tensor" in described:
        return path if shape_of(described)[0] in FLOATS else ""
    parts = described if isinstance(described, list) else None
    if isinstance(described, dict) and "tuple" in described:
        parts = described["tuple"]
    for index, part in enumerate(parts or ()):
        found = output_of(part, f"{path}[{index}]")
        if found:
            return found
    return ""


def in_place(call: ApiCall) -> bool:
    name = call.short
    return (
        (name.endswith("_") and not name.endswith("__"))
        or bool(re.fullmatch(r"__i\w+__", name) and name not in ("__invert__", "__index__"))
        or name in ("__setitem__",)
        or "out" in call.kwargs
        or call.kwargs.get("inplace") is True
        or call.init.get("kwargs", {}).get("inplace") is True
    )


def program_of(call: ApiCall, device: str) -> Program:
    """The call as a program, or one that says why it cannot be replayed."""
    writer = Writer(device)
    try:
        if call.kind == "named":
            raise Cannot("a function of the program itself is recorded, not replayed")
        if call.short == "backward" or call.name.startswith("torch.autograd."):
            raise Cannot("a backward pass is more than this call; capture the level operators")
        made = writer.module(call.name, call.init) if call.kind == "module" else ""
        given = writer.arguments(call.args, call.kwargs)
    except Cannot as reason:
        return Program("pass", unsupported=str(reason))
    setup = list(writer.setup)
    if made:
        move = f'.to("{device}")' if device != "cpu" else ""
        setup.append(f"net = {made}{move}.train({call.training})")
        forward = f"y = net({given})"
    elif call.kind == "method" and call.short in ("T", "mT", "H", "mH", "real", "imag"):
        forward = f"y = {given}.{call.short}"
    else:
        setup.append(f'function = registered("{call.name}")')
        forward = f"y = function({given})"
    tensors = [f"t{index}" for index in range(writer.made)]
    before = ""
    if in_place(call):
        # Values must not drift into infinities or denormals from one call to the next.
        setup += [f"{name}_kept = {name}" for name in tensors]
        before = lines(*(f"{name} = {name}_kept.clone()" for name in tensors))
    leaves = "" if in_place(call) else f"[{', '.join(writer.leaves)}]" if writer.leaves else ""
    if leaves:
        setup.append(f"leaves = {leaves}")
    return Program(
        forward=forward,
        globals=REGISTERED,
        setup=lines(*setup),
        before=before,
        output=output_of(call.out) or "y",
        module="net" if made else "",
        leaves="leaves" if leaves else "",
        components=tuple((name, name) for name in tensors),
    )
