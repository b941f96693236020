"""Files that are written: whole or not at all, and never outside their folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from opbench.errors import UserError
from opbench.files import LONGEST, check_writable, component, writing
from opbench.store import Store


def test_a_failure_leaves_the_earlier_file_and_nothing_else(tmp_path):
    path = tmp_path / "results.csv"
    path.write_text("earlier")

    def fail() -> None:
        with writing(path) as partial:
            partial.write_text("half")
            assert path.read_text() == "earlier"
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert path.read_text() == "earlier"
    assert [*tmp_path.iterdir()] == [path]
    with writing(path) as partial:
        partial.write_text("whole")
    assert path.read_text() == "whole"
    assert [*tmp_path.iterdir()] == [path]


def test_a_link_stays_a_link_and_a_device_a_device(tmp_path):
    (tmp_path / "real").write_text("earlier")
    (tmp_path / "link").symlink_to("real")
    with writing(tmp_path / "link") as partial:
        partial.write_text("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"
    with writing(Path(os.devnull)) as partial:
        partial.write_text("anything")
    assert Path(os.devnull).is_char_device()


def test_what_the_system_refuses_is_one_line(tmp_path):
    refused = pytest.raises(UserError, match=r"cannot write .*: No such file or directory")
    with refused, writing(tmp_path / "no" / "such") as partial:
        partial.write_text("")


def test_odd_places_are_refused_in_one_line_and_long_names_written(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    for name, why in (("loop", "leads to itself"), ("x" * 300, "File name too long")):
        with pytest.raises(UserError, match=why), writing(tmp_path / name):
            pass
    longest = tmp_path / ("x" * 255)
    with writing(longest) as partial:
        partial.write_text("whole")
    assert longest.read_text() == "whole"


@given(st.text())
@example("../../evil")
@example("/etc/passwd")
@example("..")
@example("")
@example("a\x00b")
@example("x" * 10_000)
def test_a_name_from_data_is_one_component(name):
    made = component(name)
    assert made
    assert Path(made).name == made
    assert made not in (".", "..")
    assert len(made.encode()) <= LONGEST + 9
    assert "\x00" not in made


def test_ordinary_names_stay_and_different_ones_stay_different():
    for name in ("gpt2", "linear_bs_16_runs_2", "a[n=64,dtype=float32]"):
        assert component(name) == name
    assert component("a/b") != component("a_b") != component("a:b")


def test_a_store_is_never_overwritten(tmp_path):
    path = tmp_path / "results.db"
    Store.open(path).close()
    before = path.read_bytes()
    with pytest.raises(UserError, match="is a database"), writing(path) as partial:
        partial.write_text("case,value\n")
    with pytest.raises(UserError, match="is a database"):
        check_writable(path)
    assert path.read_bytes() == before


def test_whether_a_file_can_be_written_is_known_before(tmp_path):
    path = tmp_path / "new" / "c.jsonl"
    check_writable(path)
    assert [*path.parent.iterdir()] == []
    path.write_text("earlier")
    check_writable(path)
    assert path.read_text() == "earlier"
    check_writable(Path(os.devnull))
    with pytest.raises(UserError, match="is a folder"):
        check_writable(tmp_path)
    with pytest.raises(UserError, match=r"cannot write /proc/c\.jsonl"):
        check_writable(Path("/proc/c.jsonl"))
