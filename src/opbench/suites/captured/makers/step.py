"""Source that makes a program of a whole captured step."""

#: A whole step: buffers by number, calls in order, results kept as long as somebody reads them.
PROGRAM = '''\
def found(name, overload, graph):
    """An operator, or the graph of a compiled region, or why there is none."""
    try:
        return graph_module(graph) if graph else operator(name, overload)
    except NotImplementedError as error:
        return one_line(error)


def program(plan, device):
    """(calls, buffers written to with their values, places for results, views, calls left out with
    the reason) of a plan."""
    buffers, contents = [], []
    for size, dtype, values, where in plan["buffers"]:
        flat = torch.empty(size, dtype=getattr(torch, dtype), device=where or device)
        contents.append(tuple(values) if isinstance(values, list) else values)
        fill(flat, contents[-1])
        buffers.append(flat)
    operators = [found(*names) for names in plan["operators"]]
    placed = set()

    def argument(value):
        if isinstance(value, list):
            return [argument(each) for each in value]
        if not isinstance(value, dict):
            return value
        kind, content = next(iter(value.items()))
        if kind == "tensor":
            number, shape, strides, offset = content
            made = buffers[number].as_strided(shape, strides, offset)
            if number not in placed:
                placed.add(number)
                place(made, contents[number])
            return made
        if kind == "sparse":
            layout, shape, parts, coalesced = content
            made = [tensor(p[0], getattr(torch, p[1]), p[2], p[3], device) for p in parts]
            return sparse(layout, shape, made, coalesced)
        if kind == "storage":
            return torch.UntypedStorage(content, device=device)
        if kind in ("dtype", "layout", "memory_format"):
            return getattr(torch, content)
        if kind == "device":
            return torch.device(content or device)
        if kind == "float":
            return float(content)
        return complex(*content) if kind == "complex" else None

    left_out, compiled, calls = {}, {}, []
    for number, args, kwargs, kept_in, index in plan["calls"]:
        op, args = operators[number], argument(args)
        if isinstance(op, torch.fx.GraphModule):
            # A region is compiled for the arguments of its first call.
            if id(op) not in compiled:
                compiled[id(op)] = compiled_anew(op, args)
            op = compiled[id(op)]
        if callable(op):
            kwargs = {k: argument(v) for k, v in kwargs.items()}
            calls.append(((op, args, kwargs, kept_in), index))
        else:
            left_out[index] = op
    # Arguments that a call turns, moves or resizes in place.
    moved = [
        (given, kept(given)[0])
        for (op, args, _, _), _ in calls
        if isinstance(op, torch._ops.OpOverload) and moves(op)
        for given in args[:1]
    ]
    written = [buffers[number] for number in plan["written"]]
    was = [flat.clone() for flat in written]
    calls = runnable(calls, moved, left_out)
    return calls, list(zip(written, was)), [None] * plan["places"], moved, left_out


def compiled_anew(module, args):
    """The compiled region, or why there is none."""
    try:
        with torch.no_grad():
            return torch._inductor.compile(module, args)
    except Exception as error:
        return "it could not be compiled again: " + one_line(error)


def one_line(error):
    """An exception in one line."""
    lines = str(error).strip().splitlines() or [""]
    return (type(error).__name__ + ": " + lines[0])[:200]


def quick(op, args, kwargs, result):
    """torch's own function for an operator, where it gives the same form of result: a step calls
    its operators from C++, or by these, and not through the registry, which takes longer."""
    name = op._schema.name.partition("::")[2] if isinstance(op, torch._ops.OpOverload) else ""
    if not name or name.startswith("_") or moves(op):
        return op
    for home in (torch._C._VariableFunctions, torch._C._nn, torch._C.TensorBase):
        function = getattr(home, name, None)
        if function is None:
            continue
        try:
            if form(function(*args, **kwargs)) == form(result):
                return function
        except Exception:
            continue
    return op


def form(result):
    """The shapes, strides and dtypes of a result."""
    if isinstance(result, torch.Tensor):
        return result.layout is torch.strided and (result.shape, result.stride(), result.dtype)
    if isinstance(result, (list, tuple)):
        return [form(each) for each in result]
    return type(result)


def moves(op):
    """Whether an operator turns, moves or resizes its argument."""
    return torch.Tag.inplace_view in op.tags or op._schema.name in ("aten::set_", "aten::resize_")


def runnable(calls, moved, left_out):
    """The calls that run here: one that does not costs itself, not its phase."""
    kept = []
    for (op, args, kwargs, place), index in calls:
        try:
            result = op(*args, **kwargs)
        except Exception as error:
            left_out[index] = one_line(error)
            continue
        kept.append((quick(op, args, kwargs, result), args, kwargs, place))
    for view, form in moved:
        view.set_(*form)
    if left_out and not kept:
        raise RuntimeError("none of its calls runs: " + next(iter(left_out.values())))
    return kept
'''

#: The end of the line that makes a buffer, and what follows for one in page-locked memory.
#: Few steps have any; the source of the others, and so their history, stays as it is.
MADE = "device=where or device)\n"
LOCKED = """\
        if len(buffers) in plan["pinned"] and device != "cpu":
            flat = flat.pin_memory()
"""
PINNED_PROGRAM = PROGRAM.replace(MADE, MADE + LOCKED)
