"""What a person may name as a side, looked up in a real store."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from opbench.analyse.sides import Side, different, environments_of, find_side, same_machine
from opbench.errors import UserError
from opbench.store import Store, StoreError
from opbench.store.facts import machine_of
from synthetic import add_run, case, timed

OLD, NEW = "aaaa1111" * 5, "bbbb2222" * 5


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Four runs, oldest first: two nights, one with two environments, one of two commits."""
    with Store.open(tmp_path_factory.mktemp("sides") / "results.db") as opened:
        add_run(opened, 0, "nightly", timed("add", 1e-5), commit=OLD)
        add_run(opened, 1, "nightly", timed("add", 2e-5), commit=NEW, on="far-away")
        add_run(
            opened,
            2,
            "both",
            timed("add", 3e-5, environment="np22", fingerprint="f22"),
            timed("add", 4e-5, environment="np23", fingerprint="f23"),
            timed(replace(case("mul"), device="cuda:0"), 5e-5, environment="np23"),
            commit="cccc3333" * 5,
        )
        opened.add_environment("fold", {"interpreter": {"commit": OLD}})
        opened.add_environment("fnew", {"interpreter": {"commit": NEW}})
        add_run(
            opened,
            3,
            "",
            timed("add", 6e-5, environment=OLD[:12], fingerprint="fold"),
            timed("add", 7e-5, environment=NEW[:12], fingerprint="fnew"),
            commit=NEW,
            request={"sides": [[OLD[:12], "HEAD~1"], [NEW[:12], "HEAD"]]},
        )
        yield opened


def estimates(side: Side) -> list[float | None]:
    return [stored.result.estimate for stored in side.results]


@pytest.mark.parametrize(
    ("text", "found", "name"),
    [
        ("20261115-120000-0000", [1e-5], "nightly"),
        ("20261115", [1e-5], "nightly"),
        ("nightly", [2e-5], "nightly"),  # the latest of that name
        ("last", [6e-5, 7e-5], "20261118-120000-0003"),
        ("last~1", [3e-5, 4e-5, 5e-5], "both"),
        ("last~3", [1e-5], "nightly"),
        ("both:np22", [3e-5], "both:np22"),
        ("last~1:np23", [4e-5, 5e-5], "both:np23"),
        ("np22", [3e-5], "np22"),
        ("np23", [4e-5, 5e-5], "np23"),
        ("cuda", [5e-5], "cuda"),
        ("cuda:0", [5e-5], "cuda:0"),
        ("far-away", [2e-5], "machine far-away"),
        # A commit that was measured as an environment, not every result of the run beside it.
        # It is called what `opbench ab` calls it.
        (OLD[:6], [6e-5], "HEAD~1"),
        (OLD[:12], [6e-5], "HEAD~1"),
        (NEW.upper(), [7e-5], "HEAD"),
        ("HEAD~1", [6e-5], "HEAD~1"),
        ("HEAD", [7e-5], "HEAD"),
        ("last:HEAD", [7e-5], "20261118-120000-0003:HEAD"),
        ("cccc", [3e-5, 4e-5, 5e-5], "commit cccc3333cc"),
    ],
)
def test_a_side_is_found_by_what_a_person_would_type(store, text, found, name):
    side = find_side(store, text)
    assert sorted(estimates(side)) == found
    assert side.name == name
    assert all(stored.result.samples for stored in side.results)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nightl", "did you mean nightly"),
        ("np2", "did you mean np2"),
        ("HAED", "did you mean HEAD"),
        ("last:HAED", "unknown environment 'HAED'; did you mean HEAD"),
        ("lst", "did you mean last"),
        ("zzz", "no run, environment, commit, machine or device is called 'zzz'"),
        ("last~9", "no run 'last~9': the store has 4 runs"),
        ("2026", "'2026' matches several runs: 20261118"),
        ("aaa", "is called 'aaa'"),  # too short for a commit
        ("", "is called ''"),
        ("both:np99", "run both: unknown environment 'np99'; choose from: np22, np23"),
    ],
)
def test_what_is_not_there_is_said_in_one_line_with_near_names(store, text, said):
    with pytest.raises(UserError) as refused:
        find_side(store, text)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_run_that_is_not_there_before_a_colon(store):
    with pytest.raises(StoreError, match="nightly"):
        find_side(store, "nightl:np22")


def test_an_empty_store_and_an_empty_run_say_so(tmp_path):
    with Store.open(tmp_path / "empty.db") as empty:
        with pytest.raises(UserError, match="the store has no runs yet"):
            find_side(empty, "last")
        add_run(empty, 0, "hollow")
        with pytest.raises(UserError, match="run hollow has no results"):
            find_side(empty, "hollow")


def test_environments_stand_in_the_order_of_their_results(store):
    assert environments_of(store, store.find_run("both")) == ["np22", "np23"]


def test_different_machines_are_refused_with_the_way_out(store):
    near, far = find_side(store, "20261115"), find_side(store, "nightly")
    same_machine(near, near)
    with pytest.raises(UserError, match="different machines; compare them with --across-mach"):
        same_machine(near, far)


def test_the_same_results_on_both_sides_are_refused_and_parts_of_one_run_are_not(store):
    for base, new in (("nightly", "nightly"), ("last~2", "nightly"), ("both:np22", "np22")):
        with pytest.raises(UserError, match="both sides are the same run, 20261"):
            different(find_side(store, base), find_side(store, new))
    for base, new in (("both", "both:np23"), ("np22", "both")):
        with pytest.raises(UserError, match=r"share results of run 20261.*: opbench compare 20261"):
            different(find_side(store, base), find_side(store, new))
    for base, new in (("last~3", "nightly"), ("both:np22", "both:np23")):
        different(find_side(store, base), find_side(store, new))


def test_a_machine_without_an_id_is_known_by_its_processor():
    def machine(model: str) -> str:
        return machine_of({"cpu": {"model": model, "logical_cores": 8}})

    assert machine("EPYC") == machine("EPYC") != machine("Xeon")
