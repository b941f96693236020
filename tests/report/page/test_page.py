"""The page as a file: what is in it, and what cannot get out of it."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import page_store
from opbench.errors import UserError
from opbench.report.page.contents import Contents, gather
from opbench.report.page.details import LEAST_SAMPLES, MOST_SAMPLES, samples_each
from opbench.report.page.page import write
from opbench.result import Result, Sample
from opbench.store import RunRecord, Store, StoredResult
from opbench.store.errors import StoreError
from opbench.store.payload import sample_columns

BLOCK = re.compile(r'<script type="application/x-opbench" id="([^"]+)">([^<]*)</script>')


def blocks(text: str) -> dict[str, Any]:
    return {
        name: json.loads(zlib.decompress(base64.b64decode(data)))
        for name, data in BLOCK.findall(text)
    }


def page_of(contents: Contents) -> str:
    stream = io.StringIO()
    write(contents, stream)
    return stream.getvalue()


@pytest.fixture(scope="module")
def text(pages: dict[str, Path]) -> str:
    return pages["operators"].read_text(encoding="utf-8")


def test_it_needs_nothing_else(text):
    """No address but that of SVG's namespace, which is a name and is never asked for."""
    assert set(re.findall(r"https?://[^\s\"'`]+", text)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"<(link|iframe|object|embed)\b|@import|\burl\(", text)
    assert not re.search(r"<script[^>]*\bsrc=", text)


def test_names_of_results_never_become_markup(text):
    assert page_store.NASTY not in text
    assert page_store.NASTY_REASON not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    # One script that runs, and it is the one whose hash the page allows.
    scripts = re.findall(r"<script>(.*?)</script>", text, re.S)
    assert len(scripts) == 1
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in text


def test_all_rows_and_their_values_are_in_it(text, filled):
    table = blocks(text)["data-table"]
    with Store.open(filled, create=False) as store:
        results = store.results(run=store.find_run("night 11"))
    assert sorted(table["ids"]) == sorted(stored.case.id for stored in results)
    at = table["ids"].index("ops/matmul[n=256,framework=torch]/forward")
    stored = next(s for s in results if s.case.id == table["ids"][at])
    assert table["values"][0]["e"][at] == pytest.approx(stored.result.estimate, rel=1e-4)
    assert table["values"][0]["lo"][at] == pytest.approx(stored.result.low, rel=1e-4)


def test_samples_come_back_to_four_digits(text, filled):
    found = blocks(text)
    table = found["data-table"]
    at = table["ids"].index("ops/add[n=512,framework=jax]/forward")
    kept = found["data-details-0"]["rows"][at]["metrics"]["time"]["samples"]
    base = table["values"][0]["e"][at]
    values = [base + step * abs(base) * 1e-4 for _, *steps in kept["starts"] for step in steps]
    with Store.open(filled, create=False) as store:
        run = store.find_run("night 11")
        stored = store.results(run=run, case_id=table["ids"][at], samples=True)
    assert values == pytest.approx([s.value for s in stored[0].result.samples], rel=1e-4)


def test_the_script_is_whole(text):
    from opbench.report.script import script

    found = blocks(text)
    at = found["data-table"]["ids"].index("ops/matmul[n=64,framework=torch]/forward")
    piece = found["data-details-0"]
    lines = [piece["lines"][number] for number in piece["rows"][at]["script"]]
    assert "".join(lines) == script(page_store.operator("matmul", 64, "torch"))


def test_verdicts_and_changes_of_level_point_at_their_rows(text):
    table = blocks(text)["data-table"]
    (comparison,) = table["comparisons"]
    slower = [row[0] for row in comparison["rows"] if comparison["verdicts"][row[5]] == "slower"]
    assert {table["ids"][row].split("[")[0] for row in slower} == {"ops/add"}
    history = table["history"]
    rises = {}
    for track, _, ratio, *_ in history["changes"]:
        rises[table["ids"][history["tracks"][track][0]].split("[")[0]] = ratio > 1
    assert rises == {"ops/softmax": True, "ops/exp": False}


def test_a_run_with_a_baseline_is_compared_within_itself(pages):
    table = blocks(pages["layers"].read_text(encoding="utf-8"))["data-table"]
    assert {(c["base"], c["new"]) for c in table["comparisons"]} == {
        ("mode=baseline", "mode=hooks"),
        ("mode=baseline", "mode=ghost"),
    }
    assert table["metrics"][0]["name"] == "time"


def test_a_page_can_be_compared_with_any_run(filled):
    with Store.open(filled, create=False) as store:
        contents = gather(store, "night 11", against="night 2", history=False)
    (comparison,) = contents.comparisons
    assert (comparison.base, comparison.new) == ("night 2", "night 11")
    assert contents.history is None


@pytest.mark.parametrize("against", [None, "HEAD~1", "aaaa11112222"])
def test_a_run_of_two_sides_is_compared_by_their_names(two_sides, against):
    with Store.open(two_sides, create=False) as store:
        contents = gather(store, against=against)
    (comparison,) = contents.comparisons
    assert (comparison.base, comparison.new) == ("HEAD~1", "HEAD")
    assert [row.verdict for row in comparison.rows] == ["slower", "slower"]
    text = page_of(contents)
    data = blocks(text)["data-table"]
    assert data["words"]["environment"] == ["HEAD~1", "HEAD"]
    assert (data["cases"], len(data["ids"])) == (2, 4)
    words = " ".join(re.sub(r"<[^>]+>", " ", text.partition("<script")[0]).split())
    assert "2 cases in 4 rows" in words
    assert "throttled: 4 rows (100 %)" in words


def test_points_of_one_run_are_told_apart_by_their_side(two_sides):
    with Store.open(two_sides, create=False) as store:
        history = blocks(page_of(gather(store)))["data-table"]["history"]
    sides = [(commit, side) for _, _, _, commit, _, side in history["runs"]]
    assert sides == [("b" * 12, "HEAD"), ("a" * 12, "HEAD~1")] * 2
    assert [points for _, _, _, points in history["tracks"]] == [4, 4]


def test_a_run_is_not_compared_with_itself(two_sides):
    with (
        Store.open(two_sides, create=False) as store,
        pytest.raises(UserError, match="all of this"),
    ):
        gather(store, against="last")


def test_an_unknown_run_is_one_line(filled):
    with Store.open(filled, create=False) as store, pytest.raises(StoreError, match="night"):
        gather(store, "nihgt 11")


def test_odd_values_do_not_break_the_page():
    case = page_store.operator("odd", 1, "torch")
    nan, infinite = float("nan"), float("inf")
    results = [
        Result(case.hash, "time", "s", estimate=nan, low=nan, high=infinite,
               samples=(Sample(nan), Sample(infinite), Sample(-1e300))),
        Result(case.hash, "memory", "bytes", estimate=0.0, low=0.0, high=0.0,
               samples=(Sample(0.0), Sample(0.0))),
        Result(case.hash, "count", "count", "failed", "\ud800 lone, \0 nul, </script>"),
    ]  # fmt: skip
    stored = [StoredResult("r1", case, result, len(result.samples)) for result in results]
    found = blocks(page_of(Contents(RunRecord("r1", "\ud800"), stored)))["data-table"]
    assert found["values"][0]["e"] == [None]
    assert found["values"][1]["e"] == [0]


def test_a_case_in_two_environments_is_two_rows():
    case = page_store.operator("add", 64, "torch")
    here, there = (
        StoredResult("r1", case, Result(case.hash, "time", "s", estimate=1.0, environment=name))
        for name in ("current", "torch-2.12")
    )
    table = blocks(page_of(Contents(RunRecord("r1"), [here, there])))["data-table"]
    assert table["ids"] == [case.id, case.id]
    assert table["words"]["environment"] == ["current", "torch-2.12"]


@pytest.mark.parametrize("results", [1, 1_000, 12_500, 100_000, 10_000_000])
def test_a_page_keeps_what_samples_it_can_carry(results):
    kept = samples_each(results)
    assert LEAST_SAMPLES <= kept <= MOST_SAMPLES
    assert results < 100_000 or kept * results <= max(3_000_000, LEAST_SAMPLES * results)


def test_thinned_samples_still_come_from_every_start():
    from opbench.report.page.details import _samples

    many = [Sample(1.0 + index * 1e-4, start=index // 500) for index in range(2_000)]
    kept = _samples(sample_columns(many), 1.0, 100)
    assert [start for start, *_ in kept["starts"]] == [0, 1, 2, 3]
    assert sum(len(steps) - 1 for steps in kept["starts"]) == 100


def test_disturbed_samples_keep_their_places():
    from opbench.report.page.details import _samples

    taken = [Sample(1.0, start=0), Sample(1.1, start=1, contended=True), Sample(1.0, start=0)]
    taken.append(replace(taken[0], contended=True))
    assert _samples(sample_columns(taken), 1.0, 10)["disturbed"] == [[2], [0]]
