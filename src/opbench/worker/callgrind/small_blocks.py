"""Room in the interpreter's pools of small blocks, so that a count does not meet their edges.

CPython hands out blocks of up to 512 bytes from pools of equal blocks. The call that takes the last
block of a pool, or gives back the first one of a full pool, does more than the others; and where a
block lies decides whether two methods share a slot of the interpreter's table, which keeps names
alive. Whether the counted statement meets such an edge depends on how many objects were made before
it: on the length of a name, or on what an earlier case left in the worker.

So each worker keeps full pools of each size, and its children give most of their blocks back before
they count: the pool that was opened last is the one that blocks are taken from. There is room for
statements that keep a block or two with every call (a model in TorchScript does, in cycles). An
object that lay in a full pool elsewhere leaves a hole there, which stands first then; holes are
filled as they appear.
"""

#: Blocks are multiples of this, up to that.
STEP, LARGEST = 16, 512
#: Pools since Python 3.10, and what their own header takes.
POOL, HEADER = 16384, 48
#: Blocks of a pool that others may have: the addresses looked at here are objects themselves.
OTHERS = 2
#: Blocks of each size that are given back: two for each of some three hundred calls.
ROOM = 700
#: One block of so many stays, so that its pool does.
KEPT = 8
#: A size whose pools cannot be recognised (another allocator) is left alone.
MOST_BLOCKS = 6000
#: Holes elsewhere that are filled. Where there are more, they are room enough.
MOST_HOLES = 400


class Room:
    """Full pools of blocks of one size."""

    def __init__(self, make, pools):
        self.make = make
        self.places = {id(blocks[0]) // POOL for blocks in pools}
        self.kept = [blocks[::KEPT] for blocks in pools]
        #: What is given back, pool by pool.
        self.spare = [block for blocks in pools for i, block in enumerate(blocks) if i % KEPT]
        #: Of fixed length: a list that grows leaves holes itself.
        self.filling = [None] * MOST_HOLES
        self.filled = 0

    def fill_holes(self):
        """Take blocks until they come from here."""
        while self.filled < MOST_HOLES:
            block = self.make()
            if id(block) // POOL in self.places:
                return
            self.filling[self.filled] = block
            self.filled += 1


_rooms: list = []


def reserve():
    """Fill pools of each size; in the worker's parent, once."""
    for size in range(STEP, LARGEST + 1, STEP):
        make = _maker(size)
        pools = _full_pools(make, (POOL - HEADER) // size)
        if pools:
            _rooms.append(Room(make, pools))


def make_room():
    """Open the reserved pools; in a child, before it counts."""
    for room in _rooms:
        room.spare.clear()


def fill_holes():
    """Whatever was freed elsewhere since; in a child, while its calls settle."""
    for room in _rooms:
        room.fill_holes()


def _full_pools(make, capacity):
    """Blocks, pool by pool, of pools that are full; nothing where none can be recognised."""
    pools: dict = {}
    full: list = []
    last: list = []
    for _ in range(MOST_BLOCKS):
        block = make()
        blocks = pools.setdefault(id(block) // POOL, [])
        # Only what took its last block is full, and will stand first when it is opened.
        if blocks is not last and len(last) >= capacity - OTHERS:
            full.append(last)
            if sum(map(len, full)) * (KEPT - 1) // KEPT >= ROOM:
                return full
        blocks.append(block)
        last = blocks
    return []


def _maker(size):
    """Makes objects that take a block of that size and have no free list of their own."""
    if size == 16:
        return object
    if size == 32:
        return lambda: int("1234567890123")  # computed: a constant would be one object
    length = size - bytes.__basicsize__
    return lambda: bytes(length)
