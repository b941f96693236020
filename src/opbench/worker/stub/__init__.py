"""A stub of `opbench` for the processes that import a user's file.

A user's file says `import opbench as ob`, but it is imported where opbench may not be installed,
and where a nested `ob.run()` makes no sense. Here the decorator registers, exactly as the real
one does (it is the same file, `bench.py`), and everything else does nothing.

Every child imports it anew, and most files use little of it: the parts are imported when they are
first asked for.
"""

from __future__ import annotations

import importlib
import sys
import types

from .addresses import BenchError, package_of
from .bench import bench, registered

__all__ = [
    "BenchError", "Nothing", "bench", "install", "layers", "package_of", "registered", "snippets",
    "sweeps",
]  # fmt: skip

PARTS = ("layers", "snippets", "sweeps")


def __getattr__(name):
    if name in PARTS:
        return importlib.import_module("." + name, __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class Nothing:
    """What `ob.run()`, `ob.load()` and the like return: an object that accepts anything."""

    def __call__(self, *_args, **_kwargs):
        return self

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __getitem__(self, _key):
        return self

    def __setitem__(self, _key, _value):
        pass

    def __iter__(self):
        return iter(())

    def __len__(self):
        return 0

    def __bool__(self):
        return False

    def __float__(self):
        return 0.0

    def __enter__(self):
        return self

    def __exit__(self, *_exception):
        return False

    def __repr__(self):
        return "<nothing: opbench does not run while a file is being imported>"

    def _same(self, *_other):
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _same
    __truediv__ = __rtruediv__ = __neg__ = __and__ = __or__ = _same
    __lt__ = __le__ = __gt__ = __ge__ = _same


def versus(*functions, **given):
    """Registers the functions; `opbench run` measures them with what is given for the run."""
    from .versus import compared

    entries, options = compared(*functions, **given)
    registered().extend({**entry, "options": options} for entry in entries)
    return Nothing()


class Stub(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if name in ("layer_pair", "grad_sample_mode"):
            return getattr(__getattr__("layers"), name)
        return Nothing()


class Snippets(types.ModuleType):
    """The only submodule, `opbench.snippets`: definitions made with it are data."""

    def __getattr__(self, name):
        if name.startswith("__") and name != "__all__":  # who looks through all modules asks those
            raise AttributeError(name)
        return getattr(__getattr__("snippets"), name)


def install() -> types.ModuleType:
    """Replace `opbench` by the stub, whether or not the real package was imported."""
    for name in [n for n in sys.modules if n == "opbench" or n.startswith("opbench.")]:
        del sys.modules[name]
    stub = Stub("opbench", __doc__)
    stub.__path__ = []  # a package without other submodules: `import opbench.x` fails clearly
    snippets = Snippets("opbench.snippets")
    stub.__dict__.update(bench=bench, versus=versus, BenchError=BenchError, snippets=snippets)
    sys.modules.update({"opbench": stub, "opbench.snippets": snippets})
    registered().clear()
    layers = sys.modules.get(__name__ + ".layers")
    if layers is not None:
        layers.clear()
    return stub
