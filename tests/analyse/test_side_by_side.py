"""Forked or not, the answers are the same ones, in the same order."""

from __future__ import annotations

import os
import signal
from concurrent.futures import BrokenExecutor

import pytest

from opbench.analyse.side_by_side import side_by_side


@pytest.mark.parametrize("worth_it", [False, True])
def test_answers_come_in_the_order_of_the_items(worth_it):
    base = [10, 20, 30] * 40  # read by the processes, not sent to them
    with side_by_side(lambda i: base[i] + i, range(len(base)), worth_it=worth_it) as found:
        assert list(found) == [value + index for index, value in enumerate(base)]


def test_what_is_worth_it_is_done_by_others(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    with side_by_side(lambda _: os.getpid(), range(40), worth_it=True) as found:
        assert os.getpid() not in set(found)
    with side_by_side(lambda _: os.getpid(), range(4), worth_it=False) as found:
        assert set(found) == {os.getpid()}


def test_one_processor_is_not_made_to_share(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    with side_by_side(lambda _: os.getpid(), range(4), worth_it=True) as found:
        assert set(found) == {os.getpid()}


def test_two_at_a_time_keep_to_their_own_work():
    with (
        side_by_side(lambda i: ("one", i), range(20), worth_it=True) as one,
        side_by_side(lambda i: ("other", i), range(20), worth_it=True) as other,
    ):
        assert list(zip(one, other)) == [(("one", i), ("other", i)) for i in range(20)]


def test_an_error_of_the_work_is_raised_here():
    def work(item: int) -> int:
        raise LookupError(f"no {item}")

    with side_by_side(work, range(8), worth_it=True) as found, pytest.raises(LookupError):
        list(found)


def test_processes_end_whatever_they_do_about_being_asked_to(monkeypatch):
    """Ray and others leave handlers of signals behind, which a forked process inherits."""
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        with side_by_side(lambda i: i, range(1), worth_it=True) as found:
            assert list(found) == [0]
    finally:
        signal.signal(signal.SIGTERM, before)


def test_what_ctrl_c_means_is_for_the_command_to_say(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 2)

    def pressed(_: int) -> str:
        os.kill(os.getpid(), signal.SIGINT)
        return "goes on"

    with side_by_side(pressed, range(4), worth_it=True) as found:
        assert set(found) == {"goes on"}


def test_a_process_that_dies_is_an_error_and_no_wait_without_end():
    def work(item: int) -> int:
        os._exit(item)

    with side_by_side(work, range(8), worth_it=True) as found, pytest.raises(BrokenExecutor):
        list(found)
