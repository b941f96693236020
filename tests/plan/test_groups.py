"""Which cases are measured together, and which of them the others are compared with."""

from __future__ import annotations

import pytest

from opbench.case import Case
from opbench.errors import UserError
from opbench.plan.groups import Baseline, groups


def case(name: str = "a", stage: str = "call", **labels) -> Case:
    return Case("s", name, stage, "pass", labels=tuple(labels.items()))


GRID = [case(n=n, mode=mode) for n in (1, 2) for mode in ("base", "fast", "new")]


def test_without_a_baseline_each_case_is_measured_by_itself():
    assert [group.cases for group in groups(GRID)] == [(each,) for each in GRID]


def test_cases_that_differ_in_the_axis_of_the_baseline_are_measured_together():
    found = groups(GRID, Baseline("mode", "fast"))
    assert [[c.axes["mode"] for c in group.cases] for group in found] == [
        ["base", "fast", "new"]
    ] * 2
    assert [{c.axes["n"] for c in group.cases} for group in found] == [{1}, {2}]
    assert [group.cases[group.base].axes["mode"] for group in found] == ["fast", "fast"]
    assert found[0].cases[found[0].base] is GRID[1]


def test_other_names_and_stages_stay_apart():
    cases = [case(name, stage, mode=mode) for name in "ab" for stage in ("forward", "backward")
             for mode in ("base", "fast")]  # fmt: skip
    cases.append(case("c", n=1))
    found = groups(cases, Baseline("mode", "base"))
    assert [len(group.cases) for group in found] == [2, 2, 2, 2, 1]


def test_a_family_is_measured_together_over_the_one_it_is_called_after():
    cases = [case(name, n=n, mode=mode) for n in (1, 2) for name in ("dpa", "a", "b")
             for mode in ("base", "fast")]  # fmt: skip
    found = groups(cases, Baseline("mode", "base"), lambda case, axis: case.name.removeprefix("dp"))
    assert [[c.name for c in group.cases] for group in found] == [
        ["dpa", "dpa", "a", "a"], ["b", "b"]
    ] * 2  # fmt: skip
    bases = [group.cases[group.base] for group in found]
    assert [(base.name, base.axes["mode"]) for base in bases] == [("a", "base"), ("b", "base")] * 2


def test_a_family_without_the_one_it_is_called_after_has_its_first_base():
    cases = [case("dpa", mode=mode) for mode in ("fast", "base")]
    (group,) = groups(cases, Baseline("mode", "base"), lambda case, axis: "a")
    assert group.cases[group.base] is cases[1]


def test_values_are_written_as_in_an_id():
    switches = [case(bias=True), case(bias=False), case(bias=None)]
    for text, axis_value in (("true", True), ("false", False), ("none", None)):
        baseline = Baseline.parse(f"bias={text}")
        (group,) = groups(switches, baseline)
        assert group.cases[group.base].axes["bias"] is axis_value
    # A case without the axis is not one whose value is none.
    assert not Baseline("bias", "none").among([case()])


@pytest.mark.parametrize("text", ["mode", "=base", "mode=", ""])
def test_a_baseline_names_an_axis_and_a_value(text):
    with pytest.raises(UserError, match="AXIS=VALUE"):
        Baseline.parse(text)


@pytest.mark.parametrize(
    ("baseline", "said"),
    [
        (Baseline("moed", "base"), "unknown axis 'moed'; did you mean mode"),
        (Baseline("mode", "bsae"), "base, fast, new"),
        (Baseline("impl", "x"), "unknown axis 'impl'; choose from: n, mode, name"),
        (Baseline("impl", "a"), "unknown axis 'impl'; did you mean name=a"),
    ],
)
def test_an_unknown_axis_or_value_is_refused_with_those_there_are(baseline, said):
    with pytest.raises(UserError, match=said):
        groups(GRID, baseline)


def test_benchmarks_of_one_group_are_compared_by_their_names():
    cases = [
        case("naive", group="attention", n=1),
        case("flash", group="attention", n=1),
        case("plain", group="mlp", n=1),
        case("fused", group="mlp", n=1),
        case("alone", n=1),
        case("other", n=1),
    ]
    found = groups(cases, Baseline.parse("name=flash,plain"))
    assert [[c.name for c in group.cases] for group in found] == [
        ["naive", "flash"], ["plain", "fused"], ["alone"], ["other"],
    ]  # fmt: skip
    assert [group.cases[group.base].name for group in found] == ["flash", "plain", "alone", "other"]
    with pytest.raises(UserError, match="no case has name=flas; choose from: alone, flash"):
        groups(cases, Baseline("name", "flas"))


def test_an_axis_called_name_is_an_axis():
    cases = [Case("s", "x", "call", "pass", labels=(("name", value),)) for value in ("x", "y")]
    cases.append(case("x", n=1))
    found = groups(cases, Baseline("name", "y"))
    assert [[c.axes.get("name") for c in group.cases] for group in found] == [["x", "y"], [None]]
    assert found[0].base == 1
