"""Everything that can be asked of a run, declared once.

From `RunOptions` come the options of `opbench run`, `ab`, `layers` and `list`, the `[run]` table of
run files, the keywords of `opbench.run` and `opbench.ab`, what is stored with a run, and the tables
of docs/cli.md. A plain dataclass: pydantic would double the time of `opbench --help`, so the model
that checks run files is made from it when there is a run file (`opbench.define.runfile`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from opbench.errors import UserError, unknown
from opbench.plan.option import (
    ALL_MEASURING,
    ASSIGNMENT,
    AXES,
    COUNT,
    COUNT_FROM_0,
    CPUS,
    DURATION,
    NAMES,
    POINTS,
    SHARE,
    STAGES,
    SWITCH,
    TEXT,
    TEXTS,
    URL,
    Option,
    option,
)

if TYPE_CHECKING:
    from opbench.case import Label
    from opbench.plan.policy import Policy

WHAT = "What to measure"
SAMPLING = "How long, how precisely"
MACHINE = "Where on the machine"
CLUSTER = "On a cluster"
KEEPING = "Keeping the results"


@dataclass(frozen=True)
class RunOptions:
    """Each field is one option, in its final form; its metadata say how it is given."""

    targets: tuple[str, ...] = option((), TEXTS, "Suites and files.", WHAT, where=())
    axes: Mapping[str, Sequence[Label]] = option(
        {}, AXES, "Use these values on this axis; may be repeated.", WHAT,
        where=("run", "ab", "time", "list", "file"), flags=("-a", "--axis"),
        keyword_help="Use these values of axes, by name.",
    )  # fmt: skip
    shapes: tuple[Mapping[str, Label], ...] = option(
        (), POINTS, "A CSV file of points, a column for each axis (m,n,k); or a list that ships.",
        WHAT, where=("run", "ab", "list", "file"), metavar="FILE|NAME",
    )  # fmt: skip
    keep: tuple[str, ...] = option(
        (), TEXTS, "Only cases whose id contains this, in upper or lower case.", WHAT,
        where=("run", "ab", "suite", "list", "file"), flags=("-k",), metavar="SUBSTRING",
    )  # fmt: skip
    stages: tuple[str, ...] = option(
        (), STAGES, "Only these stages: forward, backward, forward_backward, step, call.", WHAT,
        where=("run", "ab", "list", "file"), flags=("--stage",),
    )  # fmt: skip
    metrics: tuple[str, ...] = option(
        ("time",), NAMES, "What to measure: time, memory, instructions, …; several with commas.",
        WHAT, where=ALL_MEASURING, flags=("--metric",),
    )  # fmt: skip
    clock: str = option(
        "", TEXT, "What takes the time: opbench's own clock, timeit's, CUDA events, torch's timer.",
        WHAT, where=ALL_MEASURING, metavar="opbench|python|cuda|torch", otherwise="opbench",
    )  # fmt: skip
    baseline: str | None = option(
        None, ASSIGNMENT, "Compare the other values of this axis with this one, interleaved.", WHAT,
        where=("run", "file"),
    )  # fmt: skip
    device: str | None = option(
        None, TEXT, "Where tensors live.", WHAT, metavar="cpu|cuda[:N]", otherwise="cpu",
        where=("run", "ab", "suite", "time", "list", "file"),
    )  # fmt: skip
    environments: tuple[str, ...] = option(
        (), NAMES,
        "Measure in each of these: environments (see `opbench env`) or paths of interpreters.",
        WHAT,
        where=("run", "file"), flags=("--env",), otherwise="current",
    )  # fmt: skip
    top: float | None = option(
        None, SHARE, "Of captured calls: those that make up this share of the captured time.", WHAT,
        where=("run", "ab", "file"), metavar="95%",
    )  # fmt: skip
    imports: tuple[str, ...] = option(
        (), TEXTS, "For captured calls: import this module first; it registers their operators.",
        WHAT, where=("run", "ab", "file"), flags=("--import",), metavar="MODULE",
    )  # fmt: skip
    seed: int = option(0, COUNT_FROM_0, "Seed of the inputs.", WHAT, where=ALL_MEASURING)

    precision: float = option(
        0.02, SHARE, "Sample until the 95 % interval is within ± this.", SAMPLING,
        where=("run", "ab", "time", "file"),
    )  # fmt: skip
    budget: float | None = option(
        None, DURATION,
        "Time for the whole run; what is left after the first pass goes to the noisiest cases.",
        SAMPLING, otherwise="no limit", adjustable=True,
    )  # fmt: skip
    max_time_per_case: float = option(
        5.0, DURATION, "Soft limit for one case.", SAMPLING, where=ALL_MEASURING, metavar="5s"
    )
    timeout: float = option(
        60.0, DURATION,
        "A worker that takes longer to prepare a case, or for a block of its calls, is ended.",
        SAMPLING, where=ALL_MEASURING, adjustable=True,
    )  # fmt: skip
    max_starts: int | None = option(
        None, COUNT,
        "Most fresh worker starts of a case: identical code differs between starts, so more of "
        "them narrow an interval that longer sampling cannot.",
        SAMPLING, where=ALL_MEASURING, otherwise="12; comparisons take 6 at least",
    )  # fmt: skip
    num_runs: int | None = option(
        None, COUNT, "Fixed design: this many runs, each with fresh inputs.", SAMPLING,
        where=("run", "suite", "file"),
    )  # fmt: skip
    num_repeats: int | None = option(
        None, COUNT, "Fixed design: calls timed in each run.", SAMPLING,
        where=("run", "suite", "file"),
    )  # fmt: skip
    number: int | None = option(
        None, COUNT, "Instruction counts: calls that are counted together.", SAMPLING,
        where=("run", "ab", "file"), otherwise="100; fewer of a long call",
    )  # fmt: skip
    repeats: int | None = option(
        None, COUNT, "Instruction counts: how often they are counted; the smallest is kept.",
        SAMPLING, where=("run", "ab", "file"), otherwise="2; 1 of a long call",
    )  # fmt: skip

    threads: int | None = option(
        None, COUNT, "Threads that the framework may use.", MACHINE, otherwise="1",
        where=("run", "ab", "suite", "time", "list", "file"),
    )  # fmt: skip
    cpus: tuple[int, ...] = option(
        (), CPUS, "Pin the workers to these CPUs.", MACHINE, where=ALL_MEASURING
    )
    pool: bool = option(
        False, SWITCH,
        "Take worker starts from the pool that outlives commands (docs/workers.md); not in CI.",
        MACHINE, where=("run", "ab", "suite", "time"), adjustable=True,
    )  # fmt: skip
    jobs: int = option(
        0, COUNT_FROM_0, "Workers that count instructions at the same time.", MACHINE,
        where=("run", "ab", "file"), otherwise="by the machine", adjustable=True,
    )  # fmt: skip

    on: str = option(
        "", TEXT, "Measure on a Ray cluster (docs/fleet.md); ray is that of this machine.", CLUSTER,
        metavar="ray|ray://HOST:PORT", adjustable=True,
    )  # fmt: skip
    slots: str = option(
        "", TEXT, "Groups (cases timed in turn) at once: per node, and per GPU.", CLUSTER,
        metavar="cpu=1,gpu=1", otherwise="cpu=1,gpu=1", adjustable=True,
    )  # fmt: skip
    replicate_on: int = option(
        1, COUNT, "Measure every group on N nodes.", CLUSTER, where=("run", "file")
    )
    require: tuple[str, ...] = option(
        (), TEXTS,
        "Only nodes with this: memory=64GiB, cpu=MODEL, gpu=MODEL, a label or resource of Ray.",
        CLUSTER, metavar="NAME=VALUE", adjustable=True,
    )  # fmt: skip
    retries: int | None = option(
        None, COUNT_FROM_0,
        "How often a group (cases timed in turn) is measured again after its node died.",
        CLUSTER, otherwise="2", adjustable=True,
    )  # fmt: skip

    store: str | None = option(
        None, URL, "The store: a path ending in .db, or postgresql://USER@HOST/DATABASE.", KEEPING,
        where=("run", "ab", "suite", "time", "report"),
        otherwise="OPBENCH_STORE, or .opbench/results.db",
        stored=False,
    )  # fmt: skip
    name: str = option(
        "", TEXT, "A name for this run.", KEEPING, where=ALL_MEASURING, metavar="NAME"
    )
    cont: bool = option(
        False, SWITCH,
        "Complete the latest run, or the latest called --name: measure only what it lacks.",
        KEEPING, where=("run", "suite"), stored=False,
    )  # fmt: skip
    save: bool = option(
        True, SWITCH, "Show results, store nothing.", KEEPING, where=("run", "ab", "suite", "time"),
        flags=("--no-save",), stored=False, keyword_help="False: store nothing.",
    )  # fmt: skip

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> RunOptions:
        return cls(**read(given))

    def to_dict(self) -> dict[str, Any]:
        """What is stored with a run, as plain JSON types."""
        values = {name: getattr(self, name) for name, each in OPTIONS.items() if each.stored}
        values["axes"] = {axis: list(given) for axis, given in self.axes.items()}
        return {key: list(v) if isinstance(v, tuple) else v for key, v in values.items()}

    @property
    def policy(self) -> Policy:
        from opbench.plan.policy import MAX_STARTS, Adaptive, Fixed

        limits: dict[str, Any] = {"max_time": self.max_time_per_case, "timeout": self.timeout}
        most = self.max_starts or MAX_STARTS
        if self.num_runs is None and self.num_repeats is None:
            return Adaptive(
                precision=self.precision,
                max_starts=most,
                pair_starts=self.max_starts or 0,
                **limits,
            )
        runs, repeats = self.num_runs or 100, self.num_repeats or 20
        starts = min(Fixed.starts, most)
        return Fixed(num_runs=runs, num_repeats=repeats, starts=starts, **limits)


OPTIONS: dict[str, Option] = {each.name: each.metadata["option"] for each in fields(RunOptions)}


def options_of(place: str) -> dict[str, Option]:
    """The options that may be given there, by name: a command, or `file`."""
    return {name: each for name, each in OPTIONS.items() if place in each.where}


def given(values: Mapping[str, Any]) -> dict[str, Any]:
    """What was really said: None and what is empty are as good as left out."""
    return {key: value for key, value in values.items() if value not in (None, (), [], {}, "")}


def read(values: Mapping[str, Any]) -> dict[str, Any]:
    """The options that were given, each in its final form; reading them again changes nothing."""
    found = {}
    for name, value in given(values).items():
        if name not in OPTIONS:
            raise UserError(unknown("option", name, OPTIONS))
        try:
            found[name] = OPTIONS[name].kind.read(value)
        except ValueError as error:
            raise UserError(f"{name}: {error}") from None
    return found


def asked(values: Mapping[str, Any]) -> dict[str, Any]:
    """The same, where an option that was given as an axis is that option: `-a device=cuda` asks
    for the same cases as `--device cuda`. Several devices or numbers of threads are an axis.

    Not for the options of a stored run: they say by which of the two its cases are called.
    """
    found = read(values)
    axes = dict(found.get("axes") or {})
    stages = [*found.get("stages", ()), *axes.pop("stage", ())]
    if stages:
        found["stages"] = OPTIONS["stages"].kind.read(stages)
    for name in ("device", "threads"):
        if len(axes.get(name, ())) == 1:
            (value,) = axes[name]
            try:
                value = OPTIONS[name].kind.read(value)
            except ValueError:
                continue  # expanding the axis says what its values are
            if found.setdefault(name, value) != value:
                raise UserError(f"{name} is given twice: {found[name]}, and {value} as an axis")
            del axes[name]
    if "axes" in found:
        found["axes"] = axes
    return given(found)
