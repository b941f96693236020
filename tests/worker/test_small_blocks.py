"""Pools of small blocks, in an interpreter of its own: what is taken there cannot be given back."""

from __future__ import annotations

import subprocess
import sys

SAME_POOL = """
from opbench.worker import small_blocks

small_blocks.reserve()
pools = small_blocks._rooms
assert len(pools) == small_blocks.LARGEST // small_blocks.STEP, len(pools)
elsewhere = [[pool.make() for _ in range(2000)] for pool in pools]
small_blocks.make_room()


def own(pool):
    one, two, three = pool.make(), pool.make(), pool.make()
    return all(id(block) // small_blocks.POOL in pool.places for block in (one, two, three))


for pool in pools:
    pool.fill_holes()  # what this script itself has left
    assert own(pool), pool.make()
holes = 0
for pool, blocks in zip(pools, elsewhere):
    blocks[3] = None  # a hole in a full pool stands first
    holes += not own(pool)
    pool.fill_holes()
    assert own(pool), pool.make()
assert holes > len(pools) / 2, holes
print("fine")
"""


def test_blocks_are_taken_from_the_pool_that_was_opened():
    done = subprocess.run(
        [sys.executable, "-c", SAME_POOL], capture_output=True, text=True, check=False
    )
    assert done.stdout == "fine\n", done.stderr
