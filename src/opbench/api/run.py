"""`opbench.run(...)`: the same thing as the command line, for Python."""

from __future__ import annotations

import inspect
import shlex
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from opbench.api.progress import in_notebook, python_progress
from opbench.api.request import build
from opbench.api.signature import takes_options
from opbench.case import Case
from opbench.errors import UserError
from opbench.plan.devices import check_devices
from opbench.plan.groups import Baseline
from opbench.plan.options import OPTIONS, RunOptions, asked, read
from opbench.running.listener import Listener
from opbench.running.recording import Finished, Recording
from opbench.store.connection.masking import without_password
from opbench.store.records import RunRecord, StoredResult

if TYPE_CHECKING:
    import pandas
    from typing_extensions import Unpack

    from opbench.api.keywords import RunKeywords
    from opbench.api.views import Compared, Page
    from opbench.report.charts.chart import Chart


AnyRun = TypeVar("AnyRun", bound=Finished)


class Run(Finished):
    """What `opbench.run` returns; shows itself as the final table."""

    def frame(self, samples: bool = False) -> pandas.DataFrame:
        """The results as a DataFrame, a row for each, or for each of their samples."""
        from opbench.api.frames import frame

        return frame(self.stored, [RunRecord(self.id, self.name)], samples)

    def compare(
        self, base: str | Run | None = None, *, store: str | Path | None = None
    ) -> Compared:
        """What the run itself compares, or this run against another: a run, or what
        `opbench compare` takes."""
        from opbench.api.views import compared_runs, compared_within

        if base is None:
            return compared_within(self.baseline, self.stored)
        return compared_runs(base.stored if isinstance(base, Run) else base, self, store)

    def chart(self, metric: str | None = None) -> Chart:
        """The first picture of the run: the metric over its sizes, or its factors."""
        from opbench.api.views import first_chart

        return first_chart(self.baseline, self.stored, metric)

    def page(self) -> Page:
        """The run as `opbench report` shows it: `run.page().save("report.html")`."""
        from opbench.api.views import page

        if not self.store:
            raise UserError("this run was not stored, so it has no page; leave out save=False")
        return page(self.id, store=self.store)

    @property
    def stored(self) -> list[StoredResult]:
        return [StoredResult(self.id, case, result) for case, result in self.results]

    def __repr__(self) -> str:
        from opbench.report.terminal.run import as_text

        return as_text(self).rstrip()

    def _repr_html_(self) -> str:
        from opbench.report.notebook import results_html

        return results_html(f"Run {self.id} {self.status}", self.results, baseline=self.baseline)


@takes_options("run")
def run(
    *targets: str | Path, listener: Listener | None = None, **options: Unpack[RunKeywords]
) -> Run:
    """Measure suites, files, or, without a target, the benchmarks of the calling file or notebook.

    The options are those of `opbench run`, and may be written as there: precision="1%",
    budget="60s", axes={"n": [64, 512]}, metrics=["time", "memory"], baseline="dtype=float32".
    Results are stored (`.opbench/results.db` unless `store` says otherwise) as they are measured:
    after Ctrl-C, which ends the calling program too, `opbench.load` has those that were finished.
    """
    file = None if targets or options.get("cont") else calling_file()
    if targets or options.get("cont") or file is not None:
        chosen = targets if file is None else (file,)
        return uninterrupted(execute({**options, "targets": chosen}, listener=listener))
    from opbench.define.bench import registered

    # A cell that is run again registers again: the last one counts.
    entries = {(each["group"], each["name"]): each for each in registered()}
    if not entries:
        raise UserError(
            "run() without a target measures the benchmarks of the file or notebook that calls it, "
            "and there is none; decorate a function with @ob.bench, or name a suite: run('tour')"
        )
    return uninterrupted(execute_entries(list(entries.values()), options, listener=listener))


def uninterrupted(run: AnyRun) -> AnyRun:
    """Ctrl-C ends the program, or the cell, that measures too; what is finished is stored. (A
    command shows what it has.)"""
    if run.status == "interrupted":
        text = f"run {run.id} was interrupted"
        if run.store:
            text += f"; opbench.load({run.store!r}, {run.id!r}) has what was measured"
        raise KeyboardInterrupt(text)
    return run


def execute_entries(
    entries: Sequence[dict[str, Any]],
    options: Mapping[str, Any],
    *,
    file: str | None = None,
    listener: Listener | None = None,
) -> Run:
    """Measure benchmarks that were registered in this process; `file` is where they stand."""
    from opbench.define import suites
    from opbench.define.bench import BenchError, misplaced
    from opbench.define.userfile import process_targets

    if wrong := next(filter(None, map(misplaced, entries)), ""):
        raise BenchError(wrong)
    # The file is stored with the run, so that `--cont` finds its benchmarks again.
    given = asked({**options, "targets": (file,) if file else ()})
    kept = RunOptions(**given)
    targets = process_targets(entries, Path(file) if file else None)
    cases = suites.cases(targets.definitions, kept)
    suggested = {"baseline": targets.suggested.get("baseline")}
    return execute({**suggested, **given}, cases=cases, listener=listener)


def execute(
    options: Mapping[str, Any],
    *,
    cases: Sequence[Case] = (),
    listener: Listener | None = None,
    extends: Collection[str] = (),
) -> Run:
    """The same for options in a mapping. Without targets the default suite is measured, or in its
    place the `cases` that were made in Python.

    A run that is continued must have been begun with the same options; those named in `extends` may
    have grown."""
    given = asked(options)
    kept = RunOptions(**given)
    if kept.cont:
        recording, given = _continued(kept, given, extends)
        request, settled = build(given)
        check_devices(request.cases, request.metrics, here=not kept.on)
    else:
        request, settled = build(given, cases=cases)
        check_devices(request.cases, request.metrics, here=not kept.on)
        store = kept.store if kept.save else None
        recording = Recording.begun(store, kept.save, settled.to_dict(), command())
    baseline = Baseline.parse(settled.baseline) if settled.baseline else None
    if listener is not None:
        return Run(**vars(recording.measure(request, listener, baseline)))
    with python_progress() as display:
        return Run(**vars(recording.measure(request, display, baseline)))


def check_address(store: str) -> None:
    """UserError where this is no address of a store."""
    from opbench.store.connection.address import parse_address

    parse_address(store)


def _continued(
    kept: RunOptions, given: Mapping[str, Any], extends: Collection[str]
) -> tuple[Recording, dict[str, Any]]:
    """The stored run to complete, and what it asked for."""
    recording = Recording.resumed(kept.store, kept.name, kept.save)
    stored = recording.record.request
    if "commits" in stored:
        # Its two sides share every moment: the rest of them cannot be measured alone.
        recording.close()
        raise UserError(
            f"run {recording.record.id} compares two sides; measure it again with opbench ab"
        )
    before = {name: value for name, value in read(stored).items() if name not in extends}
    if found := difference(before, given, extends):
        recording.close()
        raise DifferentRun(
            f"run {recording.record.id} {found}; leave that out to continue this run, or leave out "
            "--cont for a new one"
        )
    return recording, {**before, **given}


class DifferentRun(UserError):
    """What is asked for now is not what the run to be continued was asked for."""


def difference(
    before: Mapping[str, Any], given: Mapping[str, Any], extends: Collection[str] = ()
) -> str:
    """What a run was begun with and what is given now, where they differ, in words; empty where
    the run can be continued. What is not given is as it was."""
    # As they were settled: a clock is a metric by then.
    now = {name: value for name, value in given.items() if name != "clock"}
    if "clock" in given or "metrics" in given:
        from opbench.plan.metrics import CLOCKS, ON_CUDA, chosen

        settled = RunOptions(**{**before, **given})
        timing = {*CLOCKS.values(), *ON_CUDA} if "metrics" not in given else ()
        asked_for = ["time" if name in timing else name for name in settled.metrics]
        now["metrics"] = chosen(dict.fromkeys(asked_for), settled.clock, settled.device or "cpu")
    was = RunOptions(**before)
    for name, value in now.items():
        option, then = OPTIONS[name], getattr(was, name)
        if not option.stored or option.adjustable or name == "name" or name in extends:
            continue
        if then != value:
            return f"was begun {_with(name, then)}, and not {_with(name, value)}"
    return ""


def _with(name: str, value: Any) -> str:
    """`with --precision 2%`, `without --baseline`, `for bench_a.py`."""
    if name == "targets":
        return f"for {' '.join(map(str, value)) or 'the default suite'}"
    option = OPTIONS[name]
    flag = option.flags_of(name)[0]
    if value in (None, (), {}, ""):
        return f"without {flag}"
    if isinstance(value, Mapping):
        texts = [f"{axis}={','.join(map(str, values))}" for axis, values in value.items()]
        return "with " + " ".join(f"{flag} {text}" for text in texts)
    if isinstance(value, (tuple, list)):
        return f"with {flag} {','.join(map(str, value))}"
    return f"with {flag} {option.kind.show(value)}"


def command() -> str:
    """The command line of this process, as typed, without the folder of the program; a password
    in the URL of a store is masked. Of a notebook or a prompt, what it is."""
    if in_notebook():
        return "notebook"
    if sys.argv[0] in ("", "-", "-c"):
        return "python"
    program = Path(sys.argv[0])
    ours = program.is_relative_to(Path(__file__).parent.parent)  # `python -m opbench`
    words = ["opbench" if ours else program.name, *map(without_password, sys.argv[1:])]
    return shlex.join(words)


def calling_file() -> str | None:
    """The file that called into this package; None for a notebook or a prompt."""
    frame = inspect.currentframe()
    while frame is not None:
        file, frame = frame.f_code.co_filename, frame.f_back
        if not Path(file).is_relative_to(Path(__file__).parent.parent):
            return file if Path(file).is_file() else None
    return None
