"""`opbench report`: the page and its charts from the command line, and the tour's last line."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

import page_store
from nights import nights_in


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "results.db"
    page_store.fill(path, nights=7)
    return path


def test_the_page_of_the_latest_run_needs_no_argument(opbench_here, filled, tmp_path):
    done = opbench_here("report", "--store", filled)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"report\.html: 72 results, 0\.\d MB, \d+\.\d s\n", done.stderr)
    assert '<h1 id="title">layers</h1>' in (tmp_path / "report.html").read_text("utf-8")


def test_a_run_and_a_file_can_be_named(opbench_here, filled, tmp_path):
    done = opbench_here("report", "night 6", "-o", "six.html", "--store", filled)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "six.html").read_text("utf-8")
    assert "night 5" in text  # compared with the night before
    against = ("report", "night 6", "--against", "night 1", "-o", "one.html", "--store", filled)
    assert opbench_here(*against).returncode == 0
    assert "night 1</span>" in (tmp_path / "one.html").read_text("utf-8")


def test_the_page_is_opened(opbench, filled, tmp_path, monkeypatch):
    """By the program that BROWSER names, as every tool does."""
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf "%s" "$1" > {tmp_path}/opened\n')
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", str(browser))
    done = opbench("report", "--open", "--store", filled)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "opened").read_text() == (tmp_path / "report.html").as_uri()


def test_other_reports_keep_their_names(opbench_here, filled):
    done = opbench_here("report", "layers", "--help")
    assert done.returncode == 0
    assert "Factors of each mode" in done.stdout
    assert "layers" in opbench_here("report", "--help").stdout


def test_runs_of_layers_are_read_as_one_and_a_file_stands_alone(opbench_here, tmp_path):
    with nights_in(tmp_path / "r.db") as nights:
        for name in ("linear", "conv"):
            run = nights.add(1e-5, case=page_store.layer(name, "baseline", 16), name=name)
            nights.add_to(run, 2e-5, page_store.layer(name, "hooks", 16))

    def layers(*runs: str) -> list[tuple[str, str]]:
        done = opbench_here("report", "layers", *runs, "-f", "csv", "--store", "r.db")
        assert done.returncode == 0, done.stderr
        lines = [line for line in done.stdout.splitlines() if not line.startswith("#")]
        return [(row["layer"], row["mode"]) for row in csv.DictReader(lines)]

    conv, linear = ([(name, mode) for mode in ("baseline", "hooks")] for name in ("conv", "linear"))
    assert layers() == layers("conv") == conv, "the latest"
    assert layers("linear", "conv") == [*linear, *conv]
    done = opbench_here("report", "layers", "conv", "a.csv", "--store", "r.db")
    assert done.returncode == 2
    assert done.stderr == "opbench: a report reads one file, or several runs\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nihgt 6"], "night 6"),
        (["--against", "nothing"], "called 'nothing'"),
        (["-o", "no/such/folder/x.html"], "cannot write no/such/folder/x.html"),
        (["--store", "none.db"], "there is no store at none.db"),
    ],
)
def test_mistakes_are_one_line(opbench_here, filled, arguments, said):
    where = [] if "--store" in arguments else ["--store", filled]
    done = opbench_here("report", *arguments, *where)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
def test_every_chart_as_png_and_svg(opbench_here, filled, tmp_path):
    done = opbench_here("report", "night 6", "--charts", "drawn", "--store", filled, "--no-history")
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "report.html").exists()
    kinds = {path.name.split("_")[0].split(".")[0] for path in (tmp_path / "drawn").iterdir()}
    assert kinds == {"ratios", "scaling", "frameworks", "roofline"}
    for path in (tmp_path / "drawn").iterdir():
        head = path.read_bytes()[:200]
        assert head.startswith(b"\x89PNG") if path.suffix == ".png" else b"<svg" in head, path


def test_histories_and_factors_are_drawn_where_there_are_some(filled, tmp_path):
    from opbench.report.charts.every import every
    from opbench.report.page.contents import gather
    from opbench.store import Store

    with Store.open(filled, create=False) as store:
        nights = every(gather(store, "night 6"))
        charts = every(gather(store, "layers"))
    history = next(chart for name, chart in nights.items() if name.startswith("history_time_ops"))
    history.save(str(tmp_path / "history.svg"))
    assert "<svg" in (tmp_path / "history.svg").read_text("utf-8")
    assert {"factors_time", "factors_memory", "layers_factor_time"} <= set(charts)
    values = [point["factor"] for point in charts["factors_time"].points]
    assert len(values) == 24
    assert max(values) == pytest.approx(6.2, rel=0.05)


def test_the_tour_ends_with_the_page_it_made(opbench_here, tmp_path):
    done = opbench_here("run", "-k", "add[n=64]", "--num-runs", 1, "--num-repeats", 2)
    assert done.returncode == 0, done.stdout + done.stderr
    last = done.stdout.strip().splitlines()[-1]
    page = tmp_path / ".opbench" / "report.html"
    assert last.endswith(f"open {page.relative_to(tmp_path)} in a browser")
    assert " run -k " in page.read_text("utf-8")
