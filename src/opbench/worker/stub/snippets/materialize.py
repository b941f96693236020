"""Grouped definitions as plain `TimerArgs`, for torch's own Timer."""

from __future__ import annotations

import os
import tempfile
from typing import Any

from .args import AutogradMode, AutoLabels, Language, RuntimeMode, TimerArgs
from .found import flatten
from .variants import Variant, joined, variants

#: torch.jit.script reads a function's source through linecache, and needs its module; Timer has
#: neither.
WITH_SOURCE = """\
import linecache
globals().setdefault("__name__", "opbench_snippet")
_source = {source!r}
linecache.cache["<snippet>"] = (len(_source), None, _source.splitlines(True), "<snippet>")
exec(compile(_source, "<snippet>", "exec"), globals())"""


def materialize(benchmarks: dict) -> tuple[tuple[tuple[str, ...], AutoLabels, TimerArgs], ...]:
    """`(label, auto labels, TimerArgs)` of every case of nested or flat definitions.

    TorchScript that C++ loads is compiled and saved now, which needs torch, to a temporary folder
    that is removed when this process exits; everything else is text.
    """
    found: list[tuple[tuple[str, ...], AutoLabels, TimerArgs]] = []
    for label, definition in flatten(benchmarks).items():
        if isinstance(definition, TimerArgs):
            explicit = AutoLabels(RuntimeMode.EXPLICIT, AutogradMode.EXPLICIT, definition.language)
            found.append((label, explicit, definition))
            continue
        device = (definition.devices or ("",))[0]
        dtype = (definition.dtypes or ("",))[0]
        for variant in variants(definition, device, dtype):
            args = timer_args(definition, variant)
            for threads in definition.num_threads:
                found.append((label, variant.labels, TimerArgs(num_threads=threads, **args)))
    return tuple(found)


def timer_args(definition: Any, variant: Variant) -> dict[str, Any]:
    setup = variant.setup
    model = definition.py_model_setup or ""
    if variant.labels.language is Language.PYTHON:
        if variant.labels.runtime is RuntimeMode.JIT:
            setup = setup.replace(model, WITH_SOURCE.format(source=f"import torch\n{model}\n"), 1)
        setup = setup or "pass"
    elif variant.prelude:
        setup = joined(f'const std::string model_path = "{saved(variant.prelude)}";', setup)
    return {
        "stmt": variant.stmt,
        "setup": setup,
        "global_setup": variant.global_setup,
        "language": variant.labels.language,
    }


def saved(prelude: str) -> str:
    """Run the Python that saves a TorchScript; returns the file."""
    import atexit
    import linecache
    import shutil

    folder = tempfile.mkdtemp(prefix="opbench-torchscript-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = os.path.join(folder, "model.pt")
    name = f"<{path}>"
    linecache.cache[name] = (len(prelude), None, prelude.splitlines(True), name)
    exec(compile(prelude, name, "exec"), {"model_path": path, "__name__": "opbench_model"})
    return path
