"""The cases of one grouped definition, as source: by language, runtime and autograd mode."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Optional

from .args import AutogradMode, AutoLabels, Language, RuntimeMode
from .grouped import GroupedBenchmark, invocation
from .signature import mentions

#: TorchScript's profiling executor needs two calls before it runs its final code.
WARM_UP_CALLS = 3

CPP_DTYPES = {
    "float32": "torch::kFloat32",
    "float64": "torch::kFloat64",
    "float16": "torch::kFloat16",
    "bfloat16": "torch::kBFloat16",
    "int64": "torch::kInt64",
    "int32": "torch::kInt32",
    "bool": "torch::kBool",
}
SCRIPT_HEADERS = "#include <string>\n#include <vector>\n#include <torch/script.h>"


@dataclass(frozen=True)
class Variant:
    labels: AutoLabels
    stmt: str
    setup: str
    #: C++ outside of all functions.
    global_setup: str = ""
    #: Python that saves the TorchScript which the C++ setup loads, to the file `model_path`.
    prelude: str = ""


def variants(benchmark: GroupedBenchmark, device: str = "", dtype: str = "") -> Iterator[Variant]:
    """Every variant that the definition has, eager ones first."""
    runtimes = [RuntimeMode.EAGER]
    runtimes += [RuntimeMode.JIT] if benchmark.torchscript else []
    runtimes += [RuntimeMode.COMPILE] if benchmark.compile else []
    modes = [AutogradMode.FORWARD]
    modes += [AutogradMode.FORWARD_BACKWARD] if benchmark.autograd else []
    for runtime in runtimes:
        for mode in modes:
            for language in Language:
                labels = AutoLabels(runtime, mode, language)
                make = python if language is Language.PYTHON else cpp
                variant = make(benchmark, labels, device, dtype)
                if variant is not None:
                    yield variant


def python(
    benchmark: GroupedBenchmark, labels: AutoLabels, device: str, dtype: str
) -> Optional[Variant]:
    if benchmark.py_fwd_stmt is None:
        return None
    stmt, model = benchmark.py_fwd_stmt, ""
    if labels.runtime is not RuntimeMode.EAGER:
        assert benchmark.signature is not None
        stmt, _ = invocation(benchmark.signature, labels.runtime)
        model = benchmark.py_model_setup or ""
    elif not benchmark.inferred_model_setup:
        model = benchmark.py_model_setup or ""
    parts = [python_inputs(benchmark, device, dtype), model]
    if labels.runtime is RuntimeMode.JIT:
        parts.append(
            "import io\n\n_saved = io.BytesIO()\n"
            "torch.jit.save(torch.jit.script(model), _saved)\n"
            "_saved.seek(0)\njit_model = torch.jit.load(_saved)"
        )
    elif labels.runtime is RuntimeMode.COMPILE:
        parts.append("compiled_model = torch.compile(model)")
    if labels.autograd is AutogradMode.FORWARD_BACKWARD:
        outputs = benchmark.outputs
        parts.append(stmt)
        parts += [f"{y}_grad = None if {y}.numel() == 1 else torch.ones_like({y})" for y in outputs]
        stmt = joined(stmt, python_backward(outputs))
    if labels.runtime is not RuntimeMode.EAGER:
        warm = textwrap.indent(stmt, "    ")
        parts.append(f"for _ in range({WARM_UP_CALLS}):  # warm up\n{warm}")
    return Variant(labels, stmt, joined(*parts))


def cpp(
    benchmark: GroupedBenchmark, labels: AutoLabels, device: str, dtype: str
) -> Optional[Variant]:
    scripted = labels.runtime is RuntimeMode.JIT
    if labels.runtime is RuntimeMode.COMPILE or not (benchmark.cpp_fwd_stmt or scripted):
        return None
    if benchmark.cpp_fwd_stmt is None and not makes_inputs(benchmark):
        return None
    stmt, headers, prelude = benchmark.cpp_fwd_stmt or "", "", ""
    parts = [cpp_inputs(benchmark, device, dtype)]
    if scripted:
        assert benchmark.signature is not None
        _, stmt = invocation(benchmark.signature, RuntimeMode.JIT)
        headers = SCRIPT_HEADERS
        prelude = joined(
            "import torch",
            python_inputs(benchmark, device, dtype),
            benchmark.py_model_setup or "",
            "torch.jit.script(model).save(model_path)",
        )
        parts.append("auto jit_model = torch::jit::load(model_path);")
    else:
        parts.append(benchmark.cpp_model_setup or "")
    if labels.autograd is AutogradMode.FORWARD_BACKWARD:
        tensors = {y: f"{y}.toTensor()" if scripted else y for y in benchmark.outputs}
        parts.append("".join(f"at::Tensor {y}_grad;\n" for y in tensors).rstrip())
        find = [
            f"if ({tensor}.numel() != 1) {y}_grad = torch::ones_like({tensor});"
            for y, tensor in tensors.items()
        ]
        parts.append("{\n" + textwrap.indent(joined(stmt, *find), "    ") + "\n}")
        stmt = joined(stmt, cpp_backward(tensors))
    if scripted:
        body = textwrap.indent(stmt, "    ")
        warm = f"for (int warm_up = 0; warm_up < {WARM_UP_CALLS}; ++warm_up) {{\n{body}\n}}"
        parts.append(warm)
    global_setup = joined(benchmark.setup.global_setup, headers)
    return Variant(labels, stmt, joined(*parts), global_setup, prelude)


def makes_inputs(benchmark: GroupedBenchmark) -> bool:
    """Whether C++ can call what Python scripted: its setup makes the arguments."""
    text = f"{benchmark.setup.global_setup}\n{benchmark.setup.cpp_setup}"
    args = benchmark.signature_args or ()
    return bool(benchmark.setup.cpp_setup) and all(mentions(text, arg) for arg in args)


def python_inputs(benchmark: GroupedBenchmark, device: str, dtype: str) -> str:
    function = benchmark.function
    return joined(
        f"from {function[0]} import {function[1]}" if function else "",
        f'device = torch.device("{device}")' if device else "",
        f"dtype = torch.{dtype}" if dtype else "",
        benchmark.setup.py_setup,
    )


def cpp_inputs(benchmark: GroupedBenchmark, device: str, dtype: str) -> str:
    return joined(
        f'const auto device = torch::Device("{device}");' if device else "",
        f"const auto dtype = {CPP_DTYPES.get(dtype, dtype)};" if dtype else "",
        benchmark.setup.cpp_setup,
    )


def python_backward(outputs: tuple[str, ...]) -> str:
    if len(outputs) == 1:
        return f"{outputs[0]}.backward({outputs[0]}_grad)"
    grads = ", ".join(f"{y}_grad" for y in outputs)
    return f"torch.autograd.backward(({', '.join(outputs)}), ({grads}))"


def cpp_backward(tensors: dict[str, str]) -> str:
    if len(tensors) == 1:
        ((name, tensor),) = tensors.items()
        return f"{tensor}.backward({name}_grad);"
    grads = ", ".join(f"{y}_grad" for y in tensors)
    return f"torch::autograd::backward({{{', '.join(tensors.values())}}}, {{{grads}}});"


def joined(*parts: str) -> str:
    return "\n".join(part.strip("\n") for part in parts if part.strip())
