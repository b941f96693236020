"""Free blocks in the interpreter's pools, so that a count never crosses the edge of a pool.

CPython allocates blocks of up to 512 bytes from pools of equal blocks. The call that takes the last
block of a pool, or frees the first one of a full pool, does more work than the others; and the
address of a block decides whether two methods share a slot of the interpreter's method cache, which
keeps names alive. Whether the counted statement meets such an edge depends on how many objects were
created before it: on the length of a name, or on what an earlier case left in the worker.

So each worker keeps full pools of each size, and its children free most of their blocks before they
count: CPython allocates from the pool that was freed into last. There is room for statements that
keep a block or two per call (a TorchScript model does, in cycles). An object freed from a full pool
elsewhere leaves a hole there, which would be used first; holes are filled as they appear.
"""

#: Blocks are multiples of this, up to that.
STEP, LARGEST = 16, 512
#: Size of a pool since Python 3.10, and of its header.
POOL, HEADER = 16384, 48
#: Blocks of a pool that may be taken by others: the addresses compared here are objects too.
OTHERS = 2
#: Blocks of each size that are freed: two for each of some three hundred calls.
ROOM = 700
#: One block in this many is kept, so that its pool is not returned.
KEPT = 8
#: A size whose pools cannot be recognised (another allocator) is left alone.
MAX_BLOCKS = 6000
#: Holes elsewhere that are filled. More than these are room enough.
MAX_HOLES = 400


class Room:
    """Full pools of blocks of one size."""

    def __init__(self, make, pools):
        self.make = make
        self.places = {id(blocks[0]) // POOL for blocks in pools}
        self.kept = [blocks[::KEPT] for blocks in pools]
        #: The blocks to free, pool by pool.
        self.spare = [block for blocks in pools for i, block in enumerate(blocks) if i % KEPT]
        #: Of fixed length: a list that grows leaves holes itself.
        self.filling = [None] * MAX_HOLES
        self.filled = 0

    def fill_holes(self):
        """Allocate until blocks come from these pools."""
        while self.filled < MAX_HOLES:
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
    """Free the reserved blocks; in a child, before it counts."""
    for room in _rooms:
        room.spare.clear()


def fill_holes():
    """Fill what was freed elsewhere since; in a child, while its calls settle."""
    for room in _rooms:
        room.fill_holes()


def _full_pools(make, capacity):
    """The blocks of full pools, pool by pool; empty where pools cannot be recognised."""
    pools: dict = {}
    full: list = []
    last: list = []
    for _ in range(MAX_BLOCKS):
        block = make()
        blocks = pools.setdefault(id(block) // POOL, [])
        # A pool is full once its last block is taken; freed into, it will be used first.
        if blocks is not last and len(last) >= capacity - OTHERS:
            full.append(last)
            if sum(map(len, full)) * (KEPT - 1) // KEPT >= ROOM:
                return full
        blocks.append(block)
        last = blocks
    return []


def _maker(size):
    """Makes objects that take a block of that size and have no free list."""
    if size == 16:
        return object
    if size == 32:
        return lambda: int("1234567890123")  # computed: a constant would be one object
    length = size - bytes.__basicsize__
    return lambda: bytes(length)
