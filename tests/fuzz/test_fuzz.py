"""A sample of `python -m perf fuzz`, and every input that ever broke a reader."""

from __future__ import annotations

from pathlib import Path

import pytest
from perf.fuzz.campaign import MOST_BYTES, MOST_SECONDS, campaign, read_case

CASES = sorted((Path(__file__).parent / "cases").iterdir())


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.name)
def test_what_once_broke_a_reader(path, tmp_path):
    assert read_case(path, tmp_path).crashes == {}


def test_a_few_hundred_damaged_inputs():
    found = campaign(400, seed=7, seconds=60)
    assert {text: crash.content for text, crash in found.crashes.items()} == {}
    assert found.executed == []
    assert found.inputs > 100
    assert 0 < found.refused < found.inputs
    assert found.bytes < MOST_BYTES
    assert MOST_SECONDS > 0
