"""Source that every replayed call begins with: creates its tensors, finds its operator.

This text is executed by a worker, or stands at the top of a reproducer script: torch and the
standard library are all it knows.
"""

from __future__ import annotations

from opbench.suites.captured.makers.graphs import COMPILED as COMPILED
from opbench.suites.captured.makers.step import PINNED_PROGRAM, PROGRAM
from opbench.suites.captured.makers.tensors import TENSOR

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

IMPORTS = "import base64\nimport math\n\nimport torch\n"

#: What a call writes to, as it was: a call may also turn, move or resize its argument.
WRITTEN = """\
def kept(tensor):
    if tensor.layout is not torch.strided:
        return None, tensor.clone()
    storage = tensor.untyped_storage()
    return (storage, tensor.storage_offset(), tensor.shape, tensor.stride()), tensor.clone()


def put_back(tensor, was):
    form, values = was
    if form and form[1:] != (tensor.storage_offset(), tensor.shape, tensor.stride()):
        tensor.set_(*form)
    tensor.copy_(values)
"""

#: What a single call needs.
CALL = f"{IMPORTS}\n\n{OPERATOR}\n\n{TENSOR}\n\n{WRITTEN}"

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

STEP = f"import json\n{CALL}\n\n{COMPILED}\n\n{PROGRAM}"
PINNED_STEP = f"import json\n{CALL}\n\n{COMPILED}\n\n{PINNED_PROGRAM}"
