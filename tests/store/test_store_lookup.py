"""What a person may type for a run or a case, and the answer when it names none or several."""

from __future__ import annotations

import pytest

from opbench.case import Case
from opbench.result import Result
from opbench.store import RunRecord, StoreError


@pytest.fixture
def filled(store):
    for position, (run_id, name) in enumerate(
        [
            ("20261115-031502-ab12", "nightly"),
            ("20261115-031502-cd34", ""),
            ("20261116-031502-ab12", "nightly"),
            ("20261117-120000-00ff", "50%_done"),
        ]
    ):
        store.begin_run(RunRecord(run_id, name, created=1e9 + position))
    for name in ("linear", "conv2d", "linear_relu"):
        case = Case("layers", name, "forward", "f()", labels=(("mode", "hooks"), ("n", 64)))
        store.add_result("20261115-031502-ab12", case, Result(case.hash, "time", "s"))
    return store


@pytest.mark.parametrize(
    ("ref", "found"),
    [
        ("last", "20261117-120000-00ff"),
        ("last~0", "20261117-120000-00ff"),
        ("last~1", "20261116-031502-ab12"),
        ("20261115-031502-cd34", "20261115-031502-cd34"),
        ("20261117", "20261117-120000-00ff"),
        ("nightly", "20261116-031502-ab12"),  # the latest of that name
        ("50%_done", "20261117-120000-00ff"),
    ],
)
def test_a_run_is_found_by(filled, ref, found):
    assert filled.find_run(ref).id == found


@pytest.mark.parametrize(
    ("ref", "said"),
    [
        ("20261115", "matches several runs: 20261115-031502-cd34, 20261115-031502-ab12"),
        ("nigthly", "no run 'nigthly'; did you mean nightly"),
        ("lats", "did you mean last"),
        ("%", "no run '%'"),
        ("", "no run ''"),
        ("last~9", "no run 'last~9': the store has 4 runs"),
    ],
)
def test_a_run_that_is_not_there_is_answered_with(filled, ref, said):
    with pytest.raises(StoreError) as caught:
        filled.find_run(ref)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_empty_store_says_that_it_is_empty(store):
    for ref in ("last", "last~1", "nightly"):
        with pytest.raises(StoreError, match="has no runs yet"):
            store.find_run(ref)
    with pytest.raises(StoreError, match="has no results yet"):
        store.find_cases("linear")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("layers/linear[mode=hooks,n=64]/forward", "linear"),
        ("layers/linear[", "linear"),
        ("layers/CONV", "conv2d"),
        ("conv", "conv2d"),
        ("relu", "linear_relu"),
        ("Linear", "linear"),  # although `linear_relu` has it in its id
        ("linear[n=64]", "linear"),  # as tables shorten it
        ("linear_relu[n=64]/forward", "linear_relu"),
        ("Linear[n=64,mode=hooks]", "linear"),
    ],
)
def test_a_case_is_found_by(filled, text, name):
    assert [case.name for case in filled.find_cases(text)] == [name]


def test_a_case_is_found_by_its_hash_or_the_beginning_of_it(filled):
    for case in filled.cases():
        assert filled.find_cases(case.hash) == [case]
        assert filled.find_cases(case.hash[:10]) == [case]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "line",
            "'line' matches 2 cases: layers/linear[mode=hooks,n=64]/forward, "
            "layers/linear_relu[mode=hooks,n=64]/forward",
        ),
        ("linaer", "no case 'linaer' in the store; did you mean linear"),
        (
            "layers/conv3d[mode=hooks,n=64]/forward",
            "did you mean layers/conv2d[mode=hooks,n=64]/forward",
        ),
        ("linear[n=65]", "no case 'linear[n=65]' in the store; did you mean layers/linear["),
        ("linear[n=64]/backward", "no case 'linear[n=64]/backward' in the store"),
        ("l_near", "no case 'l_near'"),  # no wildcards
        ("", "name a case: its id"),
    ],
)
def test_a_case_that_is_not_there_or_not_alone_is_answered_with(filled, text, said):
    with pytest.raises(StoreError) as caught:
        filled.find_cases(text)
    assert said in str(caught.value)
