"""The interface of a suite: one folder under `suites/`, with a `SUITE` in `suite.py`.

The generic rooms know no suite by name. At each place where a suite may add something they ask all
of them, by the hooks below; a hook that a suite does not override adds nothing. Every `suite.py`
is imported when the command line starts, so a hook imports what it needs when it is called.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from opbench.case import Case, UserModule
from opbench.define.definition import Definition
from opbench.errors import UserError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from opbench.report.charts.chart import Chart, Drawing
    from opbench.report.page.contents import Contents
    from opbench.running.recording import Finished
    from opbench.store import Store
    from opbench.store.records import StoredResult


@dataclass
class Targets:
    """What was named to be run: definitions, and how they ask to be run."""

    definitions: list[Definition] = field(default_factory=list)
    #: What run files ask for, by the names of `opbench.run`'s arguments.
    options: dict[str, Any] = field(default_factory=dict)
    #: What suites are run with where neither the person nor a run file says otherwise.
    suggested: dict[str, Any] = field(default_factory=dict)
    #: (suite, name) of benchmarks that may take longer than the others → how many times longer.
    time_factors: dict[tuple[str, str], float] = field(default_factory=dict)

    def add(self, other: Targets) -> None:
        self.definitions += other.definitions
        self.options.update(other.options)
        self.suggested.update(other.suggested)
        self.time_factors.update(other.time_factors)


@dataclass(frozen=True)
class TargetFile:
    """A file named as a target, with the interpreter that imports what it names."""

    path: Path
    python: str = sys.executable
    #: Added to the environment variables of that interpreter.
    env: Mapping[str, str] | None = None

    @cached_property
    def table(self) -> dict[str, Any]:
        """Its content as TOML or JSON; empty for any other file. Errors in a file are left to the
        reader that it belongs to."""
        from opbench.define.document import read

        try:
            content = read(self.path)
        except UserError:
            return {}
        return content if isinstance(content, dict) else {}


@dataclass(frozen=True)
class CollectedFile:
    """A user's Python file, as `worker/probe/collect.py`, which imported it, describes it."""

    file: TargetFile
    content: Mapping[str, Any]
    user: UserModule
    #: Modules that it imports.
    modules: tuple[str, ...] = ()


@dataclass(frozen=True)
class Command:
    """A command of a suite, as typer takes it."""

    name: str
    function: Callable[..., Any]
    #: `opbench NAME`, or a subcommand of a group: `opbench report NAME`.
    group: str = ""
    #: Further arguments of `Typer.command`.
    settings: Mapping[str, Any] = field(default_factory=dict)


class Suite:
    #: One line for `opbench list`; empty for a suite that has no definitions but those of files.
    about = ""
    #: What the suite is run with unless the person says otherwise, by the names of `opbench.run`'s
    #: arguments. A baseline among them is left out where nothing asked for can be compared with it.
    options: ClassVar[Mapping[str, Any]] = {}
    #: Whether `opbench run` without a target runs this suite.
    default = False

    def definitions(self) -> Iterable[Definition]:
        """What `opbench run SUITE` measures."""
        return ()

    def read_file(self, file: TargetFile) -> Targets | None:
        """What to run of a file in a format of the suite's own; None for any other file."""
        return None

    def read_module(self, collected: CollectedFile) -> Targets | None:
        """What to run of a user's Python file besides its `@ob.bench` functions."""
        return None

    def narrow(self, definitions: list[Definition], options: Any) -> list[Definition]:
        """The definitions that remain under the options of the run."""
        return definitions

    def family(self, case: Case, axis: str) -> str | None:
        """The name under which this case is measured together with others, where the baseline is a
        value of that axis: cases of different names that will be compared have the same. None for
        its own name."""
        return None

    def describe_files(self, paths: Sequence[Path]) -> Iterable[RenderableType] | None:
        """What `opbench show FILE...` prints for files of the suite's own; None for any others."""
        return None

    def compare_files(self, base: Path, new: Path) -> Iterable[RenderableType] | None:
        """What `opbench compare BASE NEW` prints for two files of the suite's own; None for any
        other."""
        return None

    def account(self, run: Finished, targets: Sequence[str]) -> Iterable[RenderableType] | None:
        """What is printed instead of the table of a run; None to keep the table."""
        return None

    def tables(self, run: Finished) -> Iterable[RenderableType]:
        """What is printed after the table of a run."""
        return ()

    def shows(self, case: Case) -> bool:
        """Whether `tables` shows the results of this case, and why some are missing: the table of
        a run then leaves it out."""
        return False

    def after_run(
        self, run: Finished, targets: Sequence[str], *, store: str | None, cont: bool
    ) -> Iterable[str]:
        """Do what `opbench run` does last, and report it, one line each."""
        return ()

    def gather(
        self,
        store: Store,
        results: Sequence[StoredResult],
        facts: Mapping[str, dict[str, Any]],
    ) -> Any:
        """What the suite's charts need besides the results of the run: `contents.of_suites[NAME]`.
        None for nothing."""
        return None

    def drawings(self, contents: Contents) -> Iterable[Drawing]:
        """Charts of the page, a tab for each kind; `--charts` writes them too."""
        return ()

    def charts(self, contents: Contents) -> Mapping[str, Chart]:
        """Charts by name that `--charts` and notebooks have beyond those of the page."""
        return {}

    def commands(self) -> Iterable[Command]:
        return ()
