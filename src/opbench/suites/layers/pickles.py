"""Results as the pickles of the Opacus layer benchmarks, for the reports that read them.

One file per layer, batch size and mode. The content is that of Opacus 1.6, `layer` and `gsm_mode`
apart, whichever name the file has (`gsm_linear_bs_16_…` as in 2021, `linear_mode_hooks_bs_16_…`
since): Opacus' `generate_report.py` reads both. Nothing of ours unpickles anything; what a file
lacks is found out by `imports.plain_pickle`, which executes nothing.
"""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opbench.case import Case
from opbench.errors import UserError
from opbench.files import component, writing
from opbench.imports import plain_pickle
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


def lacks_memory(path: Path) -> bool:
    """Whether a file has times only, as an interrupted run leaves it."""
    try:
        content = plain_pickle.loads(path.read_bytes())
        return any(entry["memory_stats"] is None for entry in content["results"])
    except (OSError, plain_pickle.NotPlain, LookupError, TypeError):
        return False  # not a file of ours: it stays as it is


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

    def write(self, results: Iterable[tuple[Case, Result]], *, only_missing: bool) -> int:
        """One file for each case with a time. With `only_missing`, complete files are kept."""
        # In however many workers: the record has the runs, not where each was made.
        asked = {
            Fixed(num_runs=self.num_runs, num_repeats=self.num_repeats, starts=starts).text
            for starts in range(1, Fixed.starts + 1)
        }
        times: dict[str, tuple[Case, Result]] = {}
        memories: dict[str, Result] = {}
        for case, result in results:
            if result.ok and result.policy in asked:
                if result.metric == "memory":
                    memories[case.hash] = result
                elif result.unit == "s":
                    times.setdefault(case.hash, (case, result))
        written = 0
        for case_hash, (case, result) in times.items():
            record, memory = self.record(case), memories.get(case_hash)
            path = record.path(self.root, self.suffix)
            if only_missing and path.exists() and not (memory and lacks_memory(path)):
                continue
            write(path, record.content(result, memory))
            written += 1
        return written

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
