"""`opbench.run(...)`: the same thing as the command line, for Python."""

from __future__ import annotations

import difflib
import inspect
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opbench.case import Case, Label
from opbench.define.reading import fraction, seconds
from opbench.errors import UserError
from opbench.plan.groups import Baseline, PlannedGroup
from opbench.running.listener import Listener
from opbench.running.recording import Finished, Recording
from opbench.store.masking import without_password

if TYPE_CHECKING:
    from opbench.envs.environments import Environment
    from opbench.fleet.options import Fleet
    from opbench.plan.policy import Policy
    from opbench.plan.request import Request


class Run(Finished):
    """What `opbench.run` returns; shows itself as the final table."""

    def __repr__(self) -> str:
        from opbench.report.terminal import as_text

        return as_text(self)

    def _repr_html_(self) -> str:
        from opbench.report.notebook import results_html

        return results_html(f"Run {self.id} {self.status}", self.results)


#: Options that may be written as on the command line: "1%", "60s".
QUANTITIES = {
    "precision": fraction,
    "budget": seconds,
    "max_time_per_case": seconds,
    "timeout": seconds,
    "top": fraction,
}


@dataclass(frozen=True)
class Options:
    """Everything that can be asked of a run, as plain values; stored with it for `--cont`."""

    targets: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    axes: Mapping[str, Sequence[Label]] = field(default_factory=dict)
    baseline: str | None = None
    metrics: tuple[str, ...] = ("time",)
    #: Measures `time`: opbench's own clock, or that of python, torch or cuda.
    clock: str = ""
    stages: tuple[str, ...] = ()
    device: str | None = None
    threads: int | None = None
    cpus: tuple[int, ...] = ()
    precision: float = 0.02
    budget: float | None = None
    max_time_per_case: float = 5.0
    timeout: float = 60.0
    max_starts: int | None = None
    num_runs: int | None = None
    num_repeats: int | None = None
    #: Names of the environments to measure in; empty for the current one.
    environments: tuple[str, ...] = ()
    name: str = ""
    seed: int = 0
    jobs: int = 0
    #: Of captured calls, those that make up this share of the captured time.
    top: float | None = None
    #: A cluster to measure on (`ray`, `ray://HOST:PORT`), and how; see docs/fleet.md.
    on: str = ""
    slots: str = ""
    retries: int | None = None
    replicate_on: int = 1
    require: tuple[str, ...] = ()

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Options:
        """From keywords, or from the JSON of a stored run."""
        values = {key: value for key, value in given.items() if value is not None}
        known = [each.name for each in fields(cls)]
        for key, value in values.items():
            if key not in known:
                near = difflib.get_close_matches(key, known, n=3) or known
                raise UserError(f"run() has no option '{key}'; there is {', '.join(near)}")
            if key in QUANTITIES:
                try:
                    values[key] = QUANTITIES[key](value)
                except ValueError as error:
                    raise UserError(f"{key}: {error}") from None
        for key in ("targets", "keep", "metrics", "stages", "cpus", "environments", "require"):
            if key in values:
                one = values[key]
                values[key] = (one,) if isinstance(one, (str, int)) else tuple(one)
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        plain = asdict(self)
        plain["axes"] = {axis: list(values) for axis, values in self.axes.items()}
        return plain

    @property
    def fleet(self) -> Fleet | None:
        """The cluster that was asked for, checked as far as it can be without it."""
        if self.on:
            from opbench.fleet.options import Fleet

            return Fleet.of(self.on, self.slots, self.retries, self.replicate_on, self.require)
        for name in ("slots", "retries", "require"):
            if getattr(self, name) not in ("", None, ()):
                raise UserError(f"--{name} is for a cluster; name one with --on")
        if self.replicate_on > 1:
            raise UserError("--replicate-on is for a cluster; name one with --on")
        return None

    @property
    def policy(self) -> Policy:
        from opbench.plan.policy import MAX_STARTS, Adaptive, Fixed

        limits: dict[str, Any] = {"max_time": self.max_time_per_case, "timeout": self.timeout}
        most = self.max_starts or MAX_STARTS
        if self.num_runs is None and self.num_repeats is None:
            return Adaptive(precision=self.precision, max_starts=most, **limits)
        runs, repeats = self.num_runs or 100, self.num_repeats or 20
        starts = min(Fixed.starts, most)
        return Fixed(num_runs=runs, num_repeats=repeats, starts=starts, **limits)


def run(
    *targets: str | Path,
    store: str | Path | None = None,
    save: bool = True,
    cont: bool = False,
    listener: Listener | None = None,
    **options: Any,
) -> Run:
    """Measure suites, files, or, without a target, the benchmarks of the calling file.

    `options` are those of `opbench run`, spelled as in `Options`: axes={"n": [64, 512]},
    metrics=["time", "memory"], precision=0.01, budget=60, baseline="dtype=float32", …
    Results are stored (`.opbench/results.db` unless `store` says otherwise) as they are measured.
    """
    given = [str(target) for target in targets]
    if not given and not cont:
        given = [_calling_file()]
    return execute(given, options, store=store, save=save, cont=cont, listener=listener)


def execute(
    targets: Sequence[str],
    options: Mapping[str, Any],
    *,
    store: str | Path | None = None,
    save: bool = True,
    cont: bool = False,
    listener: Listener | None = None,
    cases: Sequence[Case] = (),
) -> Run:
    """`cases` that were made in Python are measured in the place of targets."""
    if cont:
        if not save:
            raise UserError("--cont continues a stored run, so it cannot go with --no-save")
        recording = Recording.resumed(store, str(options.get("name") or ""))
        if "commits" in recording.record.request:
            # Its two sides share every moment: the rest of them cannot be measured alone.
            raise UserError(
                f"run {recording.record.id} compares two sides; measure it anew with opbench ab"
            )
        if not targets:
            given: Mapping[str, Any] = {**recording.record.request, **_given(options)}
        else:
            given = {**options, "targets": tuple(targets)}
        request, settled = prepare(given)
    else:
        request, settled = prepare({**options, "targets": tuple(targets)}, cases=cases)
        recording = Recording.begun(store if save else None, save, settled.to_dict(), command())
    baseline = Baseline.parse(settled.baseline) if settled.baseline else None
    return Run(**vars(recording.measure(request, listener or Listener(), baseline)))


def prepare(
    given: Mapping[str, Any], environments: Sequence[Environment] = (), cases: Sequence[Case] = ()
) -> tuple[Request, Options]:
    """Check and expand what was asked for; every mistake of the user's is found here.

    `environments` stand for those that `given` names. Users' files are read in the first.
    """
    from opbench.define import suites
    from opbench.define.expand import expand
    from opbench.define.suite import Targets
    from opbench.define.targets import resolve
    from opbench.envs.environments import current
    from opbench.plan.groups import groups
    from opbench.plan.metrics import chosen
    from opbench.plan.request import Request

    places = tuple(environments) or _places(given.get("environments") or ())
    first = places[0] if places else current()
    targets = Targets()
    if not cases:
        targets = resolve(given.get("targets") or (), first.python, first.variables())
    # A run file speaks where the person who runs it did not, a suite where neither did.
    wished = {**targets.options, **_given(given)}
    options = Options.of({**targets.suggested, **wished})
    measured = chosen(options.metrics, options.clock, options.device or "cpu")
    options = replace(options, metrics=measured, clock="")
    for suite in suites.every().values():
        targets.definitions = suite.narrow(targets.definitions, options)
    cases = cases or expand(
        targets.definitions,
        axes=options.axes,
        keep=options.keep,
        stages=options.stages,
        device=options.device,
        threads=options.threads,
        seed=options.seed,
    )
    baseline = Baseline.parse(options.baseline) if options.baseline else None
    if baseline is not None and "baseline" not in wished and not baseline.among(cases):
        options, baseline = replace(options, baseline=None), None
    request = Request(
        groups=tuple(timed(groups(cases, baseline), targets.time_factors)),
        policy=options.policy,
        metrics=options.metrics,
        environments=places or _places(options.environments) or (current(),),
        budget=options.budget,
        cpus=options.cpus,
        jobs=options.jobs,
        seed=options.seed,
        fleet=options.fleet,
    )
    return request, options


def timed(
    planned: Iterable[PlannedGroup], factors: Mapping[tuple[str, str], float]
) -> Iterator[PlannedGroup]:
    """The groups, those given more time whose benchmark asks for it."""
    for group in planned:
        first = group.cases[0]
        factor = factors.get((first.suite, first.name), group.time_factor)
        yield replace(group, time_factor=factor)


def _places(names: str | Sequence[str]) -> tuple[Environment, ...]:
    """The environments of those names, each once."""
    from opbench.envs.environments import find

    return tuple(map(find, dict.fromkeys([names] if isinstance(names, str) else names)))


def command() -> str:
    """The command line of this process, as typed, without the folder of the program; a password
    in the URL of a store is masked."""
    program = Path(sys.argv[0])
    ours = program.is_relative_to(Path(__file__).parent.parent)  # `python -m opbench`
    words = ["opbench" if ours else program.name, *map(without_password, sys.argv[1:])]
    return shlex.join(words)


def _given(options: Mapping[str, Any]) -> dict[str, Any]:
    """What was really said: a default of the command line is no wish."""
    return {key: value for key, value in options.items() if value not in (None, (), [], {}, "")}


def _calling_file() -> str:
    frame = inspect.currentframe()
    while frame is not None:
        file, frame = frame.f_code.co_filename, frame.f_back
        ours = Path(file).is_relative_to(Path(__file__).parent.parent)
        if not ours and not file.startswith("<"):
            return file
    raise UserError(
        "run() without a target measures the benchmarks of the file it is called from, and this "
        "is no file; name a suite or a file: run('tour')"
    )
