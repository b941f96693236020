"""Users' own files: the benchmarks that `@ob.bench` registers become Definitions.

The file is imported by a process of its own (`opbench.define.collecting`), never in ours.
"""

from __future__ import annotations

import json
import sys
import sysconfig
import unicodedata
from collections.abc import Mapping, Sequence
from functools import partial
from keyword import iskeyword
from pathlib import Path
from typing import Any

from opbench import frameworks
from opbench.case import Label, UserModule
from opbench.define import suites
from opbench.define.collecting import UserFileError, collected
from opbench.define.definition import Axis, Context, Definition, Point
from opbench.define.program import Program, lines
from opbench.define.reading import imported
from opbench.define.suite import CollectedFile, TargetFile, Targets

BACKWARD = {"backward", "forward_backward"}
#: Names that the source around a user's function uses itself.
TAKEN = {"args", "kwargs", "net", "leaves", "leaf", "call", "y", "grad", "opt", "seed"}
TAKEN |= {"importlib", "torch", "np", "random", "rng"}


def targets_from(
    path: str | Path,
    python: str = sys.executable,
    timeout: float = 120.0,
    env: Mapping[str, str] | None = None,
) -> Targets:
    """The benchmarks that a file registers, in its order, then what suites find in it.

    `env` is added to the environment variables of the process that reads it.
    """
    path = Path(path)
    if not path.is_file():
        raise UserFileError(f"file not found: {path}")
    content = collected(path, python, timeout, env)
    raise_error(content, path)
    user = UserModule(content["module"], content["root"], content["digest"])
    modules = tuple(content["modules"])
    targets = registered_targets(content["benchmarks"], path.stem, user, modules, str(path))
    collection = CollectedFile(TargetFile(path, python, env), content, user, modules)
    for suite in suites.every().values():
        own = suite.read_module(collection)
        if own is not None:
            targets.add(own)
    if not targets.definitions:
        raise UserFileError(
            f"{path} defines no benchmark; decorate a function with @ob.bench, or write a snippet "
            "with GroupedStmts from opbench.snippets"
        )
    return targets


def process_targets(entries: Sequence[dict[str, Any]], file: Path | None) -> Targets:
    """Benchmarks that were registered in this process: of a `file`, of a module that it imported,
    or of a notebook, whose functions are known by their source."""
    places = [place for entry in entries for place in (entry, entry["inputs"]) if place]
    file = file or next(filter(None, map(file_of, places)), None)
    if file is not None:
        user, modules = user_module(file)
        return registered_targets(entries, file.stem, user, modules, str(file))
    modules = framework_modules(*(place["define"] for place in places))
    return registered_targets(entries, "notebook", None, modules, "notebook")


def user_module(file: Path) -> tuple[UserModule, tuple[str, ...]]:
    """A file as a module that other processes import, and the framework modules it imports."""
    content = collected(file, sys.executable)
    raise_error(content, file)
    user = UserModule(content["module"], content["root"], content["digest"])
    return user, tuple(content["modules"])


def framework_modules(*sources: str) -> tuple[str, ...]:
    """Modules of frameworks that the sources import."""
    return tuple(name for name in imported(*sources) if name in frameworks.by_module())


def file_of(place: Mapping[str, Any]) -> Path | None:
    """A file of the user's own that a function comes from, or that its source imports."""
    for name in [place["module"], *imported(place["define"])]:
        file = getattr(sys.modules.get(name), "__file__", None) or ""
        library = {"site-packages", "dist-packages"} & set(Path(file).parts)
        library |= {file} if file.startswith(sysconfig.get_path("stdlib")) else set()
        if file.endswith(".py") and not library:
            return Path(file)
    return None


def raise_error(content: Mapping[str, Any], path: Path) -> None:
    """The error that the process which read the file met, in one line."""
    if "error" not in content:
        return
    error = content["error"]
    line = f" line {error['line']}" if error["line"] else ""
    # Our own refusals are sentences; Python's errors need their names.
    ours = error["type"] in ("BenchError", "SnippetError", "SystemExit")
    kind = "" if ours else f"{error['type']}: "
    raise UserFileError(f"{path}{line}: {kind}{error['message']}", error["traceback"])


def registered_targets(
    entries: Sequence[dict[str, Any]],
    suite: str,
    user: UserModule | None,
    modules: tuple[str, ...],
    origin: str,
) -> Targets:
    """Registered benchmarks as definitions, with the baselines of their groups and the options
    that `ob.versus` was given."""
    targets = Targets()
    bases: dict[str, str] = {}
    for entry in entries:
        targets.definitions.append(definition_of(entry, suite, user, modules, origin))
        targets.options.update(entry.get("options") or {})
        if entry["group"]:
            bases.setdefault(entry["group"], entry["name"])
    if bases:
        targets.suggested["baseline"] = f"name={','.join(dict.fromkeys(bases.values()))}"
    return targets


def definition_of(
    entry: dict[str, Any],
    suite: str,
    user: UserModule | None,
    modules: tuple[str, ...],
    origin: str,
) -> Definition:
    return Definition(
        suite=suite,
        name=entry["name"],
        program=partial(program, entry, user, modules),
        axes={name: Axis.of(values) for name, values in entry["axes"]},
        modules=modules,
        stages=tuple(entry["stages"]),
        origin=f"{origin} line {entry['line']}",
    )


def program(
    entry: dict[str, Any],
    user: UserModule | None,
    modules: tuple[str, ...],
    point: Point,
    context: Context,
) -> Program:
    """The source that imports the benchmark, makes its inputs and calls it, at one point."""
    inputs = entry["inputs"]
    backward = bool(BACKWARD & set(entry["stages"]))
    written, needed = spelled(entry["values"], {**point, "device": context.device})
    function = alias(entry["function"])
    setup: list[str] = []
    arguments = call_with = ""
    imports = [*needed, obtained(entry, entry["function"], function)]
    if inputs is not None:
        make = alias(inputs["name"])
        make = make if make != function else f"{make}_inputs"
        imports.append(obtained(inputs, inputs["name"], make))
        setup.append(f"args = {make}({keywords(inputs['takes'], written)})")
        normal, call_with, arguments = unpacked(inputs["kind"])
        setup.append(normal)
    if entry["kind"] == "module":
        move = "" if context.device == "cpu" else f'.to("{context.device}")'
        setup.append(f"net = {function}({keywords(entry['takes'], written)}){move}")
        forward = f"y = net({call_with})"
    elif entry["kind"] == "generator":
        setup.append(f"_gen = {function}({keywords(entry['takes'], written)})\ncall = next(_gen)")
        forward = "call()"
    elif inputs is not None:
        also, call_with = passed_as_well(entry, written, call_with)
        setup.append(also)
        forward = f"{'y = ' if backward else ''}{function}({call_with})"
    else:
        forward = f"{function}({keywords(entry['takes'], written)})"
    if backward:
        parameters = "*net.parameters(), " if entry["kind"] == "module" else ""
        setup.append(
            f"leaves = [{parameters}*(a for a in {arguments} "
            'if getattr(a, "requires_grad", False))]'
        )
    return Program(
        forward=forward,
        globals=lines(*dict.fromkeys(imports)),
        setup=lines(*setup),
        output=entry["output"],
        leaves="leaves" if backward else "",
        components=components(entry),
        preload=modules,
        user=user,
        unsupported=immovable(entry, context.device),
    )


def spelled(
    values: Mapping[str, Sequence[tuple[Label, str, str]]], point: Mapping[str, Label]
) -> tuple[dict[str, str], list[str]]:
    """Each value of a point as source, and the lines that must run first."""
    written = {axis: repr(value) for axis, value in point.items()}
    needed = []
    for axis, named in values.items():
        for label, expression, before in named:
            if label == point.get(axis):
                written[axis] = expression
                needed += [before] * bool(before)
    return written, needed


def passed_as_well(
    entry: Mapping[str, Any], written: Mapping[str, str], call_with: str
) -> tuple[str, str]:
    """For axes that the function takes besides its inputs: further set-up, the call's arguments.

    A parameter that the inputs fill is not passed again. How many they are is known from the source
    of `inputs`, or when it has run."""
    kind, count = entry["inputs"]["kind"], entry["inputs"]["count"]
    filled = entry["positional"][:count] if count is not None else []
    takes = [name for name in entry["takes"] if name not in filled]
    if not takes:
        return "", call_with
    more = f"dict({keywords(takes, written)})"
    if kind == "dict":
        return f"args = {{**{more}, **args}}", call_with
    if count is not None:
        return f"kwargs = {more}", "*args, **kwargs"
    known = ", **kwargs" if kind == "any" else ""
    names = tuple(entry["positional"])
    drop = f"for _filled in {names!r}[: len(args)]:\n    kwargs.pop(_filled, None)"
    return f"kwargs = {{**{more}{known}}}\n{drop}", "*args, **kwargs"


def obtained(place: Mapping[str, Any], name: str, known_as: str) -> str:
    """The lines by which a function is known: an import, or its own source."""
    if not place["define"]:
        return import_of(place["module"], name, known_as)
    return lines(place["define"], "" if known_as == name else f"{known_as} = {name}")


def alias(name: str) -> str:
    return f"{name}_" if name in TAKEN else name


def import_of(module: str, name: str, known_as: str) -> str:
    if not all(map(can_be_written, module.split("."))):  # bench-gemm.py, class.py
        text = json.dumps(module, ensure_ascii=False)  # always with the same quotes
        return f"import importlib\n{known_as} = importlib.import_module({text}).{name}"
    return f"from {module} import {name}" + ("" if known_as == name else f" as {known_as}")


def can_be_written(name: str) -> bool:
    """Whether an import statement can name this module; Python reads `µ` as another character."""
    same = unicodedata.normalize("NFKC", name) == name
    return name.isidentifier() and not iskeyword(name) and same


def keywords(takes: Sequence[str], written: Mapping[str, str]) -> str:
    """Arguments by name: `n=64, mode='hooks', dtype=torch.float32`."""
    return ", ".join(f"{name}={written[name]}" for name in takes)


def unpacked(kind: str) -> tuple[str, str, str]:
    """For what an inputs function returns: further set-up, the call's arguments, all of them."""
    if kind == "dict":
        return "", "**args", "args.values()"
    if kind == "tuple":
        return "", "*args", "args"
    sort_out = (
        "kwargs = args if isinstance(args, dict) else {}\n"
        "args = () if kwargs else args if isinstance(args, (tuple, list)) else (args,)"
    )
    return sort_out, "*args, **kwargs", "(*args, *kwargs.values())"


def components(entry: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    named = [("inputs", unpacked(entry["inputs"]["kind"])[2])] if entry["inputs"] else []
    return tuple(named + ([("module", "net")] if entry["kind"] == "module" else []))


def immovable(entry: dict[str, Any], device: str) -> str:
    """Why a benchmark of a module cannot run on this device: it is moved there, and nothing asks
    where to make its inputs. A function may know by itself; the worker finds out."""
    if device == "cpu" or entry["kind"] != "module" or not entry["inputs"]:
        return ""
    if "device" in entry["inputs"]["takes"]:
        return ""
    return f"{entry['inputs']['name']} has no parameter `device`, so it cannot use {device}"
