"""The one schema of a run's options: every way of saying a thing means the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import opbench
from opbench.api.request import build
from opbench.api.run import difference
from opbench.define.expand import expand
from opbench.define.runfile import load
from opbench.define.targets import resolve
from opbench.errors import UserError
from opbench.plan.groups import groups
from opbench.plan.option import PLACES, SWITCH
from opbench.plan.options import OPTIONS, RunOptions, asked, options_of, read
from opbench.plan.request import Request
from opbench.running.listener import Listener
from opbench.running.recording import Recording
from opbench.store import Store
from opbench.worker.stub.versus import RUN_OPTIONS

BENCH = '[[benchmark]]\nname = "total"\nstmt = "sum(range(n))"\naxes.n = [1, 2]\n'

#: What opbench 0.1.0 stored with `opbench run mine.toml -a threads=2 --num-runs 1 --num-repeats 1`
#: before there was one schema.
STORED_BEFORE = {
    "targets": ["mine.toml"], "keep": [], "axes": {"threads": ["2"]}, "baseline": None,
    "metrics": ["time"], "clock": "", "stages": [], "device": None, "threads": None, "cpus": [],
    "precision": 0.02, "budget": None, "max_time_per_case": 5.0, "timeout": 60.0,
    "max_starts": None, "num_runs": 1, "num_repeats": 1, "environments": [], "name": "old",
    "seed": 0, "jobs": 0, "top": None, "on": "", "slots": "", "retries": None, "replicate_on": 1,
    "require": [],
}  # fmt: skip


def test_every_option_is_described_and_given_somewhere():
    flags: list[str] = []
    for name, option in OPTIONS.items():
        assert option.help.endswith("."), name
        assert set(option.where) <= set(PLACES), name
        if option.where:
            flags += option.flags_of(name)
            assert option.kind is SWITCH or option.metavar or option.kind.metavar, name
    assert len(flags) == len(set(flags))
    assert set(options_of("ab")) <= set(options_of("run"))


def test_reading_a_default_gives_the_default():
    for name, option in OPTIONS.items():
        assert read({name: option.default}).get(name, option.default) == option.default, name


@pytest.mark.parametrize(
    ("name", "written", "value"),
    [
        ("precision", ["1%", "0.01", 0.01], 0.01),
        ("budget", ["2min", "120s", "120", 120], 120.0),
        ("timeout", ["500ms", 0.5], 0.5),
        ("top", ["95%", 0.95], 0.95),
        ("threads", ["2", 2], 2),
        ("cpus", ["0-2", "0,1,2", [0, 1, 2], (0, 1, 2)], (0, 1, 2)),
        ("metrics", ["time,memory", ["time", "memory"], ["time,memory"]], ("time", "memory")),
        ("stages", ["forward,backward", ["forward", "backward"]], ("forward", "backward")),
        ("keep", ["n=1,m=2", ["n=1,m=2"]], ("n=1,m=2",)),
        ("axes", [["n=1", "n=2"], ["n=1,2"], {"n": ["1", "2"]}], {"n": ["1", "2"]}),
        ("store", ["a.db", Path("a.db")], "a.db"),
    ],
)
def test_however_a_value_is_written_it_is_the_same(name, written, value):
    assert [read({name: each}) for each in written] == [{name: value}] * len(written)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"precison": 1}, "unknown option 'precison'; did you mean precision"),
        ({"precision": "200%"}, "precision: expected a percentage such as '1%'"),
        ({"budget": "soon"}, "budget: expected a time such as '60s' or '2min', found 'soon'"),
        ({"threads": True}, "threads: expected a valid integer, found True"),
        ({"num_runs": 0}, "num_runs: expected greater than or equal to 1, found 0"),
        ({"stages": "foward"}, "stages: unknown stage 'foward'; did you mean forward?"),
        ({"baseline": "mode"}, "baseline: a baseline is written AXIS=VALUE, not 'mode'"),
        ({"axes": "n"}, "axes: an axis is written AXIS=V1,V2, not 'n'"),
        ({"axes": [1]}, 'axes: expected a dict such as {"n": [64, 512]}, found [1]'),
        ({"axes": {"n": [[1]]}}, "axes: axis 'n': expected text, finite numbers"),
        ({"cpus": "3-1"}, "cpus: expected CPU numbers like 0,1 or 0-3, found '3-1'"),
        ({"save": "no"}, "save: expected true or false, found 'no'"),
        ({"metrics": 5}, "metrics: expected a list of names, found 5"),
    ],
)
def test_a_mistake_is_one_line_that_names_the_option(values, said):
    with pytest.raises(UserError) as caught:
        read(values)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_option_given_as_an_axis_is_that_option():
    assert asked({"axes": {"device": ["cuda"]}}) == asked({"device": "cuda"})
    assert asked({"axes": ["threads=2"]}) == asked({"threads": 2})
    assert asked({"axes": {"stage": ["forward"]}}) == asked({"stages": "forward"})
    several = {"axes": {"device": ["cpu", "cuda"], "n": [1]}}
    assert asked(several) == several
    both = {"axes": {"threads": [2]}, "threads": 2}
    assert asked(both) == {"threads": 2}
    with pytest.raises(UserError, match="device is given twice: cpu, and cuda as an axis"):
        asked({"axes": {"device": ["cuda"]}, "device": "cpu"})


@pytest.mark.parametrize(
    ("axis", "option"),
    [
        ({"axes": {"device": ["cuda"]}}, {"device": "cuda"}),
        ({"axes": {"threads": ["2"]}}, {"threads": 2}),
        ({"axes": {"stage": ["backward"]}}, {"stages": ["backward"]}),
    ],
)
def test_both_ways_ask_for_the_same_cases_and_metrics(axis, option):
    (one, settled), (other, too) = (
        build(asked({"targets": "tour", **each})) for each in (axis, option)
    )
    assert [case.hash for case in one.cases] == [case.hash for case in other.cases]
    assert one == other
    assert settled == too


def test_a_run_file_and_python_say_the_same(tmp_path):
    path = tmp_path / "mine.toml"
    table = """[run]
axes.threads = 2
precision = "1%"
budget = "2min"
timeout = "5s"
clock = "python"
metrics = "time,memory"
keep = "n=1"
cpus = "0"
jobs = 2
"""
    path.write_text(table + BENCH)
    bare = tmp_path / "bare" / "mine.toml"
    bare.parent.mkdir()
    bare.write_text(BENCH)
    keywords = {
        "axes": {"threads": [2]}, "precision": 0.01, "budget": 120, "timeout": 5,
        "clock": "python", "metrics": ("time", "memory"), "keep": ["n=1"], "cpus": [0], "jobs": 2,
    }  # fmt: skip
    said_in_file, in_file = build(asked({"targets": path}))
    said_in_python, in_python = build(asked({"targets": bare, **keywords}))
    assert [case.hash for case in said_in_file.cases] == [c.hash for c in said_in_python.cases]
    assert {**in_file.to_dict(), "targets": []} == {**in_python.to_dict(), "targets": []}
    # Who runs the file has the last word.
    assert build(asked({"targets": path, "axes": {"threads": [1]}}))[1].threads == 1


def test_a_run_file_takes_every_option_that_applies_to_it(tmp_path):
    path = tmp_path / "mine.json"
    values = RunOptions(name="x", device="cpu").to_dict()
    table = {name: values[name] for name in options_of("file")}
    path.write_text(json.dumps({"run": table, "benchmark": [{"name": "a", "stmt": "pass"}]}))
    with pytest.raises(UserError, match=r"run\.shapes: \[\]: expected a header"):
        load(path)
    given = {key: value for key, value in table.items() if value not in ("", [], {})}
    path.write_text(json.dumps({"run": given, "benchmark": [{"name": "a", "stmt": "pass"}]}))
    found = load(path).run.model_dump(exclude_unset=True)
    assert set(found) == set(given)


def test_what_is_stored_reads_back_and_holds_no_store():
    options = RunOptions.of(
        {"targets": "tour", "axes": {"n": [64]}, "cpus": "0", "store": "postgresql://a:b@c/d"}
    )
    stored = json.loads(json.dumps(options.to_dict()))
    assert RunOptions.of({**stored, "store": options.store}) == options
    assert not {"store", "save", "cont"} & set(stored)
    # Options that came later have their defaults where a run was stored without them.
    assert set(stored) - {"imports", "number", "pool", "repeats", "shapes"} == set(STORED_BEFORE)


def test_a_run_stored_before_there_was_one_schema_is_continued(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text(BENCH)
    # As it was: a number of threads given as an axis is part of the cases' names.
    cases = expand(resolve(["mine.toml"]).definitions, axes={"threads": ["2"]})
    assert cases[0].id == "mine/total[n=1,threads=2]/call"
    request = Request(tuple(groups(cases[:1])), RunOptions.of(STORED_BEFORE).policy)
    recording = Recording.begun(None, True, STORED_BEFORE, "opbench run mine.toml")
    (before,) = recording.measure(request, Listener())

    finished = opbench.run(cont=True, name="old")
    assert [case.id for case, _ in finished] == [case.id for case in cases]
    assert finished.results[0] == before, "what it had is kept"
    with Store.open(tmp_path / ".opbench/results.db") as store:
        assert len(store.runs()) == 1
        assert len(store.results()) == 2


@pytest.mark.parametrize(
    ("before", "given", "found"),
    [
        ({}, {}, ""),
        ({"precision": 0.05}, {}, ""),
        ({}, {"precision": 0.02}, ""),
        ({}, {"precision": 0.01}, "was begun with --precision 2%, and not with --precision 1%"),
        ({}, {"budget": 9.0, "timeout": 9.0, "name": "x", "cont": True, "store": "y.db"}, ""),
        ({"targets": ("tour",)}, {"targets": ("tour",)}, ""),
        ({}, {"targets": ("ops",)}, "was begun for the default suite, and not for ops"),
        ({"axes": {"n": [1]}}, {"axes": {"n": [1]}}, ""),
        ({"axes": {"n": [1]}}, {"axes": {"n": [2]}}, "was begun with -a n=1, and not with -a n=2"),
        ({"baseline": "n=1"}, {"baseline": "n=2"}, "with --baseline n=1, and not with"),
        # A clock is stored as the metric that it measures.
        ({"metrics": ("time_python",)}, {"clock": "python"}, ""),
        ({"metrics": ("time_python", "memory")}, {"clock": "python"}, ""),
        ({"metrics": ("time_python",)}, {"clock": "torch"}, "and not with --metric time_torch"),
        ({"metrics": ("time_python",)}, {"metrics": ("time",), "clock": "python"}, ""),
        ({"metrics": ("host_time", "device_time"), "device": "cuda"}, {"metrics": ("time",)}, ""),
    ],
)
def test_what_a_run_was_begun_with_and_what_is_given_now(before, given, found):
    said = difference(before, given)
    assert found in said
    assert bool(found) == bool(said)


def test_versus_takes_every_option_of_a_run_but_what_it_says_of_its_functions():
    own = {"axes", "stages"}  # options of `@ob.bench`
    assert set(RUN_OPTIONS) == set(options_of("run")) - own
