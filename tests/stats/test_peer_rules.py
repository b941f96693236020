"""The rules of other tools, which docs/performance.md compares opbench's verdicts with."""

from __future__ import annotations

import numpy as np
import pytest
from perf.comparison import RULES


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("counts", [(40, 40), (40, 32)], ids=["equally many", "fewer"])
def test_a_rule_calls_what_doubled_different_and_the_same_values_not(rule, counts):
    """The sides of two runs may have different numbers of values."""
    rng = np.random.default_rng(1)
    base, new = (list(rng.normal(1, 0.01, count)) for count in counts)
    assert rule(base, [2 * value for value in new])
    assert not rule(base, base[: len(new)])
