"""Whatever a result holds, it comes back equal from a real store."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opbench.case import Case
from opbench.result import OUTCOMES, Result, Sample, Warning
from opbench.store import RunRecord, Store
from opbench.store.payload import pack, unpack

# NUL and lone surrogates are kept readable, not equal: see the last test.
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
numbers = st.floats(allow_nan=True, allow_infinity=True)
counts = st.integers(0, 2**63 - 1)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | numbers | st.text(max_size=10),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
samples = st.builds(
    Sample,
    value=numbers,
    start=counts,
    session=counts,
    order=counts,
    n=counts,
    wall_ns=counts,
    cpu_ns=counts,
    switches=counts,
    contended=st.booleans(),
)
labels = st.lists(
    st.tuples(
        st.text(max_size=8),
        st.none() | st.booleans() | st.integers() | numbers | st.text(max_size=8),
    ),
    max_size=3,
)
cases = st.builds(
    Case,
    suite=texts,
    name=texts,
    stage=st.just("call"),
    stmt=st.text(max_size=40),
    labels=labels.map(tuple),
)
results = st.builds(
    Result,
    case_hash=st.just(""),
    metric=texts,
    unit=st.sampled_from(["s", "bytes"]),
    outcome=st.sampled_from(OUTCOMES),
    reason=texts,
    estimate=st.none() | numbers,
    low=st.none() | numbers,
    high=st.none() | numbers,
    samples=st.lists(samples, max_size=5).map(tuple),
    warnings=st.lists(st.builds(Warning, st.text(max_size=8), st.text(max_size=8)), max_size=2).map(
        tuple
    ),
    detail=st.dictionaries(st.text(max_size=5), values, max_size=3),
    environment=texts,
    fingerprint=texts,
    policy=texts,
    group=texts,
    created=st.floats(0, 4e9),
)


def same(left: object, right: object) -> bool:
    """Equality in which NaN equals NaN; `repr` writes every other float exactly."""
    return left == right or repr(left).replace("-0.0", "0.0") == repr(right).replace("-0.0", "0.0")


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    with Store.open(tmp_path_factory.mktemp("store") / "results.db") as store:
        yield store, itertools.count()


@settings(max_examples=60)
@given(case=cases, result=results)
def test_a_result_survives_the_store(shared, case, result):
    store, numbered = shared
    run = RunRecord(f"r{next(numbered)}", created=1.0)
    result = Result(**{**vars(result), "case_hash": case.hash})
    store.begin_run(run)
    store.add_result(run.id, case, result)
    (stored,) = store.results(run=run, samples=True)
    assert same(stored.result, result)
    assert same(stored.case, case)
    assert stored.n_samples == len(result.samples)
    assert store.done_keys(run.id) == {result.key()}


@settings(max_examples=50)
@given(st.lists(samples, max_size=30).map(tuple))
def test_samples_survive_packing(taken):
    assert same(unpack(pack(taken)), taken)


def test_columns_of_defaults_cost_nothing_and_unknown_ones_are_ignored():
    import json
    import zlib

    assert json.loads(zlib.decompress(pack([Sample(1.0), Sample(2.0)]))) == {"value": [1.0, 2.0]}
    later = zlib.compress(json.dumps({"value": [1.0], "n": [3], "new_field": [7]}).encode())
    assert unpack(later) == (Sample(1.0, n=3),)


def test_nan_and_none_are_different_estimates(store, run, make_case):
    case = make_case()
    store.add_result(run.id, case, Result(case.hash, "a", "s", estimate=math.nan, low=-math.inf))
    store.add_result(run.id, case, Result(case.hash, "b", "s", estimate=None))
    first, second = (stored.result for stored in store.results())
    assert math.isnan(first.estimate)
    assert first.low == -math.inf
    assert second.estimate is None


def test_text_no_database_accepts_is_kept_readable(store, run, make_case):
    case = make_case()
    store.add_result(run.id, case, Result(case.hash, "a", "s", "failed", "bad \udc80 and \0"))
    assert store.results()[0].result.reason == "bad \\udc80 and \\x00"


def test_numpy_numbers_are_stored_as_plain_ones(store, run, make_case):
    import numpy

    case = make_case()
    result = Result(
        case.hash,
        "a",
        "s",
        estimate=numpy.float32(0.5),
        samples=(Sample(numpy.float64(0.5), n=numpy.int64(3)),),
        detail={"sizes": numpy.array([1, 2]), "peak": numpy.int64(7)},
    )
    store.add_result(run.id, case, result)
    (stored,) = store.results(samples=True)
    assert stored.result.estimate == 0.5
    assert stored.result.samples == (Sample(0.5, n=3),)
    assert stored.result.detail == {"sizes": [1, 2], "peak": 7}
