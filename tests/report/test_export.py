"""The files people and programs read, held against golden ones.

After an intended change: `OPBENCH_UPDATE_GOLDEN=1 pytest tests/report/test_export.py`, then read
the difference.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
from dataclasses import replace
from pathlib import Path

import pytest

from opbench.case import Case
from opbench.errors import UserError
from opbench.report import export
from opbench.report.table import Column, Table, markdown
from opbench.result import Result, Sample, Warning
from opbench.store import RunRecord, StoredResult

GOLDEN = Path(__file__).parent / "golden"
NOON = 1_794_744_000.0

RUNS = [
    RunRecord(
        "20261115-120000-ab12",
        "nightly",
        created=NOON,
        version="0.1.0",
        commit="0123456789abcdef",
        machine={"cpu": "EPYC", "load": math.inf},
    ),
    RunRecord("20261116-120000-cd34", created=NOON + 86400),
]


def case(name: str, *labels, **more) -> Case:
    return Case("layers", name, "forward", "f(x)", labels=labels, framework="torch", **more)


def stored(run: int, of: Case, metric="time", unit="s", **more) -> StoredResult:
    # A hash of our own: the real one changes whenever a case learns something new.
    digest = f"{of.name.encode().hex():0<20}"[:20]
    result = Result(digest, metric, unit, created=NOON, fingerprint="f1", **more)
    return StoredResult(RUNS[run].id, of, result, len(result.samples))


LINEAR = case("linear", ("batch", 16), ("mode", "hooks"), dtype="float32", threads=2)
QUOTED = case('odd "name", |pipe|', ("device", "mine"), ("batch", None), ("bias", True))
SAMPLES = tuple(Sample(1.23e-5 + i * 1e-8, start=i, n=100) for i in range(3))

RESULTS = [
    stored(0, LINEAR, estimate=1.23e-5, low=1.2152e-5, high=1.2448e-5, samples=SAMPLES),
    stored(0, LINEAR, "memory", "bytes", estimate=4_194_304.0, low=4_194_304.0, high=4_194_304.0),
    stored(
        0,
        QUOTED,
        estimate=0.5,
        low=0.4,
        high=0.6,
        warnings=(
            Warning("contended", "2 of 3 blocks were disturbed: close other programs"),
            Warning("few", "only 3 samples; raise --budget"),
        ),
        environment="torch-2.4",
        node="rack-2",
    ),
    stored(0, case("broken"), outcome="failed", reason="ValueError: a, b |\nand c"),
    stored(0, case("crashing"), outcome="crashed", reason="SIGSEGV"),
    stored(0, case("big"), outcome="out_of_memory", reason="asked for 64 GB"),
    stored(0, case("infinite"), estimate=math.inf, low=math.nan, high=None),
    stored(1, LINEAR, estimate=1.2345e-5, low=1.2344e-5, high=1.2346e-5),
]


def exported(name: str, results=RESULTS, runs=RUNS) -> str:
    stream = io.StringIO()
    export.export(name, results, runs, stream)
    return stream.getvalue()


@pytest.mark.parametrize("name", ["csv", "md"])
def test_the_whole_output(name):
    text = exported(name)
    path = GOLDEN / f"results.{name}"
    if os.environ.get("OPBENCH_UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def test_csv_has_one_row_per_result_and_no_column_twice():
    rows = list(csv.DictReader(io.StringIO(exported("csv"))))
    assert len(rows) == len(RESULTS)
    header = exported("csv").splitlines()[0].split(",")
    assert len(header) == len(set(header))
    # An axis called `device` does not hide the device.
    assert rows[2]["label.device"] == "mine"
    assert rows[2]["device"] == "cpu"
    # A label of None is not the same as no such label.
    assert rows[2]["label.batch"] == "none"
    assert rows[3]["label.batch"] == ""
    assert float(rows[0]["estimate"]) == 1.23e-5
    assert rows[3]["reason"] == "ValueError: a, b |\nand c"
    assert rows[3]["estimate"] == ""


def test_json_is_strict_and_holds_every_sample():
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    data = json.loads(exported("json"), parse_constant=refuse)
    assert data["schema"] == "opbench-results/1"
    assert [run["id"] for run in data["runs"]] == [run.id for run in RUNS]
    first = data["results"][0]
    assert first["samples"]["value"] == [sample.value for sample in SAMPLES]
    assert first["samples"]["start"] == [0, 1, 2]
    found = data["cases"][first["case"]]
    assert found.pop("id") == LINEAR.id
    assert Case.from_dict(found) == LINEAR
    assert data["results"][6]["estimate"] == "Infinity"
    assert data["results"][6]["low"] == "NaN"


def test_text_that_utf8_cannot_hold_does_not_stop_an_export():
    odd = replace(RESULTS[0], result=replace(RESULTS[0].result, detail={"path": "a\udc80"}))
    text = exported("json", [odd])
    text.encode("utf-8")
    assert json.loads(text)["results"][0]["detail"] == {"path": "a\udc80"}


@pytest.mark.parametrize("name", ["csv", "md", "json"])
def test_nothing_is_exported_as_an_empty_file_of_its_kind(name):
    text = exported(name, [], [])
    if name == "json":
        assert json.loads(text)["results"] == []
    elif name == "csv":
        assert text.startswith("run,run_name,case_id,")
        assert text.count("\n") == 1
    else:
        assert text == "No results.\n"


def test_a_markdown_table_has_the_same_cells_in_every_row():
    tables = exported("md").split("###")[1:]
    assert len(tables) == 2
    for table in tables:
        lines = [line for line in table.splitlines() if line.startswith("|")]
        assert len({line.replace("\\|", "").count("|") for line in lines}) == 1


def test_formats_are_found_by_their_files():
    assert {"csv", "json", "md"} <= set(export.formats())
    assert export.needs_samples("json")
    assert not export.needs_samples("csv")
    with pytest.raises(UserError, match=r"unknown format 'jsn'; did you mean json"):
        exported("jsn")


def test_names_become_neither_tags_nor_control_characters_in_markdown():
    name = "<img src=x onerror=alert(1)>\x1b[2J|`"
    table = Table([Column("case", code=True), Column("name")], [[name, name]])
    (_, _, row) = markdown(table)
    assert row.endswith("| &lt;img src=x onerror=alert(1)>␛[2J\\|' |")
    assert "\x1b" not in row
