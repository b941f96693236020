"""One file per rank: a program that runs in several processes records each of them."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def rank_of() -> tuple[int, int] | None:
    """(rank, number of ranks) of this process; None where it is the only one."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        found = distributed.get_rank(), distributed.get_world_size()
    else:
        try:
            found = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        except (KeyError, ValueError):
            return None
    return found if found[1] > 1 else None


def path_of_rank(path: Path, found: tuple[int, int] | None) -> Path:
    """`step.rank1.jsonl` of `step.jsonl`, where there are several ranks."""
    return path if found is None else path.with_name(f"{path.stem}.rank{found[0]}{path.suffix}")
