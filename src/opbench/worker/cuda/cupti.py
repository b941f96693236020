"""CUPTI's activity records through ctypes: what ran on the device, when, and who launched it.

torch's profiler reads the same records, but leaves CUPTI attached, which makes every later launch
of the process half as long again (on an H200 an addition went from 10 to 15 µs); and it knows
nothing of JAX. Here CUPTI is attached for a while and detached after it.
"""

import ctypes
import glob
import os
import struct
import sys
from collections import namedtuple

#: Kinds of activity that keep the device busy. A graph records each of its kernels.
MEMCPY, MEMSET, KERNEL, MEMCPY2 = 1, 2, 10, 22
BUSY = (KERNEL, MEMCPY, MEMSET, MEMCPY2)
#: What it takes to know which label was up when something was launched.
DRIVER, RUNTIME, EXTERNAL = 4, 5, 39
LABELLED = (EXTERNAL, RUNTIME, DRIVER)
#: Labels of this kind are for programs to use as they like.
CUSTOM = 3

#: Of every record: its kind, when it began and ended, in nanoseconds. These places, and those of
#: stream, correlation and name, were checked with the CUPTI of CUDA 13; records of another layout
#: are recognised by times that lie outside of the recording.
HEAD = struct.Struct("<I12xQQ")
LABEL = struct.Struct("<IIQI")
STREAM = {KERNEL: 48, MEMCPY: 40, MEMSET: 40, MEMCPY2: 40}
CORRELATION = {KERNEL: 92, MEMCPY: 44, MEMSET: 44, MEMCPY2: 60}
NAME = 104
NAMES = {MEMCPY: "Memcpy", MEMSET: "Memset", MEMCPY2: "Memcpy"}

#: Room for some 40,000 kernels, so that few callbacks interrupt the launching thread.
BUFFER_BYTES = 8 << 20
ALIGNMENT = 8
#: Buffers that wait to be read, so that a recording of any length fits into memory; and that are
#: kept for the next recording.
MOST_FULL, MOST_SPARE = 32, 2

OK, FORCED = 0, 1
#: The clocks of host and device are brought into line by the driver; nanoseconds.
SLACK = 10_000_000
#: Of another profiler that ran shortly before, records may be left.
EARLIER = 3600 * 10**9

#: `launch`: which of the launches of the recording, in their order. `label` is None where none was
#: up.
Activity = namedtuple("Activity", "kind start end stream name launch label")

_REQUESTED = ctypes.CFUNCTYPE(
    None,
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.POINTER(ctypes.c_size_t),
    ctypes.POINTER(ctypes.c_size_t),
)
_COMPLETED = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t
)


class Unavailable(Exception):
    """Why CUPTI cannot be used: no library, no permission, another tool attached."""


class Recorder:
    """The one user of CUPTI in this process. The device must be idle at `start` and at `stop`."""

    def __init__(self, labelled=False):
        self._library = load()
        self._kinds = (*BUSY, *LABELLED) if labelled else BUSY
        #: Address → memory that CUPTI writes to; memory that was read, to be used again; and what
        #: is full: (memory, address, bytes). It is read when nothing is being timed.
        self._buffers = {}
        self._spare = [new_buffer()]
        self._full = []
        self._found = []
        self._labels = {}
        self._began = 0
        # Kept, or they would be freed while CUPTI still calls them.
        self._callbacks = _REQUESTED(self._requested), _COMPLETED(self._completed)
        self._popped = ctypes.byref(ctypes.c_uint64())
        self._push = self._library.cuptiActivityPushExternalCorrelationId
        self._pop = self._library.cuptiActivityPopExternalCorrelationId

    def record(self, work):
        """The activities during `work()`, which waits for the device at its end."""
        self.start()
        try:
            work()
        except BaseException:
            self._detach()
            raise
        return self.stop()

    def start(self):
        self._found, self._labels, self._full = [], {}, []
        try:
            self._call("cuptiActivityRegisterCallbacks", *self._callbacks)
            for kind in self._kinds:
                self._call("cuptiActivityEnable", kind)
            self._began = self.now()
        except BaseException:
            self._detach()
            raise

    def stop(self):
        """The activities since `start`, in no particular order."""
        try:
            self._call("cuptiActivityFlushAll", FORCED)
            ended = self.now()
            self._read_full()  # the names of kernels are CUPTI's, and go with it
        finally:
            self._detach()
        for each in self._found:
            if not self._began - EARLIER <= each.start <= each.end <= ended + SLACK:
                raise Unavailable("this version of CUPTI writes records that we cannot read")
        # The device was idle at the start: what ended before it is not ours.
        found = [each for each in self._found if each.end > self._began]
        labels = self._labels
        self._found, self._labels = [], {}
        return [activity._replace(label=labels.get(activity.launch)) for activity in found]

    def push(self, label):
        """What this thread launches from now on is labelled with this whole number, until `pop`."""
        self._push(CUSTOM, label)

    def pop(self):
        self._pop(CUSTOM, self._popped)

    def now(self):
        """The clock of the records, in nanoseconds."""
        moment = ctypes.c_uint64()
        self._call("cuptiGetTimestamp", ctypes.byref(moment))
        return moment.value

    def _detach(self):
        for kind in self._kinds:
            self._library.cuptiActivityDisable(kind)
        self._library.cuptiFinalize()

    def _call(self, name, *arguments):
        code = getattr(self._library, name)(*arguments)
        if code != OK:
            text = ctypes.c_char_p()
            self._library.cuptiGetResultString(code, ctypes.byref(text))
            said = (text.value or b"").decode("utf-8", "replace")
            raise Unavailable("%s: %s" % (name, said or code))

    def _requested(self, buffer, size, most):
        memory = self._spare.pop() if self._spare else new_buffer()
        address = ctypes.addressof(memory)
        address += -address % ALIGNMENT
        self._buffers[address] = memory
        buffer[0], size[0], most[0] = address, BUFFER_BYTES, 0

    def _completed(self, _context, _stream, buffer, _size, valid):
        memory = self._buffers.pop(buffer, None)
        if memory is not None:
            self._full.append((memory, buffer, valid))
        if len(self._full) > MOST_FULL:
            self._read_full()

    def _read_full(self):
        while self._full:
            memory, buffer, valid = self._full.pop()
            if valid:
                self._read(memory, buffer, valid)
            self._spare.append(memory)
        del self._spare[MOST_SPARE:]

    def _read(self, memory, buffer, valid):
        base = ctypes.addressof(memory)
        record = ctypes.c_void_p(None)
        following = self._library.cuptiActivityGetNextRecord
        while following(buffer, valid, ctypes.byref(record)) == OK:
            at = (record.value or 0) - base
            kind, start, end = HEAD.unpack_from(memory, at)
            if kind in STREAM:
                (stream,) = struct.unpack_from("<I", memory, at + STREAM[kind])
                (correlation,) = struct.unpack_from("<I", memory, at + CORRELATION[kind])
                name = NAMES.get(kind) or kernel_name(memory, at)
                self._found.append(Activity(kind, start, end, stream, name, correlation, None))
            elif kind == EXTERNAL:
                _, _, label, correlation = LABEL.unpack_from(memory, at)
                self._labels[correlation] = label


def new_buffer():
    return ctypes.create_string_buffer(BUFFER_BYTES + ALIGNMENT)


def kernel_name(memory, at):
    (address,) = struct.unpack_from("<Q", memory, at + NAME)
    return ctypes.string_at(address).decode("utf-8", "replace") if address else ""


def load():
    """The library that the framework brought along, or that of an installed toolkit."""
    for name in candidates():
        try:
            library = ctypes.CDLL(name)
        except OSError:
            continue
        library.cuptiActivityPushExternalCorrelationId.argtypes = (
            ctypes.c_uint32,
            ctypes.c_uint64,
        )
        library.cuptiActivityGetNextRecord.argtypes = (
            ctypes.c_void_p,
            ctypes.c_size_t,
            ctypes.POINTER(ctypes.c_void_p),
        )
        return library
    raise Unavailable("libcupti is not installed")


def candidates():
    """Paths and names to try, that of the package beside the framework first."""
    for folder in sys.path:
        for pattern in ("nvidia/cu*/lib", "nvidia/cuda_cupti/lib"):
            yield from sorted(glob.glob(os.path.join(folder, pattern, "libcupti.so.*")))
    yield from ("libcupti.so.13", "libcupti.so.12", "libcupti.so")
    yield from sorted(glob.glob("/usr/local/cuda/extras/CUPTI/lib64/libcupti.so*"))
