from opbench.workers.pace import SECONDS, Pace, pace_of


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_the_quickest_of_the_last_minute_counts():
    clock = Clock()
    pace = Pace(clock)
    assert pace.quickest == 0
    for now, seen, quickest in [(0, 30, 30), (10, 20, 20), (20, 25, 20), (40, 22, 20)]:
        clock.now = now
        pace.note(seen)
        assert pace.quickest == quickest
    clock.now = 10 + SECONDS + 1  # the 20 is too long ago, and the 22 covers the 25
    assert pace.quickest == 22
    clock.now = 40 + SECONDS + 1
    assert pace.quickest == 0


def test_a_block_that_was_not_looked_at_says_nothing():
    pace = Pace(Clock())
    pace.note(0)
    assert pace.quickest == 0


def test_each_interpreter_has_its_own():
    pace_of("/one/python").note(7)
    assert pace_of("/one/python").quickest == 7
    assert pace_of("/other/python").quickest == 0
