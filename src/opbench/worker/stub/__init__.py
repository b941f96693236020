"""A stub of `opbench` for the processes that import a user's file.

A user's file says `import opbench as ob`, but it is imported where opbench may not be installed,
and where a nested `ob.run()` makes no sense. Here the decorator registers, exactly as the real
one does (it is the same file, `bench.py`), and everything else does nothing.
"""

from __future__ import annotations

import sys
import types

from . import layers, snippets, sweeps
from .addresses import BenchError, package_of
from .bench import bench, registered
from .versus import compared

__all__ = [
    "BenchError", "Nothing", "bench", "compared", "install", "layers", "package_of", "registered",
    "snippets", "sweeps",
]  # fmt: skip


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
    entries, options = compared(*functions, **given)
    registered().extend({**entry, "options": options} for entry in entries)
    return Nothing()


class Stub(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing()


def install() -> types.ModuleType:
    """Replace `opbench` by the stub, whether or not the real package was imported."""
    for name in [n for n in sys.modules if n == "opbench" or n.startswith("opbench.")]:
        del sys.modules[name]
    stub = Stub("opbench", __doc__)
    stub.__path__ = []  # a package without submodules: `import opbench.x` fails clearly
    stub.__dict__.update(bench=bench, versus=versus, BenchError=BenchError)
    stub.__dict__.update(layer_pair=layers.layer_pair, grad_sample_mode=layers.grad_sample_mode)
    sys.modules["opbench"] = stub
    # The only submodule: definitions made with it are data.
    stub.__dict__["snippets"] = sys.modules["opbench.snippets"] = snippets
    registered().clear()
    layers.clear()
    return stub
