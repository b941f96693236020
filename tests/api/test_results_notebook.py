"""The example notebook, executed in a real kernel, and the objects it shows."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

import opbench as ob
import page_store
from opbench.errors import UserError
from opbench.report.charts.chart import Charts
from opbench.store import StoreError

BUILD = Path(__file__).parents[2] / "docs" / "notebooks" / "build_results.py"


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("views") / "results.db"
    page_store.fill(path, nights=6)
    return path


@pytest.mark.slow
def test_the_notebook_runs_and_shows_what_it_says(tmp_path):
    pytest.importorskip("nbclient", reason="needs nbclient and ipykernel, from the extra `dev`")
    spec = importlib.util.spec_from_file_location("build_results", BUILD)
    assert spec is not None
    assert spec.loader is not None
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    made = build.executed("0.2", tmp_path)
    outputs = [output for cell in made.cells for output in cell.get("outputs", ())]
    assert not [output for output in outputs if output.output_type == "error"]
    # An object shows itself once; the display of a run is empty at its end.
    for cell in made.cells:
        texts = [o.get("data", {}).get("text/plain", "-") for o in cell.get("outputs", ())]
        assert len(texts) <= 2
        assert len([text for text in texts if text.strip()]) <= 1, cell.source
    kinds = [set(output.get("data", {})) for output in outputs]
    # Against the axis, and samples; and ratios, unless the machine was too busy for an interval.
    assert sum("image/png" in each for each in kinds) >= 2
    tables = "".join(output.get("data", {}).get("text/html", "") for output in outputs)
    assert "softmax[n=256]" in tables
    assert "before → after" in tables
    assert (tmp_path / "report.html").exists()


def test_the_kept_notebook_was_executed():
    """And nothing in it failed, or names a folder of the machine it was built on."""
    import nbformat

    kept = nbformat.read(BUILD.with_name("results.ipynb"), as_version=4)
    nbformat.validate(kept)
    code = [cell for cell in kept.cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in code)
    assert not [o for cell in code for o in cell.outputs if o.output_type == "error"]
    text = nbformat.writes(kept)
    assert "/tmp/" not in text
    assert str(BUILD.parents[2]) not in text, "it names a folder of the machine it was made on"


def test_views_escape_what_they_show(filled):
    page = ob.page("night 5", store=filled)
    html = page._repr_html_()
    assert page_store.NASTY not in html
    assert "&lt;script&gt;alert(1)" in html
    assert "crashed SIGSEGV" in html
    assert repr(page) == "Page(night 5: 64 results)"


def test_a_comparison_shows_itself(filled):
    compared = ob.compare("night 4", "night 5", store=filled)
    frame = compared.frame()
    slower = frame[frame["verdict"] == "slower"]
    assert set(slower["case"].str.split("[").str[0]) == {"ops/add"}
    assert slower["ratio"].between(1.05, 1.2).all()
    html = compared._repr_html_()
    assert html.index("▲ slower") < html.index("? unknown")
    assert "night 4" in repr(compared)
    assert compared.chart().to_dict()["title"] == "night 4 → night 5"
    with pytest.raises(UserError, match="both sides are the same run"):
        ob.compare("night 5", "night 5", store=filled)


def test_a_history_shows_itself(filled):
    past = ob.history("ops/softmax[n=64,framework=torch]/forward", store=filled)
    assert len(past.frame()) == 6
    assert past.chart() is not None
    assert "softmax" in past._repr_html_()
    assert "6 runs" in repr(past)


def test_a_page_gives_its_frame_its_charts_and_its_samples(filled, tmp_path):
    page = ob.page("layers", store=filled)
    assert len(page.frame()) == 72
    charts = page.charts()
    assert "factors_time" in charts
    html = Charts(factors_time=charts["factors_time"])._repr_html_()
    assert "<code>factors_time</code>" in html
    assert 'src="data:image/png;base64,' in html
    chart = page.samples("layers/conv[mode=hooks,batch_size=16]/forward_backward")
    assert chart.to_dict()["title"].startswith("layers/conv")
    assert page.save(tmp_path / "page.html").read_text("utf-8").startswith("<!doctype html>")
    with pytest.raises(StoreError, match="name exactly one"):
        page.samples("conv")


def test_a_run_shows_itself_in_a_notebook(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bench_one.py").write_text(
        "import opbench as ob\n\n@ob.bench()\ndef nothing():\n    yield lambda: None\n"
    )
    run = ob.run("bench_one.py", num_runs=2, num_repeats=2, save=False, name="quick")
    assert set(run.frame()["run_name"]) == {"quick"}
    assert "bench_one/nothing/call" in run._repr_html_()


def test_the_baseline_of_a_run_is_shown_and_compared(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bench_two.py").write_text(
        "import opbench as ob\n\n@ob.bench(group='sums', n=[9, 99])\ndef one(n):\n"
        "    return sum(range(n))\n\n"
        "@ob.bench(group='sums', n=[9, 99])\ndef two(n):\n    return sum(range(2 * n))\n"
    )
    run = ob.run("bench_two.py", num_runs=2, num_repeats=2)
    assert "one</th>" in run._repr_html_()
    assert "two</th>" in run._repr_html_()
    assert len(run.compare().frame()) == 2
    lines = {point["line"] for point in run.chart().spec["datasets"]["points"]}
    assert len(lines) == 2  # one for each function
    assert repr(run.chart()) == "Chart('bench_two/sums: scaling with n')"
    with pytest.raises(StoreError, match="unknown metric 'tiem'; did you mean time"):
        run.chart("tiem")
    assert len(run.frame(samples=True)) == 4 * 2
    assert len(run.compare(run).rows) == 4
    assert run.page().save(tmp_path / "page.html").exists()
    assert "one" in repr(run)


def test_a_console_writes_to_its_stream_in_a_notebook_too(monkeypatch):
    from rich import console

    from opbench.report.table import printed

    monkeypatch.setattr(console, "_is_jupyter", lambda: True)
    assert printed(lambda c: c.print("here")) == "here\n"
