"""The operators a framework has, as JSON: `main.py probe.inventory FRAMEWORK`.

Run by the interpreter of the framework's environment. The framework is imported and asked for
names; no operator runs.
"""

import importlib
import inspect
import json
import re

#: Modules to search, for frameworks without a function of their own below.
MODULES = {
    "jax": ("jax.numpy", "jax.lax", "jax.nn", "jax.scipy.special", "jax.numpy.linalg"),
    "numpy": ("numpy", "numpy.linalg", "numpy.fft"),
    "mxnet": ("mxnet.ndarray", "mxnet.ndarray.linalg", "mxnet.ndarray.random"),
}
#: Prefixes of functions that create, print, store or inspect arrays, or configure the library.
NOT_OPERATORS = (
    "set", "get", "is", "save", "load", "from", "array2", "print", "show", "seterr", "tobytes",
    "register", "iinfo", "finfo", "issub", "isscalar", "may_share", "shares", "apply_along",
    "array_repr", "array_str", "base_repr", "binary_repr", "format_float", "datetime_", "busday_",
    "can_cast", "promote_types", "result_type", "common_type", "min_scalar_type", "mintypecode",
    "typename", "info", "test", "genfromtxt", "iterable", "nested_iters", "einsum_path",
    "broadcast_shapes", "padtype", "conv_dimension_numbers", "indexing_key", "to_dlpack", "waitall",
    "has_torch", "handle_torch", "assert_", "boolean_dispatch",
)  # fmt: skip
#: And endings of such.
NOT_ENDINGS = ("_shape_tuple",)
#: How documentation begins where a function is another under a second name: that other.
ALIAS = re.compile(r"[Aa]lias (?:for|of) (?::func:)?`~?([\w.]+)`")
#: Characters of it that are read; further on, others are mentioned.
BEGINNING = 250
#: Names that the documentation of jax.lax does not connect with those of jax.numpy.
LAX = {
    "add": "add", "sub": "subtract", "mul": "multiply", "div": "divide", "neg": "negative",
    "pow": "power", "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal",
    "gt": "greater", "ge": "greater_equal",
}  # fmt: skip


def main(framework):
    found = globals().get("of_" + framework, of_modules)(framework)
    print(json.dumps({group: sorted(map(listed, names)) for group, names in found.items()}))


def listed(names):
    """All names of one operator, each once; the first is one that the module has."""
    return [names] if isinstance(names, str) else list(dict.fromkeys(names))


def of_modules(framework):
    return {name: synonyms(importlib.import_module(name)) for name in MODULES[framework]}


def synonyms(module):
    """The names of each function: `acos` of NumPy is `arccos`."""
    found: dict = {}
    for name in sorted(functions(module)):
        found.setdefault(id(getattr(module, name)), []).append(name)
    more = LAX if module.__name__ == "jax.lax" else {}
    return [
        [
            *names,
            *(another_name(getattr(module, name), name) for name in names),
            *(more[name] for name in names if name in more),
        ]
        for names in found.values()
    ]


def another_name(value, name):
    """The function of which the documentation says that this is an alias; its own name if none."""
    found = ALIAS.search((getattr(value, "__doc__", None) or "")[:BEGINNING])
    return found.group(1).rpartition(".")[2] if found else name


def functions(module):
    """Public functions of a module that take tensors."""
    listed = getattr(module, "__all__", None) or dir(module)
    names = []
    for name in listed:
        value = getattr(module, name, None)
        if name.startswith("_") or inspect.isclass(value) or inspect.ismodule(value):
            continue
        if type(value).__module__ in ("typing", "types"):  # Optional[…] is callable
            continue
        hidden = name.lower().startswith(NOT_OPERATORS) or name.endswith(NOT_ENDINGS)
        if callable(value) and not hidden:
            names.append(name)
    return names


#: Operators that users reach under another name, or that belong to one library or layout.
TORCH_INTERNAL = (
    "cudnn", "miopen", "mkldnn", "fbgemm", "native_", "fake_quant", "quant", "q_", "sparse_",
    "new_", "to_", "crow_", "ccol_", "col_", "row_", "batch_norm_", "retain", "record", "rename",
    "refine", "output_nr", "dense_dim", "dim", "data", "item", "numel", "size", "stride", "storage",
    "sym_", "unsafe_", "promote", "result_type", "can_cast", "empty_q", "int_repr", "fused_moving",
    "lift", "requires_grad", "choose_qparams", "max_pool1d_with", "resize", "swap", "align",
)  # fmt: skip


def of_torch(_framework):
    """Operators of ATen that users can reach by name, and what torch.nn.functional adds."""
    torch = importlib.import_module("torch")
    functional = importlib.import_module("torch.nn.functional")
    aten = set()
    for full in torch._C._dispatch_get_all_op_names():
        name = full.partition("::")[2].partition(".")[0]
        hidden = name.startswith("_") or name.endswith(("_backward", "_copy"))
        if (
            hidden
            or not full.startswith("aten::")
            or name.startswith(NOT_OPERATORS + TORCH_INTERNAL)
        ):
            continue
        if hasattr(torch, name) or hasattr(torch.Tensor, name):
            aten.add(name)
    aten = {name for name in aten if not (name.endswith("_") and name[:-1] in aten)}
    named = set(functions(functional)) - aten
    by_function: dict = {}
    for name in sorted(aten):
        by_function.setdefault(another_name(getattr(torch, name, None), name), []).append(name)
    return {
        "torch.ops.aten": [[*names, function] for function, names in by_function.items()],
        "torch.nn.functional": named,
    }


def of_onnxruntime(_framework):
    defs = importlib.import_module("onnx").defs
    current = {schema.name for schema in defs.get_all_schemas() if not schema.deprecated}
    return {"onnx": {name for name in current if defs.has(name)}}
