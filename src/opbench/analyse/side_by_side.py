"""The same work on very many things, by forked processes: what they read is not sent to them."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

from opbench import children

T = TypeVar("T")

PROCESSES = 4


@contextmanager
def side_by_side(
    work: Callable[[int], T], items: Sequence[int], *, worth_it: bool
) -> Iterator[Iterator[T]]:
    """`work` of each item, in their order; begun at once, while the caller does other things.

    Where it is not worth a process, or there is one processor, plainly one after the other.
    """
    processes = min(os.cpu_count() or 1, PROCESSES)
    if not worth_it or processes < 2:
        yield map(work, items)
        return
    context = multiprocessing.get_context("fork")
    # What an initializer is given is inherited, not pickled. The processes end when there is no
    # more work: a signal may find one that handles it in its own way, and waits on.
    with ProcessPoolExecutor(processes, context, _take, (work,)) as pool:
        try:
            yield pool.map(_call, items, chunksize=4)
        finally:
            pool.shutdown(cancel_futures=True)


_work: Callable[[int], Any] | None = None


def _take(work: Callable[[int], Any]) -> None:
    global _work
    _work = work
    children.dying_with_us()()
    # Ctrl-C reaches all processes of a terminal: what it means is for the command to say.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def _call(item: int) -> Any:
    assert _work is not None, "taken when the process began"
    return _work(item)
