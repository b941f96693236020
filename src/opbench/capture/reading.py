"""Reads captures: JSON Lines, each line checked before anything is made of it.

A mistake is reported with the number of its line. Nothing is unpickled or evaluated: names are held
to be names here, and looked up later, in the process that replays a call, among torch's own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from opbench.capture.calls import PHASES, ApiCall, Capture, OperatorCall, Step
from opbench.capture.checks import (
    NAME,
    Wrong,
    label_of,
    labels_of,
    loaded,
    mapping,
    number,
    numbers,
    operator_of,
    sequence,
    text_of,
    whole,
)
from opbench.capture.codec import API, OPERATORS, dotted
from opbench.capture.compiled.graph import Graph, graph_of
from opbench.capture.values import TensorSpec
from opbench.errors import UserError, printable
from opbench.files import check_regular

VERSION = 1
LONGEST_LINE = 1 << 26

STEP = re.compile(r"(\d+):([\d,]*)>([\d,]*)", re.ASCII)

API_KINDS = ("module", "function", "method", "named")


class BadCapture(UserError):
    """A file that is not a capture, or a broken one."""


def level_of(path: Path | str) -> str:
    """`operators` or `api`, as the first line of a capture says; empty for any other file."""
    if not Path(path).is_file():
        return ""
    try:
        with Path(path).open(encoding="utf-8") as lines:
            first = json.loads(lines.readline(LONGEST_LINE))
    except (OSError, ValueError, RecursionError):
        return ""
    if not isinstance(first, dict) or first.get("opbench") != "capture":
        return ""
    return printable(str(first.get("level", "operators")))


def read(path: Path | str) -> Capture:
    """The operator calls in a file, or `BadCapture` with the line that is wrong."""
    path = Path(path)
    return _opened(path, lambda lines: parse(lines, printable(path.stem), str(path)))


def read_api(path: Path | str) -> list[ApiCall]:
    """The Python calls in a file, or `BadCapture` with the line that is wrong."""
    return _opened(Path(path), lambda lines: parse_api(lines, str(path)))


def _opened(path: Path, parse_lines: Callable[[Iterable[str]], Any]) -> Any:
    check_regular(path)
    try:
        with path.open(encoding="utf-8") as lines:
            return parse_lines(lines)
    except OSError as error:
        raise BadCapture(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise BadCapture(f"{path} is not text, so not a capture of opbench") from None


def parse(lines: Iterable[str], name: str = "capture", where: str = "capture") -> Capture:
    writes: dict[str, tuple[int | str, ...]] = {}
    schemas: dict[str, str] = {}
    graphs: dict[str, Graph] = {}
    calls: list[OperatorCall] = []
    order: list[Step] = []
    skipped: dict[str, tuple[int, str]] = {}

    def take(content: dict[str, Any]) -> None:
        if "operator" in content:
            operator, overload = operator_of(content["operator"])
            writes[f"{operator}.{overload}"] = writes_of(content.get("writes", []))
            if "schema" in content:
                schemas[content["operator"]] = text_of(content["schema"], "schema", longest=10_000)
        elif "call" in content:
            call = operator_call(content, len(calls), writes)
            calls.append(replace(call, graph=graphs.get(call.qualified)))
        elif "graph" in content:
            graphs[label_of(content["graph"], "graph")] = graph_of(content)
        elif "order" in content:
            order.extend(steps_of(content, calls))
        elif "skipped" in content:
            skipped[label_of(content["skipped"], "skipped")] = (
                whole(content.get("count", 0), "count"),
                label_of(content.get("reason", ""), "reason"),
            )
        else:
            raise Wrong("this line is neither operator, graph, call, order nor skipped")

    header = _each_line(lines, where, "operators", take)
    _check_any(calls, where)
    return Capture(tuple(calls), header, tuple(order), skipped, name, schemas)


def parse_api(lines: Iterable[str], where: str = "capture") -> list[ApiCall]:
    calls: list[ApiCall] = []
    _each_line(lines, where, "api", lambda content: calls.append(api_call(content, len(calls))))
    _check_any(calls, where)
    return calls


def _each_line(
    lines: Iterable[str], where: str, level: str, take: Callable[[dict[str, Any]], None]
) -> dict[str, Any]:
    """Hand each line after the first to `take`; gives the first, checked."""
    header: dict[str, Any] | None = None
    for place, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            content = loaded(line, LONGEST_LINE)
            if header is None:
                header = checked_header(content, level)
            else:
                take(content)
        except Wrong as error:
            raise BadCapture(f"{where} line {place}: {error}") from None
    if header is None:
        raise BadCapture(f"{where} is empty")
    return header


def _check_any(calls: list[Any], where: str) -> None:
    if not calls:
        raise BadCapture(f"{where} holds no call; was anything run between its start and its end?")


def checked_header(content: dict[str, Any], level: str) -> dict[str, Any]:
    if content.get("opbench") != "capture":
        raise Wrong('a capture begins with {"opbench": "capture", …}; this is another file')
    version = content.get("version")
    if version != VERSION:
        raise Wrong(
            f"written in version {version!r} of the format; this opbench reads {VERSION}: "
            "capture the program again, or read it with the opbench that wrote it"
        )
    found = content.get("level", "operators")
    if found != level:
        raise Wrong(f"a capture of the level {str(found)[:40]!r}; expected {level!r}")
    for key in ("threads", "steps"):
        if key in content:
            whole(content[key], key, least=1)
    if "rank" in content or "ranks" in content:
        ranks = whole(content.get("ranks"), "ranks", least=1)
        if whole(content.get("rank"), "rank") >= ranks:
            raise Wrong(f"rank: {content['rank']} is not one of {ranks} ranks")
    for key in ("sizes", "probes"):
        for axis, size in mapping(content.get(key, {}), key).items():
            if not NAME.fullmatch(axis):
                raise Wrong(f"{key}: {axis[:40]!r} is not a name for an axis")
            whole(size, f"{key}: {axis}", least=1)
    for key in ("phase_seconds", "between_seconds", "idle_seconds", "device_phases"):
        for phase, seconds in mapping(content.get(key, {}), key).items():
            number(seconds, f"{key}: {phase_of(phase)}")
    for key in (
        "step_seconds", "captured_seconds", "waiting_seconds", "device_seconds",
        "device_unrecorded_seconds", "device_step_seconds",
    ):  # fmt: skip
        if content.get(key) is not None:
            number(content[key], key)
    return {key: label_of(v, key) if isinstance(v, str) else v for key, v in content.items()}


# -- operators -----------------------------------------------------------------------------------


def operator_call(
    content: dict[str, Any], index: int, writes: Mapping[str, tuple[int | str, ...]]
) -> OperatorCall:
    operator, overload = operator_of(content["call"])
    given = OPERATORS.decode_arguments(content)
    outputs = tuple(OPERATORS.decode(each) for each in sequence(content.get("out", []), "out"))
    if not all(isinstance(each, TensorSpec) for each in outputs):
        raise Wrong("out: expected tensors only")
    call = OperatorCall(
        index=index,
        operator=operator,
        overload=overload,
        args=given.args,
        kwargs=given.kwargs,
        writes=writes.get(f"{operator}.{overload}", ()),
        outputs=outputs,
        counts={
            phase_of(phase): whole(count, "count", least=1)
            for phase, count in mapping(content.get("count", {}), "count").items()
        },
        seconds={
            phase_of(phase): number(seconds, "seconds")
            for phase, seconds in mapping(content.get("seconds", {}), "seconds").items()
        },
        awaited_seconds={
            phase_of(phase): number(seconds, "awaited_seconds")
            for phase, seconds in mapping(
                content.get("awaited_seconds", {}), "awaited_seconds"
            ).items()
        },
        device_seconds={
            phase_of(phase): number(seconds, "device_seconds")
            for phase, seconds in mapping(
                content.get("device_seconds", {}), "device_seconds"
            ).items()
        },
        modules=labels_of(content.get("modules", []), "modules"),
        more_modules=whole(content.get("more_modules", 0), "more_modules"),
        apis=labels_of(content.get("api", []), "api"),
        at={
            axis: tuple(pair_of(pair) for pair in sequence(pairs, "at"))
            for axis, pairs in mapping(content.get("at", {}), "at").items()
        },
    )
    for position, tensor in enumerate(call.tensors):
        if tensor.alias is not None and not 0 <= tensor.alias < position:
            raise Wrong(f"tensor {position} shares memory with tensor {tensor.alias}, a later one")
    return call


def phase_of(value: Any) -> str:
    if value not in PHASES:
        raise Wrong(f"unknown phase {str(value)[:40]!r}; choose from: {', '.join(PHASES)}")
    return str(value)


def writes_of(value: Any) -> tuple[int | str, ...]:
    return tuple(
        each if isinstance(each, str) and NAME.fullmatch(each) else whole(each, "writes")
        for each in sequence(value, "writes")
    )


def pair_of(value: Any) -> tuple[int, int]:
    if not isinstance(value, list) or len(value) != 2:
        raise Wrong("at: expected pairs of a position and an integer")
    return whole(value[0], "at"), whole(value[1], "at", least=None)


def steps_of(content: dict[str, Any], calls: list[OperatorCall]) -> list[Step]:
    text, phases = content["order"], sequence(content.get("phases", []), "phases")
    if not isinstance(text, str):
        raise Wrong("order: expected text")
    words, spans = text.split(), list[str]()
    for pair in phases:
        if not isinstance(pair, list) or len(pair) != 2:
            raise Wrong("phases: expected pairs of a phase and a number of calls")
        left = len(words) - len(spans)
        spans += [phase_of(pair[0])] * min(whole(pair[1], "phases"), left + 1)
    if len(spans) != len(words):
        raise Wrong(f"order has {len(words)} calls, its phases {len(spans)}")
    found = []
    for word, phase in zip(words, spans):
        match = STEP.fullmatch(word)
        if match is None:
            raise Wrong(f"order: {word[:40]!r} is not CALL:READS>MAKES")
        index = numbers(match[1])[0]
        if index >= len(calls):
            raise Wrong(f"order names call {index} of {len(calls)}")
        reads, expected = numbers(match[2]), len(calls[index].tensors)
        if len(reads) != expected:
            raise Wrong(f"order: call {index} reads {expected} tensors")
        found.append(Step(index, reads, numbers(match[3]), phase))
    return found


# -- Python calls --------------------------------------------------------------------------------


def api_call(content: dict[str, Any], index: int) -> ApiCall:
    kinds = [kind for kind in API_KINDS if kind in content]
    if len(kinds) != 1:
        raise Wrong(f"expected one of {', '.join(API_KINDS)}, found {', '.join(kinds) or 'none'}")
    kind = kinds[0]
    given = API.decode_arguments(content)
    return ApiCall(
        index=index,
        kind=kind,
        name=dotted(content[kind], kind),
        args=given.args,
        kwargs=given.kwargs,
        init=API.decode_arguments(content.get("init") or {}, "init"),
        init_from=label_of(content.get("init_from", "constructor"), "init_from"),
        training=bool(content.get("training", True)),
        out=API.decode(content.get("out")),
        count=whole(content.get("count", 1), "count", least=1),
        inside=labels_of(content.get("inside", []), "inside"),
    )
