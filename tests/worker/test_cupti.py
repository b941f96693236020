"""CUPTI's records as bytes: what is read of them, and what is refused."""

from __future__ import annotations

import ctypes
import struct

import pytest

from opbench.worker.cuda import cupti

#: Of a kernel's record, up to its name.
KERNEL_BYTES = 112


class Library:
    """Hands out records that lie one after the other, as CUPTI does."""

    def __init__(self, records: list[bytes], clock: list[int]) -> None:
        self.memory = ctypes.create_string_buffer(b"".join(records))
        self.sizes = list(map(len, records))
        self.clock = iter(clock)
        self.recorder: cupti.Recorder | None = None

    def __getattr__(self, name: str):
        return lambda *arguments: 0

    def cuptiGetTimestamp(self, place) -> int:
        place._obj.value = next(self.clock)
        return 0

    def cuptiActivityFlushAll(self, _flag) -> int:
        base = ctypes.addressof(self.memory)
        self.recorder._read(self.memory, base, sum(self.sizes))
        return 0

    def cuptiActivityGetNextRecord(self, buffer, _valid, record) -> int:
        at = record._obj.value
        offsets = [buffer + sum(self.sizes[:index]) for index in range(len(self.sizes))]
        index = 0 if at is None else offsets.index(at) + 1
        if index == len(offsets):
            return 12
        record._obj.value = offsets[index]
        return 0


def kernel(start: int, end: int, stream: int, correlation: int) -> bytes:
    record = bytearray(KERNEL_BYTES)
    struct.pack_into("<I", record, 0, cupti.KERNEL)
    struct.pack_into("<QQ", record, 16, start, end)
    struct.pack_into("<I", record, 48, stream)
    struct.pack_into("<I", record, 92, correlation)
    return bytes(record)


def label(number: int, correlation: int) -> bytes:
    return struct.pack("<IIQII", cupti.EXTERNAL, cupti.CUSTOM, number, correlation, 0)


#: As CUPTI's clock has it: nanoseconds since 1970.
NOW = 1_790_000_000 * 10**9
SECOND = 10**9


def recorded(monkeypatch, records, clock):
    library = Library(records, clock)
    monkeypatch.setattr(cupti, "load", lambda: library)
    library.recorder = cupti.Recorder(labelled=True)
    return library.recorder.record(lambda: None)


def test_kernels_come_back_with_the_label_that_was_up(monkeypatch):
    records = [kernel(NOW, NOW + 500, 7, 41), label(1234, 41), kernel(NOW + 600, NOW + 900, 8, 42)]
    first, second = recorded(monkeypatch, records, [NOW, NOW + SECOND])
    assert (first.end - first.start, first.stream, first.label) == (500, 7, 1234)
    assert (second.end - second.start, second.stream, second.label) == (300, 8, None)


def test_what_another_profiler_left_behind_is_not_counted(monkeypatch):
    """On an H200 the first recording after torch's profiler held kernels of its last one too."""
    records = [kernel(NOW - 900, NOW - 400, 7, 1), kernel(NOW + 10, NOW + 60, 7, 2)]
    (own,) = recorded(monkeypatch, records, [NOW, NOW + SECOND])
    assert (own.start, own.end) == (NOW + 10, NOW + 60)


@pytest.mark.parametrize(
    ("start", "end"), [(5, 10), (NOW + 900, NOW + 100), (NOW, NOW + 1000 * SECOND)]
)
def test_times_outside_of_the_recording_are_another_layout(monkeypatch, start, end):
    with pytest.raises(cupti.Unavailable, match="records that we cannot read"):
        recorded(monkeypatch, [kernel(start, end, 7, 1)], [NOW, NOW + SECOND])
