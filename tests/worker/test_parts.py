"""The parts of a call: which calls are watched."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from opbench.worker.metrics import parts

FAR = float("inf")


class Cores:
    """Finds a core that nobody shares before the call, and finds it so after it, or not."""

    def __init__(self, alone):
        self._alone = iter(alone)

    def seek(self, cpus, patience):
        assert cpus
        before, self._after = next(self._alone)
        return before

    def still_alone(self):
        return self._after


@pytest.fixture
def watched():
    """The numbers of the calls that count."""

    def watch(calls, alone, end=FAR):
        found, numbers = {}, iter(range(1000))
        session = SimpleNamespace(
            run=lambda what, n: found.update(number="untimed"),
            timed=lambda what, n: found.update(number=next(numbers)),
        )
        cores = None if alone is None else Cores(alone)
        return [each["number"] for each in parts.timed(session, found, calls, cores, end)]

    return watch


def test_calls_beside_others_on_the_core_are_made_again(watched):
    quiet, came, shared = (True, True), (True, False), (False, False)
    assert watched(10, [quiet, came, shared, *[quiet] * 9]) == [0, *range(3, 12)]


def test_a_machine_that_is_always_shared_gives_the_calls_there_were(watched):
    shared, quiet = (False, False), (True, True)
    assert watched(10, [shared] * 10, end=0) == list(range(10))
    few = [*[shared] * 9, quiet]
    assert watched(10, few, end=0) == list(range(10))
    enough = [*[shared] * 8, *[quiet] * 2]
    assert watched(10, enough, end=0) == [8, 9]


def test_several_threads_choose_no_core(watched):
    assert watched(5, None) == list(range(5))
