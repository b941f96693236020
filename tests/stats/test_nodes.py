"""One difference on several machines: what they have in common, and how much they differ."""

from __future__ import annotations

import math
import random

import pytest

from opbench.stats.nodes import over_nodes
from opbench.stats.ratio import Ratio


def node(log: float, error: float = 0.004) -> Ratio:
    reach = 2.4 * error
    value = math.exp(log)
    return Ratio(value, value * math.exp(-reach), value * math.exp(reach), 3, "paired", error, 6.0)


def test_without_nodes_there_is_nothing_and_one_node_speaks_for_itself():
    assert over_nodes([]) is None
    alone = node(0.05)
    found = over_nodes([alone])
    assert found is not None
    assert found.ratio is alone
    assert (found.nodes, found.between) == (1, 0.0)


def test_nodes_that_agree_sharpen_the_ratio_and_show_no_machine():
    found = over_nodes([node(0.05), node(0.053), node(0.047), node(0.05)])
    assert found is not None
    assert found.ratio.value == pytest.approx(math.exp(0.05), rel=1e-3)
    assert found.between == 0.0
    assert found.ratio.error < 0.004
    assert found.ratio.low > 1.03


def test_nodes_that_disagree_widen_the_interval_and_say_how_much_is_theirs():
    found = over_nodes([node(0.00), node(0.10)])
    assert found is not None
    # Two values 0.1 apart have a standard deviation of 0.0707; their own error is taken off.
    assert found.between == pytest.approx(math.sqrt(0.0707**2 - 0.004**2), rel=1e-2)
    assert found.ratio.low < 1.0 < found.ratio.high


def test_the_interval_covers_the_truth_whether_nodes_differ_or_not():
    """Nominal 95 %; two nodes that differ much cannot know by how much."""
    rng = random.Random(9)
    trials = ((2, 0.0, 0.95), (2, 0.02, 0.82), (6, 0.02, 0.9), (12, 0.02, 0.91))
    for nodes, between, least in trials:
        hits = 0
        for _ in range(600):
            made = [node(rng.gauss(rng.gauss(0.03, between), 0.004)) for _ in range(nodes)]
            found = over_nodes(made)
            assert found is not None
            hits += found.ratio.low <= math.exp(0.03) <= found.ratio.high
        assert hits / 600 >= least, (nodes, between, hits / 600)
