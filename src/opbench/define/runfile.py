"""Run files: `opbench run FILE.toml` or `FILE.json`.

A `[run]` table holds options of a run (`opbench.plan.options`), each `[[benchmark]]` one statement
with its axes. Imports pydantic, so import this module only to read a file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    ValidationError,
    create_model,
    model_validator,
)

from opbench.define.definition import Axis, Context, Definition, Point
from opbench.define.document import first_error, read
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

BACKWARD = {"backward", "forward_backward", "step"}

Source = Annotated[str, BeforeValidator(python_source)]
Axes = dict[
    Annotated[str, BeforeValidator(axis_name)], Annotated[list[Any], BeforeValidator(axis_values)]
]
Names = Annotated[list[str], BeforeValidator(name_list)]


class Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def _or_none(read: Callable[[Any], Any]) -> BeforeValidator:
    """A null in JSON means the same as leaving the key out."""
    return BeforeValidator(lambda value: None if value is None else read(value))


class RunTable(Table):
    @model_validator(mode="before")
    @classmethod
    def _no_targets(cls, found: Any) -> Any:
        """`targets` is the keyword in Python, and there its values are files too."""
        if isinstance(found, dict) and "targets" in found:
            raise ValueError(
                "unknown key 'targets'; suites are named by suites = [\"tour\"], and other files "
                "are given along with this one: opbench run THIS.toml bench_mine.py"
            )
        return found


if TYPE_CHECKING:

    class Run(RunTable):
        """The `[run]` table: suites, and the options of a run that a file may give."""

        suites: list[str] = []

else:
    Run = create_model(
        "Run",
        __base__=RunTable,
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
    def _stages_are_consistent(self) -> Benchmark:
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
    path = Path(path)
    found = with_tables(read(path), path.parent)
    try:
        content = Content.model_validate(found)
    except ValidationError as error:
        raise UserError(f"{path}: {first_error(error, Content, found)}") from None
    definitions = [definition_of(benchmark, path) for benchmark in content.benchmark]
    return RunFile(path, content.run, definitions)


def with_tables(content: Any, folder: Path) -> Any:
    """The content, where a table of points that lies in the file's folder is named by its path."""
    run = content.get("run") if isinstance(content, dict) else None
    shapes = run.get("shapes") if isinstance(run, dict) else None
    if run is None or not isinstance(shapes, str) or not (folder / shapes).is_file():
        return content
    return {**content, "run": {**run, "shapes": str(folder / shapes)}}


def definition_of(benchmark: Benchmark, path: Path) -> Definition:
    return Definition(
        suite=path.stem,
        name=benchmark.name,
        program=partial(program, benchmark),
        axes={name: Axis.of(tuple(values)) for name, values in benchmark.axes.items()},
        framework=benchmark.framework,
        modules=imported(benchmark.globals, benchmark.setup, benchmark.stmt),
        stages=benchmark.all_stages,
        origin=f"{path}: benchmark {benchmark.name!r}",
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
