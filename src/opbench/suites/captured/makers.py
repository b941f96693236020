"""Source that every replayed call begins with: creates its tensors, finds its operator.

This text is executed by a worker, or stands at the top of a reproducer script: torch and the
standard library are all it knows.
"""

#: Finds operators in torch's registry only: a name never becomes anything else.
OPERATOR = '''\
def operator(name, overload):
    """The operator of that name in torch's registry."""
    space, _, base = name.partition("::")
    found = getattr(getattr(getattr(torch.ops, space, None), base, None), overload, None)
    if not isinstance(found, torch._ops.OpOverload):
        raise NotImplementedError(f"torch has no operator {name}.{overload} here")
    return found
'''

TENSOR = '''\
def tensor(shape, dtype, strides=None, values=None, device="cpu", offset=0, within=None):
    """A tensor that lies in memory, and is filled, as the captured one."""
    if within is None:
        last = sum((n - 1) * s for n, s in zip(shape, strides)) if strides else 0
        size = math.prod(shape) if strides is None else offset + last + 1
        within = torch.empty(size if math.prod(shape) else 0, dtype=dtype, device=device)
    if strides is None:
        strides = torch.empty(shape, device="meta").stride()
    fill(within, values)
    made = within.as_strided(shape, strides, offset)
    if isinstance(values, dict):
        place(made, values)
    return made


def fill(flat, values):
    """Values decide time: keep range, sign, and the share of zeros, denormals and masked-out
    elements (lowest, highest, mean, deviation, zeros, denormals, masked)."""
    if not flat.numel():
        return
    if flat.dtype.is_floating_point or flat.dtype.is_complex:
        known = (*(values or (-3, 3, 0, 1)), 0, 0, 0, 0, 0)
        low, high, mean, spread, zeros, tiny, masked = known[:7]
        real = torch.view_as_real(flat) if flat.dtype.is_complex else flat
        wide = torch.empty(real.shape, device=flat.device)
        if low == high:
            wide.fill_(low)
        else:
            wide.normal_(mean, spread)
            if low >= 0:
                wide.abs_()
            wide.clamp_(low, high)
        for share, value in (
            (zeros, 0.0),
            (tiny, 1e-39 if real.dtype != torch.float16 else 1e-7),
            (masked, torch.finfo(real.dtype).min),
        ):
            if share:
                wide[torch.rand(real.shape, device=flat.device) < share] = value
        real.copy_(wide)
    elif values and "true" in values:
        flat.copy_(torch.rand(flat.shape, device=flat.device) < values["true"])
    elif values and "lo" in values:
        low, high = values["lo"], values["hi"] + 1
        if values.get("distinct") == 1 and high - low >= flat.numel():
            drawn = torch.randperm(high - low)[: flat.numel()] + low
        else:
            drawn = torch.randint(low, max(high, low + 1), flat.shape)
        if values.get("sorted"):
            drawn = drawn.sort(descending=values["sorted"] == "down").values
        if "marked" in values:
            mark, share = values["marked"]
            drawn[torch.rand(flat.shape) < share] = mark
        flat.copy_(drawn)
    else:
        flat.fill_(values.get("all", 0) if values else 0)


def place(made, values):
    """Whole numbers kept one by one, in the order in which they are read."""
    if "is" in values:
        listed = torch.tensor(values["is"], dtype=torch.int64)
    elif "bits" in values:
        listed = torch.tensor([bit == "1" for bit in values["bits"]])
    elif "from" in values:
        listed = values["from"] + values["by"] * torch.arange(made.numel())
    else:
        return
    listed = listed.reshape(made.shape)
    # An expanded dimension is one element in memory.
    once = tuple(slice(0, 1) if step == 0 else slice(None) for step in made.stride())
    made[once].copy_(listed[once])
'''

IMPORTS = "import math\n\nimport torch\n"

#: What a single call needs.
CALL = f"{IMPORTS}\n\n{OPERATOR}\n\n{TENSOR}"

#: Checks a predicted call without computing it: the meta device knows the shapes.
ON_META = '''\
def check_shapes(op, args, kwargs, expected):
    """Raises where the operator, asked on the meta device, gives other shapes than predicted."""
    def meta(value):
        if isinstance(value, torch.Tensor):
            return value.to("meta") if value.layout is torch.strided else value
        if isinstance(value, (list, tuple)):
            return [meta(each) for each in value]
        return torch.device("meta") if isinstance(value, torch.device) else value

    def flat(value):
        if isinstance(value, torch.Tensor):
            yield tuple(value.shape)
        elif isinstance(value, (list, tuple)):
            for each in value:
                yield from flat(each)

    try:
        found = op(*meta(args), **{name: meta(value) for name, value in kwargs.items()})
    except NotImplementedError:
        return  # the operator knows no shapes without data
    if list(flat(found)) != expected:
        raise ValueError(f"predicted {expected}, but the operator gives {list(flat(found))}")
'''

#: A whole step: buffers by number, calls in order, results kept as long as somebody reads them.
PROGRAM = '''\
def program(plan, device):
    """(calls, buffers written to, places for results) of a plan that is plain data."""
    buffers = []
    for size, dtype, values, where in plan["buffers"]:
        flat = torch.empty(size, dtype=getattr(torch, dtype), device=where or device)
        fill(flat, tuple(values) if isinstance(values, list) else values)
        buffers.append(flat)
    operators = [operator(name, overload) for name, overload in plan["operators"]]
    placed = set()

    def argument(value):
        if isinstance(value, list):
            return [argument(each) for each in value]
        if not isinstance(value, dict):
            return value
        kind, content = next(iter(value.items()))
        if kind == "tensor":
            number, shape, strides, offset, values = content
            made = buffers[number].as_strided(shape, strides, offset)
            if values and number not in placed:
                placed.add(number)
                place(made, values)
            return made
        if kind in ("dtype", "layout", "memory_format"):
            return getattr(torch, content)
        if kind == "device":
            return torch.device(content or device)
        if kind == "float":
            return float(content)
        return complex(*content) if kind == "complex" else None

    calls = [
        (operators[number], argument(args), {k: argument(v) for k, v in kwargs.items()}, kept)
        for number, args, kwargs, kept in plan["calls"]
    ]
    return calls, [buffers[number] for number in plan["written"]], [None] * plan["places"]
'''

STEP = f"import json\n{IMPORTS}\n\n{OPERATOR}\n\n{TENSOR}\n\n{PROGRAM}"
