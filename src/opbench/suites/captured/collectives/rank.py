"""`python -m opbench.suites.captured.collectives.rank SETTINGS`: one rank, as `starting` starts it.

Rank 0 writes what all of them measured. A rank that cannot go on says so in one line.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import Any

from opbench.capture.reading import read
from opbench.suites.captured.collectives.blocks import Measured
from opbench.suites.captured.collectives.matching import by_rank, matched


def measure(
    files: Sequence[str], rank: int, local_rank: int, timeout: float, rendezvous: Mapping[str, Any]
) -> list[Measured]:
    from opbench.suites.captured.collectives.replaying import replay

    collectives = matched(by_rank([read(path) for path in files]))
    return replay(collectives, rank, local_rank, timeout, rendezvous)


def main(settings: dict[str, Any]) -> None:
    import torch.distributed as dist

    files, rank, timeout = settings["files"], settings["rank"], settings["timeout"]
    store = dist.FileStore(settings["store"], len(files))
    store.set_timeout(timedelta(seconds=timeout))
    rendezvous = {"store": store, "rank": rank, "world_size": len(files)}
    found = measure(files, rank, rank, timeout, rendezvous)
    if rank == 0:
        Path(settings["report"]).write_text(json.dumps(list(map(asdict, found))), encoding="utf-8")


if __name__ == "__main__":
    try:
        main(json.loads(sys.argv[1]))
    except Exception as error:
        print(" ".join(str(error).split()) or type(error).__name__, file=sys.stderr)
        sys.exit(1)
