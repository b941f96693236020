"""The README: what it quotes, and how long it makes a reader wait for the first command."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def build_figures() -> ModuleType:
    spec = importlib.util.spec_from_file_location("figures", ROOT / "docs" / "build_figures.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_figures_are_those_of_the_page(build_figures):
    page = build_figures.FIGURES.read_text(encoding="utf-8")
    assert build_figures.readme(README, page) == README, "run `make reference`"


def test_a_figure_that_was_measured_again_is_quoted_again(build_figures):
    page = build_figures.FIGURES.read_text(encoding="utf-8")
    quoted = build_figures.share(build_figures.row(page, "comparison", "A/A within")[1])
    changed = page.replace(f"| {quoted} = ", "| 7 of 777 = ")
    assert "| 7 of 777 |" in build_figures.readme(README, changed)


def test_opbench_time_comes_first():
    commands = re.findall(r"^(?:\$ | {4})(opbench \w+|make \w+|pip \w+)", README, re.MULTILINE)
    assert commands[0] == "opbench time"
    assert {"make demo", "make test", "pip install"} <= set(commands)


def test_no_page_installs_opbench_by_a_name_that_no_index_has():
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    assert "pip install opbench" not in text


def test_the_example_has_twelve_lines():
    (shown,) = re.findall(
        r"^```python\n# bench_\w+\.py\n(.*?)^```", README, re.MULTILINE | re.DOTALL
    )
    assert len([line for line in shown.splitlines() if line.strip()]) <= 12


def test_the_recording_shows_the_first_command():
    recording = (ROOT / "docs" / "images" / "time.svg").read_text(encoding="utf-8")
    (command,) = re.findall(r"^\$ (opbench time .*?[^\\])\n", README, re.MULTILINE | re.DOTALL)[:1]
    # Statements are quoted alike in the picture and on the page.
    for statement in re.findall(r"'([^']*)'", command):
        escaped = statement.replace("&", "&amp;").replace(">", "&gt;").replace("<", "&lt;")
        assert escaped in recording
    assert "@keyframes" in recording
    assert "prefers-reduced-motion" in recording
