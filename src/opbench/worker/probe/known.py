"""The packages that are asked for by name: frameworks, and what belongs to them.

A framework that is added has a file in `frameworks/`, with the name of its module. Those files need
opbench, which the interpreter that runs this may not have: their names are enough.
"""

import os

#: In the order in which a worker imports them.
MODULES = ("torch", "triton", "opacus", "numpy", "jax", "onnxruntime", "mxnet")
#: A package and the distributions that may provide it, the most usual first.
DISTRIBUTIONS = {
    "torch": ("torch",),
    "opacus": ("opacus",),
    "numpy": ("numpy",),
    "jax": ("jax",),
    "jaxlib": ("jaxlib",),
    "onnxruntime": ("onnxruntime", "onnxruntime-gpu"),
    "onnx": ("onnx",),
    "mxnet": ("mxnet", "mxnet-mkl", "mxnet-cu112", "mxnet-cu110"),
    "transformers": ("transformers",),
}
#: Files of `frameworks/` that are no package.
NO_PACKAGES = ("__init__", "framework", "python", "torch_compile")


def added():
    """Frameworks that have a file, and are not named above."""
    folder = os.path.join(os.path.dirname(__file__), "..", "..", "frameworks")
    files = os.listdir(folder) if os.path.isdir(folder) else []
    names = sorted(name[:-3] for name in files if name.endswith(".py"))
    return [name for name in names if name not in NO_PACKAGES and name not in MODULES]


def modules():
    """Those known to survive being imported before a fork, so a worker may preload them."""
    return (*MODULES, *added())


def distributions():
    return {**DISTRIBUTIONS, **{name: (name,) for name in added()}}
