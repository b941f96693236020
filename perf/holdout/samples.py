"""A file of raw samples: packed so that it can be kept in the repository, and read back.

Per block it keeps the logarithm of its time in steps of 0.01 %, the share of its wall time in which
it waited, and how often it was interrupted: what intervals, verdicts and the rule for disturbed
blocks look at. It is a plain `.npz` without pickled objects.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from opbench.result import Sample
from opbench.sampling.design import marked

DATA = Path(__file__).parent / "data"

#: One step of a logarithm, and of a share that waited.
STEP, WAIT_STEP = 1e-4, 1 / 250
#: What a block is said to last: only shares of it matter.
WALL_NS = 2_000_000


@dataclass(frozen=True)
class Measured:
    """All samples of some pairs; every array is (pair, start, set, side, block)."""

    #: `question: base | new` of each pair.
    names: list[str]
    questions: list[str]
    halves: list[str]
    logs: np.ndarray
    waits: np.ndarray
    switches: np.ndarray
    #: What measured it: processor, versions, when, load.
    about: str = ""

    @property
    def starts(self) -> int:
        return int(self.logs.shape[1])

    def of(self, question: str, half: str) -> list[int]:
        """The indices of the pairs of a question and half."""
        pairs = zip(self.questions, self.halves, strict=True)
        return [index for index, found in enumerate(pairs) if found == (question, half)]

    def samples(self, pair: int, side: int) -> dict[int, tuple[Sample, ...]]:
        """By worker start, the disturbed blocks marked as a run marks them."""
        found = {}
        for start, sets in enumerate(self.logs[pair]):
            blocks = [
                Sample(
                    float(np.exp(log)),
                    start=start,
                    session=number,
                    order=order,
                    wall_ns=WALL_NS,
                    cpu_ns=round(WALL_NS * (1 - self.waits[pair, start, number, side, order])),
                    switches=int(self.switches[pair, start, number, side, order]),
                )
                for number, each in enumerate(sets)
                for order, log in enumerate(each[side])
            ]
            found[start] = marked(blocks)
        return found

    def write(self, path: Path) -> None:
        middle = np.median(self.logs, axis=(1, 2, 3, 4))
        steps = np.rint((self.logs - middle[:, None, None, None, None]) / STEP)
        np.savez_compressed(
            path,
            names=np.array(self.names),
            questions=np.array(self.questions),
            halves=np.array(self.halves),
            about=np.array(self.about),
            middle=middle,
            logs=np.clip(steps, -32768, 32767).astype(np.int16),
            waits=np.rint(np.clip(self.waits, 0, 1) / WAIT_STEP).astype(np.uint8),
            switches=np.clip(self.switches, 0, 255).astype(np.uint8),
        )


def read(path: Path) -> Measured:
    with np.load(path, allow_pickle=False) as kept:
        return Measured(
            kept["names"].tolist(),
            kept["questions"].tolist(),
            kept["halves"].tolist(),
            kept["middle"][:, None, None, None, None] + kept["logs"] * STEP,
            kept["waits"] * WAIT_STEP,
            kept["switches"],
            str(kept["about"]),
        )
