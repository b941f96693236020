"""One call with its arguments as a benchmark: what `opbench(function, x)` in a test names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from opbench.case import UserModule
from opbench.define.definition import Axis, Context, Definition, Point
from opbench.define.program import Program, lines
from opbench.define.userfile import file_of, framework_modules, import_of, user_module
from opbench.worker.stub.addresses import BenchError, kept, other_there
from opbench.worker.stub.bench import origin
from opbench.worker.stub.written import Unsendable, Written, label


def describe(
    name: str,
    params: Mapping[str, Any],
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> dict[str, Any]:
    """The call as plain data. `params` become axes, as far as their values have names."""
    spelled = getattr(function, "__name__", type(function).__name__)
    place = origin(function, spelled, "benchmark")
    if place["module"] and not kept(place["module"], place["name"], function):
        raise BenchError(f"{spelled}: {other_there(place['module'], place['name'])}")
    written = Written()
    try:
        arguments = written.expression(tuple(args)), written.expression(dict(kwargs))
    except Unsendable as error:
        raise BenchError(
            f"an argument of {spelled} cannot be made again in a fresh process: {error}; pass "
            "numbers, text, tensors or functions, or write a benchmark with @ob.bench"
        ) from None
    named = [(axis, label(value)) for axis, value in params.items()]
    own = file_of({**place, "define": ""}) if place["module"] else None
    file = own or file_of(place) or file_of({"module": "", "define": written.text})
    return {
        "name": name,
        "axes": [[axis, text] for axis, text in named if text is not None],
        "place": place,
        "arguments": list(arguments),
        "define": written.text,
        "file": str(file) if file else "",
        # Whether the function itself stands in that file, which may go by another name elsewhere.
        "own": own is not None,
    }


def definition_of_call(call: Mapping[str, Any], suite: str) -> Definition:
    user, modules = None, framework_modules(call["place"]["define"], call["define"])
    if call["file"]:
        user, found = user_module(Path(call["file"]))
        modules = tuple(dict.fromkeys((*found, *modules)))
    return Definition(
        suite=suite,
        name=call["name"],
        program=partial(program, call, user, modules),
        axes={axis: Axis((value,)) for axis, value in call["axes"]},
        modules=modules,
        stages=("call",),
        origin=suite,
    )


def program(
    call: Mapping[str, Any],
    user: UserModule | None,
    modules: tuple[str, ...],
    point: Point,
    context: Context,
) -> Program:
    place, (args, kwargs) = call["place"], call["arguments"]
    module = user.module if user is not None and call["own"] else place["module"]
    imports = place["define"] or import_of(module, place["name"], place["name"])
    called = f"_called = {place['name']}"
    passed = "*args, **kwargs" if kwargs != "{}" else "*args" if args != "()" else ""
    return Program(
        forward=f"_called({passed})",
        globals=lines(imports, call["define"], called),
        setup=lines(f"args = {args}", f"kwargs = {kwargs}"),
        preload=modules,
        user=user,
    )
