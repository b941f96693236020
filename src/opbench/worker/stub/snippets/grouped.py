"""`GroupedStmts`, `GroupedModules`, `GroupedVariants`: many cases written down as one."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, fields
from itertools import zip_longest
from typing import Any, Optional, Union

from .args import RuntimeMode, check_threads, keep_flags
from .errors import SnippetError
from .signature import Signature, check_arguments, check_cpp, check_python, parse
from .tables import split_variants


@dataclass(frozen=True)
class GroupedSetup:
    py_setup: str = ""
    cpp_setup: str = ""
    #: C++ outside of all functions, above everything else: `#include`s, helper functions.
    global_setup: str = ""
    #: For the compiler and the linker, as `torch.utils.cpp_extension.load` takes them. Paths are
    #: relative to the folder of the file, whose headers are found without being asked for.
    extra_include_paths: tuple[str, ...] = ()
    extra_cflags: tuple[str, ...] = ()
    extra_ldflags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("py_setup", "cpp_setup", "global_setup"):
            value = getattr(self, name)
            if not isinstance(value, str):
                raise SnippetError(f"{name} must be source text, not {value!r}")
            object.__setattr__(self, name, textwrap.dedent(value).strip("\n"))
        keep_flags(self)


NO_SETUP = GroupedSetup()


@dataclass(frozen=True)
class GroupedBenchmark:
    """A snippet, and which of its variants are wanted. Created by one of the `init_from_…`.

    setup        how inputs are made, in both languages
    signature    `f(x, w) -> y`: needed for models, `torchscript`, `autograd` and `compile`; several
                 outputs with commas, `-> None` for none
    torchscript  also as TorchScript
    autograd     also forward and backward together
    compile      also through torch.compile (Python)
    num_threads  one number of threads, or several
    device       one or more devices; the sources then see `device`
    dtype        one or more dtypes; the sources then see `dtype`
    """

    py_fwd_stmt: Optional[str]
    cpp_fwd_stmt: Optional[str]
    #: Source that defines `model`; derived from the statement where TorchScript is wanted.
    py_model_setup: Optional[str]
    cpp_model_setup: Optional[str]
    #: Whether the statements are the user's own, and the model is derived from them.
    inferred_model_setup: bool
    setup: GroupedSetup
    signature_args: Optional[tuple[str, ...]]
    #: As in the signature: `y`, or `y, z`.
    signature_output: Optional[str]
    torchscript: bool
    autograd: bool
    num_threads: tuple[int, ...]
    compile: bool = False
    devices: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    #: (module, name) of the user's function that the statement calls.
    function: Optional[tuple[str, str]] = None

    @classmethod
    def init_from_stmts(
        cls,
        py_stmt: Any = None,
        cpp_stmt: Optional[str] = None,
        setup: GroupedSetup = NO_SETUP,
        signature: Optional[str] = None,
        torchscript: bool = False,
        autograd: bool = False,
        num_threads: Union[int, tuple[int, ...]] = 1,
        compile: bool = False,
        device: Any = (),
        dtype: Any = (),
    ) -> GroupedBenchmark:
        """From statements; `py_stmt` may also be a function, called as the signature says."""
        parsed = parse(signature)
        function = None
        if callable(py_stmt):
            function, py_stmt = called(py_stmt, parsed)
        py_stmt, cpp_stmt = source("py_stmt", py_stmt), source("cpp_stmt", cpp_stmt)
        if py_stmt is None and cpp_stmt is None:
            raise SnippetError("a snippet needs py_stmt, cpp_stmt or both")
        closed = torchscript or compile
        if closed and py_stmt is None:
            raise SnippetError("TorchScript is compiled from py_stmt, which is missing")
        need_signature(parsed, torchscript=torchscript, autograd=autograd, compile=compile)
        if parsed is not None and py_stmt is not None and function is None:
            check_python(parsed, py_stmt, with_axes(setup.py_setup, device, dtype), closed)
        if parsed is not None and cpp_stmt is not None:
            check_cpp(parsed, cpp_stmt, f"{setup.global_setup}\n{setup.cpp_setup}")
        model = None
        if closed and py_stmt is not None and parsed is not None:
            model = as_function(py_stmt, parsed) if function is None else f"model = {function[1]}"
        return cls._create(
            py_stmt, cpp_stmt, model, None, True, setup, parsed, torchscript, autograd,
            num_threads, compile, device, dtype, function,
        )  # fmt: skip

    @classmethod
    def init_from_model(
        cls,
        py_model_setup: Optional[str] = None,
        cpp_model_setup: Optional[str] = None,
        setup: GroupedSetup = NO_SETUP,
        signature: Optional[str] = None,
        torchscript: bool = False,
        autograd: bool = False,
        num_threads: Union[int, tuple[int, ...]] = 1,
        compile: bool = False,
        device: Any = (),
        dtype: Any = (),
    ) -> GroupedBenchmark:
        """From source that defines `model`: a module, or a function."""
        parsed = parse(signature)
        if parsed is None:
            raise SnippetError("a model needs a signature, which names its arguments")
        if py_model_setup is None and cpp_model_setup is None:
            raise SnippetError("a model needs py_model_setup, cpp_model_setup or both")
        if (torchscript or compile) and py_model_setup is None:
            raise SnippetError("TorchScript is compiled from py_model_setup, which is missing")
        need_signature(parsed, torchscript=torchscript, autograd=autograd, compile=compile)
        python, cpp = source("py_model_setup", py_model_setup), source("", cpp_model_setup)
        for name, text in (("py_model_setup", python), ("cpp_model_setup", cpp)):
            if text is not None and "model" not in text:
                raise SnippetError(f"{name} does not define `model`: {text.splitlines()[0]}")
        if python is not None:
            check_arguments(parsed, with_axes(setup.py_setup, device, dtype))
        calls = invocation(parsed, RuntimeMode.EAGER)
        return cls._create(
            calls[0] if python is not None else None, calls[1] if cpp is not None else None,
            python, cpp, False, setup, parsed, torchscript, autograd,
            num_threads, compile, device, dtype, None,
        )  # fmt: skip

    @classmethod
    def init_from_variants(
        cls,
        py_block: str = "",
        cpp_block: str = "",
        num_threads: Union[int, tuple[int, ...]] = 1,
    ) -> dict[tuple[str, ...], GroupedBenchmark]:
        """One benchmark per line, labelled by the `# @label` (C++: `// @label`) above it."""
        python, py_setup, py_global = split_variants(py_block, "#")
        cpp, cpp_setup, global_setup = split_variants(cpp_block, "//")
        if py_global:
            raise SnippetError("`@global setup` belongs to C++; in Python use `@setup`")
        setup = GroupedSetup(py_setup, cpp_setup, global_setup)
        found: dict[tuple[str, ...], GroupedBenchmark] = {}
        for label in dict.fromkeys([*python, *cpp]):
            lines = zip_longest(python.get(label, ()), cpp.get(label, ()), fillvalue="")
            pairs = [(ours, theirs) for ours, theirs in lines if ours or theirs]
            for index, (ours, theirs) in enumerate(pairs):
                key = (label, f"Case: {index:>2}") if len(pairs) > 1 else (label,)
                found[key] = cls.init_from_stmts(
                    ours or None, theirs or None, setup=setup, num_threads=num_threads
                )
        return found

    @classmethod
    def _create(
        cls, py_stmt, cpp_stmt, py_model, cpp_model, inferred, setup, parsed, torchscript,
        autograd, num_threads, compile_, device, dtype, function,
    ) -> GroupedBenchmark:  # fmt: skip
        if not isinstance(setup, GroupedSetup):
            raise SnippetError(f"setup must be a GroupedSetup, not {setup!r}")
        return cls(
            py_stmt,
            cpp_stmt,
            py_model,
            cpp_model,
            inferred,
            setup,
            None if parsed is None else parsed.args,
            (", ".join(parsed.outputs) or None) if parsed is not None else None,
            bool(torchscript),
            bool(autograd),
            check_threads(num_threads),
            bool(compile_),
            as_tuple(device),
            tuple(str(name).replace("torch.", "") for name in as_tuple(dtype)),
            function,
        )

    @property
    def outputs(self) -> tuple[str, ...]:
        return tuple(self.signature_output.split(", ")) if self.signature_output else ()

    @property
    def signature(self) -> Optional[Signature]:
        if self.signature_args is None:
            return None
        return Signature(self.signature_args, self.outputs)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types; `from_dict` is its inverse."""
        data = {field.name: getattr(self, field.name) for field in fields(self)}
        data["setup"] = [getattr(self.setup, field.name) for field in fields(self.setup)]
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> GroupedBenchmark:
        values = dict(data, setup=GroupedSetup(*data["setup"]))
        for name in ("signature_args", "num_threads", "devices", "dtypes", "function"):
            values[name] = None if values[name] is None else tuple(values[name])
        return cls(**values)


def source(name: str, text: Any) -> Optional[str]:
    if text is None:
        return None
    if not isinstance(text, str):
        raise SnippetError(f"{name} must be source text, not {text!r}")
    text = textwrap.dedent(text).strip("\n")
    return text if text.strip() else "pass" if name == "py_stmt" else text


def as_tuple(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) or not hasattr(value, "__iter__") else tuple(value)


def with_axes(setup: str, device: Any, dtype: Any) -> str:
    """The setup, preceded by the names that the axes define."""
    extra = [name for name, given in (("device", device), ("dtype", dtype)) if as_tuple(given)]
    return "\n".join([*(f"{name} = None" for name in extra), setup])


def need_signature(signature: Optional[Signature], **wanted: bool) -> None:
    for option, on in wanted.items():
        if on and signature is None:
            raise SnippetError(f"{option}=True needs a signature such as 'f(x, w) -> y'")
    if wanted["autograd"] and signature is not None and not signature.outputs:
        raise SnippetError("autograd=True needs an output to go backward from, not -> None")


def called(function: Any, signature: Optional[Signature]) -> tuple[tuple[str, str], str]:
    """((module, name), statement) for a plain function of the user's."""
    from ..addresses import BenchError, address

    label = getattr(function, "__name__", type(function).__name__)
    try:
        where = address(function, label, "statement")
    except BenchError as error:
        raise SnippetError(str(error)) from None
    if signature is None:
        return where, f"{where[1]}()"
    assign = f"{', '.join(signature.outputs)} = " if signature.outputs else ""
    return where, f"{assign}{where[1]}({', '.join(signature.args)})"


def as_function(stmt: str, signature: Signature) -> str:
    """The statement as the body of a function `model`."""
    body = textwrap.indent(stmt, "    ")
    returned = f"\n    return {', '.join(signature.outputs)}" if signature.outputs else ""
    return f"{signature.imports}def model({signature.parameters}):\n{body}{returned}"


def invocation(signature: Signature, runtime: RuntimeMode) -> tuple[str, str]:
    """The call of `model`, or of its compiled form, in Python and in C++."""
    args, outputs = ", ".join(signature.args), signature.outputs
    name = {RuntimeMode.JIT: "jit_model", RuntimeMode.COMPILE: "compiled_model"}.get(
        runtime, "model"
    )
    python = f"{', '.join(outputs)} = {name}({args})" if outputs else f"{name}({args})"
    if runtime is RuntimeMode.JIT:
        values = ", ".join(f"torch::jit::IValue({arg})" for arg in signature.args)
        make = f"std::vector<torch::jit::IValue> ivalue_inputs({{{values}}});\n"
        call = f"{name}.forward(ivalue_inputs);"
        if len(outputs) > 1:
            taken = "".join(
                f"\nauto {output} = ivalue_outputs->elements()[{index}];"
                for index, output in enumerate(outputs)
            )
            return python, f"{make}auto ivalue_outputs = {call[:-1]}.toTuple();{taken}"
        return python, make + (f"auto {outputs[0]} = {call}" if outputs else call)
    bound = f"auto [{', '.join(outputs)}] = " if len(outputs) > 1 else ""
    bound = bound or (f"auto {outputs[0]} = " if outputs else "")
    return python, f"{bound}{name}->forward({args});"


GroupedStmts = GroupedBenchmark.init_from_stmts
GroupedModules = GroupedBenchmark.init_from_model
GroupedVariants = GroupedBenchmark.init_from_variants
