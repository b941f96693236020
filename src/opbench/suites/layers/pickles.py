"""Results as the pickles of the Opacus layer benchmarks, for the reports that read them.

One file per layer, batch size and mode. The content is that of Opacus 1.6, `layer` and `gsm_mode`
apart, whichever name the file has (`gsm_linear_bs_16_…` as in 2021, `linear_mode_hooks_bs_16_…`
since): Opacus' `generate_report.py` reads both. Nothing of ours unpickles anything; what a file
lacks is found out by `imports.plain_pickle`, which executes nothing.
"""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from opbench.case import Case
from opbench.errors import UserError, first_of, plural
from opbench.files import component, writing
from opbench.imports import plain_pickle
from opbench.plan.metrics import metrics
from opbench.plan.policy import Fixed
from opbench.result import Result
from opbench.suites.layers.config.model import Config
from opbench.suites.layers.names import classic_name

#: Components that the classic record does not know.
NEWER = ("gradients", "per_sample_gradients", "other")


@dataclass(frozen=True)
class Record:
    """What one pickle says besides its results."""

    layer: str
    mode: str
    batch_size: int
    num_runs: int
    num_repeats: int
    random_seed: int | None
    forward_only: bool
    config: dict[str, Any]
    #: The name of the layer in the name of the file: `gsm_linear`, `linear_mode_hooks`.
    named: str

    def file_name(self, suffix: str = "") -> str:
        name = f"{self.named}_bs_{self.batch_size}_runs_{self.num_runs}_repeats_{self.num_repeats}"
        name += f"_seed_{self.random_seed}"
        if self.forward_only:
            name += "_forward_only"
        check_suffix(suffix)
        if suffix and not suffix.startswith("_"):
            suffix = f"_{suffix}"
        return f"{name}{suffix}.pkl"

    def path(self, root: Path, suffix: str = "") -> Path:
        return root / component(self.file_name(suffix))

    def content(self, time: Result, memory: Result | None) -> dict[str, Any]:
        """Memory repeats to the byte, so each run has the same record of it."""
        stats = memory_stats(memory)
        runs = sorted(time.samples, key=lambda sample: sample.order)
        return self.with_results([{"runtime": r.value, "memory_stats": stats} for r in runs])

    def with_results(self, results: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            "layer": self.layer,
            "batch_size": self.batch_size,
            "num_runs": self.num_runs,
            "num_repeats": self.num_repeats,
            "random_seed": self.random_seed,
            "forward_only": self.forward_only,
            "gsm_mode": self.mode,
            "results": results,
            "config": self.config,
        }


def memory_stats(memory: Result | None) -> dict[str, int] | None:
    """`offset, input_tensor, [key, value | h_0, c_0], layer, labels, max_memory`, in bytes."""
    if memory is None or not memory.ok:
        return None
    components = memory.detail.get("components", {})
    stats = {name: size for name, size in components.items() if name not in NEWER}
    stats["max_memory"] = memory.detail.get("max_memory", 0)
    return stats


def write(path: Path, content: dict[str, Any]) -> None:
    """Whole or not at all; the folder is made when it is missing."""
    with writing(path) as partial:
        partial.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("wb") as stream:
            pickle.dump(content, stream, protocol=pickle.HIGHEST_PROTOCOL)


def held(path: Path) -> dict[str, Any] | None:
    """What is in a file of these benchmarks; None for anything else."""
    try:
        content = plain_pickle.loads(path.read_bytes())
    except (OSError, plain_pickle.NotPlain):
        return None
    return content if isinstance(content, dict) and "results" in content else None


def says_the_same(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Whether a file has the settings and times of a result, and all that is known of its memory.

    The clock and the number of threads are in no file: only the times tell."""
    if any(old.get(key) != new[key] for key in new if key != "results"):
        return False
    try:
        pairs = list(zip(old["results"], new["results"], strict=True))
        return all(
            was["runtime"] == now["runtime"] and now["memory_stats"] in (None, was["memory_stats"])
            for was, now in pairs
        )
    except (LookupError, TypeError, ValueError):
        return False


def check_suffix(suffix: str) -> None:
    """Refuse what cannot be part of the name of a file as it is."""
    if component(name := f"x_{suffix}.pkl") != name:
        raise UserError(
            f"suffix: {suffix!r} cannot be part of a file's name; use letters, digits and "
            "_ - + = . , [ ] ( )"
        )


def check_folder(root: Path) -> None:
    """Refuse a folder that cannot be written to, before anything is measured. One that is missing
    is made with its first file."""
    try:
        there = next(folder for folder in (root, *root.absolute().parents) if folder.exists())
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as error:
        raise UserError(
            f"cannot write pickles to {root}: {error.strerror}; name another folder with --root, "
            "or use --no-save"
        ) from None


def _place(metric: str, timers: Sequence[str]) -> int:
    return timers.index(metric) if metric in timers else len(timers)


@dataclass
class Files:
    """What became of the files of one command."""

    written: int = 0
    #: Of those, how many had other settings or times before.
    replaced: int = 0
    #: Left as they are: no files of these benchmarks, and files of layers that now have no time.
    foreign: list[Path] = field(default_factory=list)
    outdated: list[Path] = field(default_factory=list)

    def lines(self, root: Path) -> Iterator[str]:
        if self.written:
            line = f"{plural(self.written, 'pickle')} written to {root}"
            if self.replaced:
                line += f"; {self.replaced} of them held other settings or times"
            yield line
        if self.foreign:
            named = first_of(map(str, self.foreign), 1)
            yield (
                f"Not replaced, as it is no pickle of layers: {named}; write elsewhere with "
                "--suffix or --root"
            )
        if self.outdated:
            named = first_of(map(str, self.outdated), 1)
            yield f"Of an earlier run, as the layer has no time now: {named}; delete it"


@dataclass(frozen=True)
class Pickles:
    """The pickles of one command line."""

    config: Config
    root: Path
    suffix: str
    num_runs: int
    num_repeats: int
    random_seed: int | None
    in_modes: bool
    #: What was asked for; of several timers, files have the first.
    metrics: Sequence[str] = ("time", "memory")

    def write(self, results: Iterable[tuple[Case, Result]], *, only_missing: bool) -> Files:
        """One file for each case with a time. With `only_missing`, a file that has the settings and
        times of its result is kept, and so is one that somebody else wrote."""
        files = Files()
        memories, times, untimed = self._by_case(results)
        for case, time in times.values():
            record, path = self.record(case), self.path(case)
            content = record.content(time, memories.get(case.hash))
            if only_missing and path.exists():
                old = held(path)
                if old is None:
                    files.foreign.append(path)
                    continue
                if says_the_same(old, content):
                    continue
                files.replaced += not says_the_same(old, record.content(time, None))
            write(path, content)
            files.written += 1
        files.outdated += [path for path in map(self.path, untimed) if path.exists()]
        return files

    def _by_case(
        self, results: Iterable[tuple[Case, Result]]
    ) -> tuple[dict[str, Result], dict[str, tuple[Case, Result]], list[Case]]:
        """By case hash the memory, and the time by the first of the timers; the cases without."""
        # In however many workers: the record has the runs, not where each was made.
        asked = {
            Fixed(num_runs=self.num_runs, num_repeats=self.num_repeats, starts=starts).text
            for starts in range(1, Fixed.starts + 1)
        }
        timers = [name for name in self.metrics if metrics()[name].unit == "s"]
        memories: dict[str, Result] = {}
        times: dict[str, tuple[Case, Result]] = {}
        untimed: dict[str, Case] = {}
        # A run that was continued has its results in any order.
        for case, result in sorted(results, key=lambda pair: _place(pair[1].metric, timers)):
            if result.metric in timers and not result.ok:
                untimed[case.hash] = case
            elif result.ok and result.policy in asked:
                if result.metric == "memory":
                    memories[case.hash] = result
                elif result.metric in timers:
                    times.setdefault(case.hash, (case, result))
        return memories, times, [case for hash_, case in untimed.items() if hash_ not in times]

    def path(self, case: Case) -> Path:
        return self.record(case).path(self.root, self.suffix)

    def record(self, case: Case) -> Record:
        mode = str(case.axes["mode"])
        number = int(case.axes.get("config") or 0)
        named = None if self.in_modes else classic_name(case.name, mode)
        section = self.config.section(case.name, number)
        return Record(
            layer=case.name,
            mode=mode,
            batch_size=int(case.axes["batch_size"] or 0),
            num_runs=self.num_runs,
            num_repeats=self.num_repeats,
            random_seed=self.random_seed,
            forward_only=case.stage == "forward",
            config=section.model_dump(mode="json", exclude_unset=True),
            named=(named or f"{case.name}_mode_{mode}") + (f"_config_{number}" if number else ""),
        )
