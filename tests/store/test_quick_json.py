"""The quick way and Python's own agree, on what only the latter accepts as well."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opbench.store import quick_json

plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda each: st.lists(each) | st.dictionaries(st.text(), each),
    max_leaves=20,
)


@given(plain)
def test_what_was_written_is_read_back(value):
    assert quick_json.loads(json.dumps(value)) == value
    assert json.loads(quick_json.dumps(value)) == value
    assert quick_json.loads(quick_json.dumps(value)) == value


def test_halves_of_surrogate_pairs_survive():
    """Undecodable bytes of a file's name, as Python spells them."""
    name = "a\udcffb"
    assert quick_json.loads(json.dumps([name])) == [name]
    assert json.loads(quick_json.dumps([name])) == [name]


def test_what_is_not_finite_is_read_as_it_was_stored_and_never_written():
    stored = json.dumps([math.nan, math.inf, -math.inf])
    nan, *others = quick_json.loads(stored)
    assert math.isnan(nan)
    assert others == [math.inf, -math.inf]
    assert quick_json.dumps({"a": [math.nan, math.inf]}) == b'{"a":[null,null]}'
    assert json.loads(quick_json.dumps(["\udcff", math.nan])) == ["\udcff", None]


def test_deep_nesting_is_read():
    deep = "[" * 400 + "]" * 400
    assert quick_json.loads(deep) == json.loads(deep)


def test_what_is_no_json_is_refused():
    with pytest.raises(ValueError):
        quick_json.loads("{'a': 1}")
