"""Accounts of memory: how many bytes a framework held before, during and after each piece of work.

A ledger records pieces of work (`with ledger.piece(name)`) and gives for each the level at its
start and end, and the lowest and highest level in between. The levels come from the allocator
itself: its events on the CPU, its statistics on CUDA, and Python's tracemalloc (to which NumPy
reports) elsewhere.
"""

import contextlib
import tracemalloc

#: The prefix of pieces among the profiler's events.
PREFIX = "opbench piece "


class Piece:
    """Bytes held during one piece of work."""

    __slots__ = ("end", "high", "low", "name", "reserved", "start")

    def __init__(self, name, start, end, high, low, reserved=0):
        self.name, self.start, self.end = name, start, end
        self.high, self.low, self.reserved = high, low, reserved


def largest_rise(pieces):
    """The most bytes held above the lowest level seen before, over some pieces in a row.

    A training step first frees the gradients of the step before. Counting from the level at its
    start would offset what it then allocates against them, as if gradients cost nothing.
    """
    lowest = pieces[0].start
    rise = 0
    for piece in pieces:
        lowest = min(lowest, piece.start)
        rise = max(rise, piece.high - lowest)
        lowest = min(lowest, piece.low, piece.end)
    return rise


class Events:
    """torch on the CPU: the profiler reports each allocation and release, to the byte."""

    source = "torch allocator events"
    #: What was held before the first event is unknown.
    offset = 0

    def __init__(self, torch):
        self.torch = torch
        self._names = []

    def __enter__(self):
        self._profile = self.torch.autograd.profiler.profile(profile_memory=True, use_kineto=True)
        self._profile.__enter__()
        return self

    def __exit__(self, *error):
        self._profile.__exit__(*error)

    @contextlib.contextmanager
    def piece(self, name):
        self._names.append(name)
        with self.torch.autograd.profiler.record_function(PREFIX + str(len(self._names) - 1)):
            yield

    def pieces(self):
        """Levels count from the beginning of the ledger."""
        changes, windows = [], {}
        for event in self._profile.kineto_results.events():
            name = event.name()
            if name == "[memory]":
                changes.append((event.start_ns(), event.nbytes()))
            elif name.startswith(PREFIX):
                begin = event.start_ns()
                windows[int(name[len(PREFIX) :])] = (begin, begin + event.duration_ns())
        changes.sort(key=lambda change: change[0])
        found, position, level = [], 0, 0
        for number, name in enumerate(self._names):
            begin, end = windows[number]
            while position < len(changes) and changes[position][0] < begin:
                level += changes[position][1]
                position += 1
            start = high = low = level
            while position < len(changes) and changes[position][0] <= end:
                level += changes[position][1]
                position += 1
                high, low = max(high, level), min(low, level)
            found.append(Piece(name, start, level, high, low))
        return found


class Cuda:
    """The caching allocator's own statistics. Low levels within a piece are not seen."""

    source = "cuda caching allocator"

    def __init__(self, torch):
        self.cuda = torch.cuda
        self._pieces = []

    def __enter__(self):
        self.cuda.synchronize()
        self.cuda.empty_cache()
        self.cuda.reset_peak_memory_stats()
        self.offset = self.cuda.memory_allocated()
        return self

    def __exit__(self, *error):
        pass

    @contextlib.contextmanager
    def piece(self, name):
        start = self.cuda.memory_allocated()
        self.cuda.reset_peak_memory_stats()
        yield
        self.cuda.synchronize()
        end, high = self.cuda.memory_allocated(), self.cuda.max_memory_allocated()
        reserved = self.cuda.max_memory_reserved()
        self._pieces.append(Piece(name, start, end, high, min(start, end), reserved))

    def pieces(self):
        return self._pieces


class Traced:
    """Python's own allocations, and NumPy's."""

    source = "tracemalloc"
    offset = 0

    def __init__(self, _torch=None):
        self._pieces = []

    def __enter__(self):
        tracemalloc.start()
        return self

    def __exit__(self, *error):
        tracemalloc.stop()

    @contextlib.contextmanager
    def piece(self, name):
        start = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        yield
        end, high = tracemalloc.get_traced_memory()
        self._pieces.append(Piece(name, start, end, high, min(start, end)))

    def pieces(self):
        return self._pieces
