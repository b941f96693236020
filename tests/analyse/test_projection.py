"""Keys, filters and columns of made-up results, and which result meets which."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opbench.analyse.matching import match
from opbench.analyse.projection import Filter, check_key, columns, keys_of, title, value_of
from opbench.errors import UserError
from opbench.store import StoredResult
from synthetic import case, counted, timed

ADD = timed(case("add", n=64, mode="hooks", bias=None), 1e-5, environment="np22")
MUL = timed(case("mul", stage="backward", n=512), 1e-5)


def swept(**axes: object) -> StoredResult:
    return timed(case("add", **axes), 1e-5)


# -- keys --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("n", "64"),
        ("mode", "hooks"),
        ("bias", "none"),
        ("name", "add"),
        ("suite", "ops"),
        ("stage", "forward"),
        ("device", "cpu"),
        ("threads", "1"),
        ("id", "ops/add[n=64,mode=hooks,bias=none]/forward"),
        ("metric", "time"),
        ("environment", "np22"),
        ("run", "r1"),
        ("colour", None),
    ],
)
def test_a_key_is_a_property_of_a_result(key, value):
    assert value_of(ADD, key) == value


def test_an_axis_outweighs_a_property_of_the_same_name():
    assert value_of(swept(device="mine"), "device") == "mine"


def test_an_unknown_key_is_named_with_the_nearest():
    with pytest.raises(UserError, match="unknown key 'mod'; did you mean mode"):
        check_key("mod", [ADD])
    with pytest.raises(UserError, match="choose from: n, mode, bias, suite, name"):
        check_key("zzz", [ADD])
    for key in keys_of([ADD, MUL]):
        check_key(key, [ADD, MUL])


# -- filters -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("", [ADD, MUL]),
        ("name:add", [ADD]),
        ("name:add,mul", [ADD, MUL]),
        ("-name:add", [MUL]),
        ("name:add,mul -stage:forward", [MUL]),
        ("name:add stage:backward", []),
        ("mode:hooks", [ADD]),  # MUL has no such axis
        ("-mode:hooks", [MUL]),
        ("environment:np22", [ADD]),
        ("name=add", [ADD]),
        ("-mode=hooks name=add,mul", [MUL]),
    ],
)
def test_every_term_of_a_filter_must_hold(text, kept):
    assert Filter.parse(text).keep([ADD, MUL]) == kept


@pytest.mark.parametrize("text", ["name", "name:", ":add", "-", "name:add mul"])
def test_a_filter_that_is_none_is_refused(text):
    with pytest.raises(UserError, match="a filter is written KEY=VALUE"):
        Filter.parse(text)


def test_a_filter_by_an_unknown_key_is_a_mistake_and_not_an_empty_answer():
    with pytest.raises(UserError, match="unknown key 'nmae'; did you mean name"):
        Filter.parse("nmae:add").check([ADD])


@given(st.text(max_size=30))
def test_any_text_is_a_filter_or_refused_in_one_line(text):
    said = "a filter is written"
    try:
        Filter.parse(text).keep([ADD, MUL])
    except UserError as error:
        said = str(error)
    assert said.startswith("a filter is written")


# -- columns and titles ------------------------------------------------------------------------


def test_columns_stand_in_order_of_appearance_and_leave_out_what_has_no_value():
    results = [swept(n=512), swept(n=64), MUL, swept(m=1), swept(n=512, m=2)]
    assert {value: len(found) for value, found in columns(results, "n").items()} == {
        "512": 3,  # MUL has n=512, too
        "64": 1,
    }


@pytest.mark.parametrize(
    ("rows", "without", "expected"),
    [
        ((), "", "ops/add[n=64,mode=hooks,bias=none]/forward"),
        ((), "mode", "ops/add[n=64,bias=none]/forward"),
        ((), "stage", "ops/add[n=64,mode=hooks,bias=none]"),
        ((), "name", "ops/*[n=64,mode=hooks,bias=none]/forward"),
        ((), "suite", "*/add[n=64,mode=hooks,bias=none]/forward"),
        (("name", "n"), "mode", "name=add n=64"),
        (("name", "colour"), "", "name=add colour="),
    ],
)
def test_a_title_is_the_id_less_the_compared_key_or_the_named_keys(rows, without, expected):
    assert title(ADD, rows, without) == expected


# -- matching ----------------------------------------------------------------------------------


def titles(base: list[StoredResult], new: list[StoredResult], *options: object) -> list[str]:
    return [row for (row, _), _, _ in match(base, new, *options).pairs]  # type: ignore[arg-type]


def test_all_but_the_compared_axis_must_be_equal():
    base = [swept(n=64, mode="plain"), swept(n=512, mode="plain"), swept(n=1, mode="plain")]
    new = [swept(n=512, mode="hooks"), swept(n=64, mode="hooks")]
    found = match(base, new, (), "mode")
    assert [(a.case.axes["n"], b.case.axes["n"]) for _, a, b in found.pairs] == [
        (64, 64),
        (512, 512),
    ]
    assert found.only_base == ("ops/add[n=1]/forward",)


def test_two_names_can_be_compared():
    assert titles([timed(case("add", n=1), 1.0)], [timed(case("mul", n=1), 1.0)], (), "name") == [
        "ops/*[n=1]/forward"
    ]


def test_sides_with_the_same_environments_meet_environment_by_environment():
    def run(run_id: str) -> list[StoredResult]:
        return [timed("add", 1e-5, run=run_id, environment=env) for env in ("np22", "np23")]

    found = match(run("r1"), run("r2"))
    assert [(a.result.environment, b.result.environment) for _, a, b in found.pairs] == [
        ("np22", "np22"),
        ("np23", "np23"),
    ]
    assert [row for (row, _), _, _ in found.pairs] == [
        "ops/add/forward in np22",
        "ops/add/forward in np23",
    ]


def test_sides_with_nothing_but_different_environments_meet_across_them():
    found = match([timed("add", 1e-5, environment="a")], [timed("add", 1e-5, environment="b")])
    assert len(found.pairs) == 1


def test_an_environment_only_one_side_has_is_left_over():
    base = [timed("add", 1e-5, environment=env) for env in ("a", "b")]
    found = match(base, base[:1])
    assert [one.result.environment for _, one, _ in found.pairs] == ["a"]
    assert found.only_base == ("ops/add/forward",)


def test_an_axis_compared_within_two_environments_stays_within_each():
    def side(mode: str) -> list[StoredResult]:
        return [timed(case("add", mode=mode), 1e-5, environment=env) for env in ("a", "b")]

    found = match(side("plain"), side("hooks"), (), "mode")
    assert all(a.result.environment == b.result.environment for _, a, b in found.pairs)
    assert len(found.pairs) == 2


def test_rows_that_would_read_alike_say_in_what_they_differ():
    base = [swept(n=64, k=1), swept(n=512, k=1), timed(case("mul", n=64, k=1), 1e-5)]
    assert titles(base, base, ("name",)) == ["name=add n=64", "name=add n=512", "name=mul"]
    assert titles(base, base, ("name", "n")) == [
        "name=add n=64",
        "name=add n=512",
        "name=mul n=64",
    ]


def test_a_metric_that_one_side_lacks_is_told_from_a_case_it_lacks():
    base = [timed("add", 1e-5), counted("add", 5), counted("mul", 5)]
    found = match(base, [timed("add", 1e-5)])
    assert found.only_base == ("ops/add/forward (memory)", "ops/mul/forward")


names = st.sampled_from(["a", "b", "c"])


@given(
    st.lists(st.tuples(names, names, st.sampled_from(["time", "memory"])), max_size=8),
    st.lists(st.tuples(names, names, st.sampled_from(["time", "memory"])), max_size=8),
)
def test_each_thing_meets_at_most_one_other_of_its_kind(base, new):
    def side(found: list[tuple[str, str, str]]) -> list[StoredResult]:
        made = [timed(name, 1e-5, environment=env) for name, env, _ in found]
        return [
            replace(one, result=replace(one.result, metric=metric))
            for one, (_, _, metric) in zip(made, found)
        ]

    found = match(side(base), side(new)).pairs
    assert len({row for row, _, _ in found}) == len(found)
    for (_, metric), one, other in found:
        assert one.case.id == other.case.id
        assert one.result.metric == other.result.metric == metric
