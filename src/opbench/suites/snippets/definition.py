"""A grouped snippet as a Definition: its languages and runtimes are axes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from opbench.case import Case, CppBuild, UserModule
from opbench.define.definition import Axis, Context, Definition, Point
from opbench.define.program import Program
from opbench.worker.cpp.source import TORCH_NAMES
from opbench.worker.stub.snippets.args import (
    FLAGS,
    AutogradMode,
    Language,
    RuntimeMode,
    TimerArgs,
)
from opbench.worker.stub.snippets.grouped import GroupedBenchmark
from opbench.worker.stub.snippets.variants import CPP_DTYPES, Variant, variants

Snippet = GroupedBenchmark | TimerArgs

LANGUAGES = {Language.PYTHON: "python", Language.CPP: "cpp"}
RUNTIMES = {
    RuntimeMode.EAGER: "eager",
    RuntimeMode.JIT: "torchscript",
    RuntimeMode.COMPILE: "compile",
}
STAGES = {AutogradMode.FORWARD: "forward", AutogradMode.FORWARD_BACKWARD: "forward_backward"}
#: Modules that these runtimes and stages import late; they survive a fork, so they are preloaded.
PRELOAD = {
    "compile": ("torch._dynamo", "torch._inductor"),
    "forward_backward": ("torch.fx.experimental.symbolic_shapes",),
}


@dataclass(frozen=True)
class SnippetDefinition(Definition):
    snippet: Snippet | None = None
    user: UserModule | None = None
    label: tuple[str, ...] = ()

    def cases(self, point: Point, context: Context) -> Iterator[Case]:
        """The variants at this point; a combination that the snippet lacks yields none."""
        if isinstance(self.snippet, TimerArgs):
            if not context.stages or "call" in context.stages:
                yield self.labelled(explicit(self, self.snippet, point, context))
            return
        assert self.snippet is not None
        # The sources see the device of --device only if the snippet declares devices.
        device = context.device if self.snippet.devices else ""
        dtype = str(point.get("dtype") or "")
        for variant in variants(self.snippet, device, dtype):
            stage = STAGES[variant.labels.autograd]
            wanted = not context.stages or stage in context.stages
            if wanted and matches(variant, point):
                yield self.labelled(self.variant_case(variant, stage, point, context))

    def variant_case(self, variant: Variant, stage: str, point: Point, context: Context) -> Case:
        runtime = RUNTIMES[variant.labels.runtime]
        if variant.labels.language is Language.PYTHON:
            program = Program(
                variant.stmt,
                setup=variant.setup,
                user=self.user_of(f"{variant.setup}\n{variant.stmt}"),
                preload=(*PRELOAD.get(runtime, ()), *PRELOAD.get(stage, ())),
                unsupported=immovable(self.snippet, context.device),
            )
            # The statement is already the whole stage.
            return replace(self.case(stage, "call", program, point, context), runtime=runtime)
        return cpp_case(self, variant, stage, runtime, point, context)

    def user_of(self, text: str) -> UserModule | None:
        """The user's module, if the text calls its functions or imports a neighbour of its file."""
        needed = getattr(self.snippet, "function", None) is not None
        return self.user if needed or (self.user and beside(text, self.user.root)) else None

    def labelled(self, case: Case) -> Case:
        return replace(case, label=self.label or None)


def beside(text: str, root: str) -> bool:
    """Whether a text imports a module of that folder: a file, a package, a built extension."""
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except SyntaxError:
        return False
    names = {a.name.split(".")[0] for n in nodes if isinstance(n, ast.Import) for a in n.names}
    names |= {
        (n.module or "").split(".")[0]
        for n in nodes
        if isinstance(n, ast.ImportFrom) and not n.level
    }
    folder = Path(root)
    return any(
        (folder / f"{name}.py").is_file()
        or (folder / name).is_dir()
        or next(folder.glob(f"{name}.*so"), None) is not None
        for name in names
        if name
    )


def definition_of(
    suite: str,
    label: tuple[str, ...],
    snippet: Snippet,
    *,
    user: UserModule | None = None,
    origin: str = "",
) -> SnippetDefinition:
    return SnippetDefinition(
        suite=suite,
        name=name_of(label),
        axes=axes_of(snippet),
        framework="torch" if uses_torch(snippet) else "python",
        stages=stages_of(snippet),
        origin=origin,
        snippet=snippet,
        user=user,
        label=label,
    )


def definitions_of(
    suite: str,
    flat: Iterable[tuple[tuple[str, ...], Snippet]],
    *,
    user: UserModule | None = None,
    origin: str = "",
) -> list[Definition]:
    """Definitions with unique names, even if two labels differ in punctuation only."""
    by_name: dict[str, SnippetDefinition] = {}
    for label, snippet in flat:
        definition = definition_of(suite, label, snippet, user=user, origin=origin)
        name, number = definition.name, 2
        while name in by_name:
            name, number = f"{definition.name}_{number}", number + 1
        by_name[name] = replace(definition, name=name)
    return list(by_name.values())


def name_of(label: tuple[str, ...]) -> str:
    """`math.add.tensor-scalar` from ("Math", "add", "Tensor-Scalar"): no spaces, no brackets."""
    parts = [re.sub(r"[\s\[\]/,=()]+", "_", part).strip("_") or "_" for part in label]
    return ".".join(parts) or "snippet"


def axes_of(snippet: Snippet) -> dict[str, Axis]:
    if isinstance(snippet, TimerArgs):
        return {"language": Axis((LANGUAGES[snippet.language],))} | threads((snippet.num_threads,))
    all_variants = list(variants(snippet))
    languages = dict.fromkeys(LANGUAGES[v.labels.language] for v in all_variants)
    runtimes = dict.fromkeys(RUNTIMES[v.labels.runtime] for v in all_variants)
    axes = {"language": Axis(tuple(languages)), "runtime": Axis(tuple(runtimes))}
    axes |= threads(snippet.num_threads)
    if snippet.devices:
        axes["device"] = Axis(snippet.devices, open=True)
    if snippet.dtypes:
        axes["dtype"] = Axis(snippet.dtypes, choices=tuple(CPP_DTYPES))
    return axes


def threads(counts: tuple[int, ...]) -> dict[str, Axis]:
    return {"threads": Axis(counts, open=True)} if counts != (1,) else {}


def stages_of(snippet: Snippet) -> tuple[str, ...]:
    if isinstance(snippet, TimerArgs):
        return ("call",)
    return ("forward", "forward_backward") if snippet.autograd else ("forward",)


def matches(variant: Variant, point: Point) -> bool:
    labels = variant.labels
    return (LANGUAGES[labels.language], RUNTIMES[labels.runtime]) == (
        point["language"],
        point["runtime"],
    )


def uses_torch(snippet: Snippet) -> bool:
    if isinstance(snippet, TimerArgs):
        texts = [snippet.stmt, snippet.setup, snippet.global_setup]
    else:
        if snippet.torchscript or snippet.compile or snippet.autograd or snippet.function:
            return True
        setup = snippet.setup
        texts = [setup.py_setup, setup.cpp_setup, setup.global_setup]
        texts += [snippet.py_fwd_stmt or "", snippet.cpp_fwd_stmt or ""]
        texts += [snippet.py_model_setup or "", snippet.cpp_model_setup or ""]
    return any(TORCH_NAMES.search(text) for text in texts)


def immovable(snippet: Snippet | None, device: str) -> str:
    """Why a snippet cannot run on this device: its sources do not use `device`."""
    if device == "cpu" or (isinstance(snippet, GroupedBenchmark) and snippet.devices):
        return ""
    return f"its setup does not use `device`, so it cannot run on {device}; give device="


def explicit(
    definition: SnippetDefinition, args: TimerArgs, point: Point, context: Context
) -> Case:
    if args.language is Language.PYTHON:
        setup = "" if args.setup == "pass" else args.setup
        program = Program(
            args.stmt,
            setup=setup,
            user=definition.user_of(f"{setup}\n{args.stmt}"),
            unsupported=immovable(args, context.device),
        )
        return definition.case("call", "call", program, point, context)
    return replace(
        base_case(definition, "call", point, context),
        stmt=args.stmt,
        setup=args.setup,
        globals=args.global_setup,
        unsupported=immovable(args, context.device),
    )


def cpp_case(
    definition: SnippetDefinition,
    variant: Variant,
    stage: str,
    runtime: str,
    point: Point,
    context: Context,
) -> Case:
    return replace(
        base_case(definition, stage, point, context),
        stmt=variant.stmt,
        setup=variant.setup,
        globals=variant.global_setup,
        prelude=variant.prelude,
        runtime=runtime,
        unsupported=immovable(definition.snippet, context.device),
    )


def base_case(definition: SnippetDefinition, stage: str, point: Point, context: Context) -> Case:
    """A case in C++; the worker sets its thread count and seed."""
    framework = context.framework.name
    return Case(
        definition.suite,
        definition.name,
        stage,
        stmt="",
        labels=tuple(point.items()),
        language="cpp",
        framework=framework,
        device=context.device,
        dtype=str(point.get("dtype") or ""),
        threads=context.threads,
        seed=context.seed,
        preload=("torch",) if framework == "torch" else (),
        cpp_build=cpp_build(definition),
    )


def cpp_build(definition: SnippetDefinition) -> CppBuild | None:
    """How a snippet of a user's file is compiled; those of the suite need nothing."""
    snippet = definition.snippet
    asked = snippet.setup if isinstance(snippet, GroupedBenchmark) else snippet
    flags = [getattr(asked, name) for name in FLAGS]
    folder = str(Path(definition.origin).absolute().parent) if definition.origin else ""
    return CppBuild(folder, *flags) if folder or any(flags) else None
