"""Pools of small blocks, in an interpreter of its own: what is taken there cannot be given back."""

from __future__ import annotations

import subprocess
import sys

SAME_POOL = """
from opbench.worker.callgrind import small_blocks

small_blocks.reserve()
rooms = small_blocks._rooms
assert len(rooms) == small_blocks.LARGEST // small_blocks.STEP, len(rooms)
elsewhere = [[room.make() for _ in range(2000)] for room in rooms]
small_blocks.make_room()


def own(room):
    one, two, three = room.make(), room.make(), room.make()
    return all(id(block) // small_blocks.POOL in room.places for block in (one, two, three))


for room in rooms:
    room.fill_holes()  # what this script itself has left
    assert own(room), room.make()
holes = 0
for room, blocks in zip(rooms, elsewhere):
    blocks[3] = None  # a hole in a full pool stands first
    holes += not own(room)
    room.fill_holes()
    assert own(room), room.make()
assert holes > len(rooms) / 2, holes
print("fine")
"""


def test_blocks_are_taken_from_the_pool_that_was_opened():
    done = subprocess.run(
        [sys.executable, "-c", SAME_POOL], capture_output=True, text=True, check=False
    )
    assert done.stdout == "fine\n", done.stderr
