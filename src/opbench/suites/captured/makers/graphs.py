"""Source that makes a compiled region of its graph again."""

#: A region of `torch.compile`: its graph is compiled anew, or run operator by operator.
COMPILED = '''\
def graph_module(nodes):
    """The captured graph; its operators come from torch's registry."""
    import operator as python

    import torch._inductor.inductor_prims  # registers operators of its own

    graph, module, made = torch.fx.Graph(), torch.nn.Module(), []

    def value(given):
        if isinstance(given, list):
            return [value(each) for each in given]
        if not isinstance(given, dict):
            return given
        kind, content = next(iter(given.items()))
        if kind == "node":
            return made[content]
        if kind in ("dtype", "layout", "memory_format"):
            return getattr(torch, content)
        if kind == "device":
            return torch.device(content)
        if kind == "float":
            return float(content)
        return complex(*content) if kind == "complex" else None

    for number, (kind, *parts) in enumerate(nodes):
        if kind == "input":
            made.append(graph.placeholder(f"x{number}"))
        elif kind == "constant":
            dtype, shape = parts[0]["t"][:-1].split("[")
            size = [int(each) for each in shape.split(",") if each]
            values = parts[0].get("v")
            values = tuple(values) if isinstance(values, list) else values
            constant = tensor(size, getattr(torch, dtype), parts[0].get("s"), values)
            module.register_buffer(f"c{number}", constant)
            made.append(graph.get_attr(f"c{number}"))
        elif kind == "call":
            space, _, name = parts[0].partition("::")
            base, _, overload = name.partition(".")
            if parts[0] == "aten::view":  # as Inductor does, whose strides may not allow a view
                base = "reshape"
            if space == "python":
                target = getattr(python, base)
            else:
                target = operator(f"{space}::{base}", overload or "default")
            named = {name: value(each) for name, each in parts[2].items()}
            made.append(graph.call_function(target, tuple(map(value, parts[1])), named))
        else:
            made.append(graph.output(tuple(value(parts[0]))))
    return torch.fx.GraphModule(module, graph)


def eager_graph(nodes, inputs):
    """The captured graph, operator by operator."""
    return graph_module(nodes)


def compiled_graph(nodes, inputs):
    """The captured graph, compiled for these inputs."""
    import torch._inductor

    with torch.no_grad():
        return torch._inductor.compile(graph_module(nodes), list(inputs))
'''
