"""Run files: `opbench run FILE.toml` or `FILE.json`.

A `[run]` table holds options of a run (`opbench.plan.options`), each `[[benchmark]]` one statement
with its axes. The models below say what is valid; `complaint` turns their errors into one line for
the person who wrote the file. Imports pydantic, so import this module only when there is a file.
"""

from __future__ import annotations

import difflib
import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    ValidationError,
    create_model,
    model_validator,
)

from opbench.define.definition import Axis, Context, Definition, Point
from opbench.define.program import Program, lines
from opbench.define.reading import (
    axis_name,
    axis_values,
    benchmark_name,
    imported,
    name_list,
    python_source,
    stage_list,
)
from opbench.errors import UserError
from opbench.plan.options import options_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

BACKWARD = {"backward", "forward_backward", "step"}

Source = Annotated[str, BeforeValidator(python_source)]
Axes = dict[
    Annotated[str, BeforeValidator(axis_name)], Annotated[list[Any], BeforeValidator(axis_values)]
]
Names = Annotated[list[str], BeforeValidator(name_list)]


class RunFileError(UserError):
    pass


class Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def _or_none(read: Callable[[Any], Any]) -> BeforeValidator:
    """JSON has a null, which is as good as leaving the key out."""
    return BeforeValidator(lambda value: None if value is None else read(value))


if TYPE_CHECKING:

    class Run(Table):
        """The `[run]` table: suites, and the options of a run that a file may give."""

        suites: list[str] = []

else:
    Run = create_model(
        "Run",
        __base__=Table,
        suites=(Names, []),
        **{
            name: (Annotated[Any, _or_none(option.kind.read)], None)
            for name, option in options_of("file").items()
        },
    )


class Benchmark(Table):
    """One `[[benchmark]]`. The axes are variables in `setup`, `before` and `stmt`."""

    name: Annotated[str, BeforeValidator(benchmark_name)]
    stmt: Source
    setup: Source = ""
    globals: Source = ""
    before: Source = ""
    axes: Axes = {}
    #: Taken from the imports when it is left out.
    framework: str = ""
    stages: Annotated[list[str], BeforeValidator(stage_list)] = ["call"]
    stage: Annotated[list[str], BeforeValidator(stage_list)] = []
    #: For backward stages: the tensor they start from, and what takes gradients.
    output: Source = "y"
    wrt: Names = []
    module: str = ""

    @model_validator(mode="after")
    def _one_way_to_name_stages(self) -> Benchmark:
        if self.stage and "stages" in self.model_fields_set:
            raise ValueError("give either stage or stages, not both")
        backward = BACKWARD & set(self.all_stages)
        if backward and not (self.wrt or self.module):
            raise ValueError(
                f"stage {min(backward)} needs wrt (names of tensors) or module (name of a module)"
            )
        return self

    @property
    def all_stages(self) -> tuple[str, ...]:
        return tuple(self.stage or self.stages)


class Content(Table):
    run: Run = Run()
    benchmark: list[Benchmark] = []

    @model_validator(mode="after")
    def _something_to_run(self) -> Content:
        if not self.benchmark and not self.run.suites:
            raise ValueError("nothing to run: add a [[benchmark]], or suites to [run]")
        names = [benchmark.name for benchmark in self.benchmark]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two benchmarks are called {name}")
        return self


@dataclass(frozen=True)
class RunFile:
    path: Path
    run: Run
    #: Of the file's own benchmarks; its suites are named in `run.suites`.
    definitions: list[Definition]


def load(path: str | Path) -> RunFile:
    """Read and check a run file; nothing in it is executed."""
    return checked(read(Path(path)), Path(path))


def read(path: Path) -> Any:
    """What a TOML or JSON file holds."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise RunFileError(f"there is no file {path}") from None
    except UnicodeDecodeError:
        raise RunFileError(f"{path} is not text in UTF-8") from None
    except OSError as error:
        raise RunFileError(f"cannot read {path}: {error.strerror}") from None
    return parsed(text, path)


def checked(data: Any, path: Path) -> RunFile:
    try:
        content = Content.model_validate(data)
    except ValidationError as error:
        raise RunFileError(f"{path}: {complaint(error, data)}") from None
    definitions = [
        definition_of(benchmark, path, index) for index, benchmark in enumerate(content.benchmark)
    ]
    return RunFile(path, content.run, definitions)


def parsed(text: str, path: Path) -> Any:
    try:
        if path.suffix == ".json":
            return json.loads(text, object_pairs_hook=without_repeats, parse_constant=refuse)
        return tomllib.loads(text)
    except json.JSONDecodeError as error:
        raise RunFileError(f"{path} line {error.lineno}: not valid JSON: {error.msg}") from None
    except tomllib.TOMLDecodeError as error:
        said, _, place = str(error).rpartition(" (at ")
        # "line 3, column 5", or "end of document", which a person has to look for.
        number = re.match(r"line (\d+)", place)
        line = number.group(1) if number else str(max(1, len(text.splitlines())))
        raise RunFileError(f"{path} line {line}: not valid TOML: {said or error}") from None
    except (ValueError, RecursionError) as error:
        said = "too deeply nested" if isinstance(error, RecursionError) else str(error)
        raise RunFileError(f"{path}: {said}") from None


def without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """JSON would silently keep the last of two equal keys; TOML refuses them, and so do we."""
    table: dict[str, Any] = {}
    for key, value in pairs:
        if key in table:
            raise ValueError(f"the key '{key}' stands twice in one table")
        table[key] = value
    return table


def refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a value opbench can use; write a finite number")


def complaint(error: ValidationError, data: Any, model: type[BaseModel] | None = None) -> str:
    """The first error as `benchmark[2].axes.n: what was found, what was expected`."""
    problems = error.errors(include_url=False)
    first = problems[0]
    where = ""
    for part in first["loc"]:
        if part == "[key]":
            continue
        where += f"[{part}]" if isinstance(part, int) else f".{part}"
    where = where.lstrip(".") or "the file"
    if first["type"] == "extra_forbidden":
        key = str(first["loc"][-1])
        valid = keys_beside(first["loc"], model or Content)
        near = difflib.get_close_matches(key, valid, n=2)
        said = (
            f"unknown key; {f'did you mean {near[0]}?' if near else 'valid: ' + ', '.join(valid)}"
        )
    elif first["type"] == "missing":
        said = "missing, and needed"
    elif first["type"] == "value_error":
        said = str(first["ctx"]["error"])
    else:
        expected = re.sub(r"^Input should be ", "expected ", first["msg"])
        said = f"{expected}, found {shown(first['input'])}"
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return f"{where}: {said}{more}"


def keys_beside(location: tuple[int | str, ...], model: Any) -> list[str]:
    """The valid keys of the table in which an unknown one was found."""
    for part in location[:-1]:
        if isinstance(part, str):
            kind = model.model_fields[part].annotation
            model = next(iter(get_args(kind)), kind)
    return list(model.model_fields)


def shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def definition_of(benchmark: Benchmark, path: Path, index: int) -> Definition:
    return Definition(
        suite=path.stem,
        name=benchmark.name,
        program=partial(program, benchmark),
        axes={name: Axis.of(tuple(values)) for name, values in benchmark.axes.items()},
        framework=benchmark.framework,
        modules=imported(benchmark.globals, benchmark.setup, benchmark.stmt),
        stages=benchmark.all_stages,
        origin=f"{path}: benchmark[{index}].framework",
    )


def program(benchmark: Benchmark, point: Point, context: Context) -> Program:
    assigned = (f"{axis} = {value!r}" for axis, value in point.items() if axis in benchmark.axes)
    return Program(
        forward=benchmark.stmt,
        globals=benchmark.globals,
        setup=lines(*assigned, benchmark.setup),
        before=benchmark.before,
        output=benchmark.output,
        module=benchmark.module,
        leaves=f"[{', '.join(benchmark.wrt)}]" if benchmark.wrt else "",
    )
