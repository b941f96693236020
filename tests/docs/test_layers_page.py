"""The tables of docs/layers.md are what the command that the page names makes of the files."""

from __future__ import annotations

import pytest
from perf import layers_results


@pytest.mark.parametrize("where", layers_results.TITLES)
def test_the_results_are_reproduced_from_their_files(where):
    kept = layers_results.RESULTS / f"layers_{where}.csv"
    rows, notes = layers_results.read(kept)
    assert layers_results.text(where, rows, notes, kept).strip() in layers_results.PAGE.read_text()
