"""Results as the pickles of the classic layer benchmarks, for the notebooks that read them.

One file per layer, batch size and mode, with the names and keys of the Opacus runner. They are
written, never read: nothing of ours unpickles anything.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opbench.files import component, writing
from opbench.result import Result

#: Components that the classic record does not know.
NEWER = ("gradients", "per_sample_gradients", "other")


@dataclass(frozen=True)
class Record:
    """What one pickle says besides its results."""

    #: The classic name (`gsm_linear`); or, with `in_modes`, the layer alone.
    layer: str
    mode: str
    batch_size: int
    num_runs: int
    num_repeats: int
    random_seed: int | None
    forward_only: bool
    config: dict[str, Any]
    #: The later form of the file name, which has the mode after the layer.
    in_modes: bool = False

    def path(self, root: str | Path, suffix: str = "") -> Path:
        name = self.layer + (f"_mode_{self.mode}" if self.in_modes else "")
        name += f"_bs_{self.batch_size}_runs_{self.num_runs}_repeats_{self.num_repeats}"
        name += f"_seed_{self.random_seed}"
        if self.forward_only:
            name += "_forward_only"
        if suffix and not suffix.startswith("_"):
            suffix = f"_{suffix}"
        return Path(root) / component(f"{name}{suffix}.pkl")

    def content(self, time: Result, memory: Result | None) -> dict[str, Any]:
        """Memory repeats to the byte, so each run has the same record of it."""
        stats = memory_stats(memory)
        runs = sorted(time.samples, key=lambda sample: sample.order)
        return {
            "layer": self.layer,
            "batch_size": self.batch_size,
            "num_runs": self.num_runs,
            "num_repeats": self.num_repeats,
            "random_seed": self.random_seed,
            "forward_only": self.forward_only,
            "gsm_mode": self.mode,
            "results": [{"runtime": run.value, "memory_stats": stats} for run in runs],
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
