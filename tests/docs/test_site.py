"""The site: its navigation, its reference, and that it is built without a warning."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import opbench

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def loaded(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def build_site() -> ModuleType:
    return loaded("build_site")


def test_the_navigation_has_every_page(build_site):
    nav = build_site.navigation((DOCS / "index.md").read_text(encoding="utf-8"))
    assert nav[0] == {"Home": "index.md"}
    listed = [page for section in nav[1:] for each in section.values() for page in each]
    pages = [path for entry in listed for path in entry.values()]
    assert len(pages) == len(set(pages))
    written = {path.name for path in DOCS.glob("*.md")} - {"index.md"}
    notebooks = {f"notebooks/{path.name}" for path in DOCS.glob("notebooks/*.ipynb")}
    assert set(pages) == written | notebooks | set(build_site.FROM_ROOT)


def test_links_between_docs_and_the_root_are_those_of_the_site(build_site):
    assert build_site.in_site("[a](../CHANGELOG.md)", "index.md") == "[a](changelog.md)"
    assert build_site.in_site("[a](docs/cli.md#x)", "contributing.md") == "[a](cli.md#x)"
    assert build_site.in_site("[a](docs/cli.md)", "cli.md") == "[a](docs/cli.md)"


def test_the_reference_has_every_public_name():
    text = (DOCS / "api.md").read_text(encoding="utf-8")
    named = re.findall(r"^::: opbench\.(\w+)$", text, re.MULTILINE)
    assert sorted(named) == sorted(opbench.__all__)


def test_aligned_columns_of_a_docstring_become_a_list():
    text = "What it does.\n\nn=[…]    an axis,\n         by name\nname     of it\n\n    code  here"
    assert loaded("build_reference").listed(text) == (
        "What it does.\n\n- `n=[…]`: an axis, by name\n- `name`: of it\n\n    code  here"
    )


@pytest.mark.slow
def test_the_site_is_built_without_a_warning(tmp_path):
    pytest.importorskip("mkdocs", reason="needs MkDocs, from the extra `docs`")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for page in [*DOCS.glob("*.md"), *DOCS.glob("notebooks/*.ipynb")]:
        assert (tmp_path / page.relative_to(DOCS)).with_suffix(".html").exists(), page
    reference = (tmp_path / "api.html").read_text(encoding="utf-8")
    for name in opbench.__all__:
        assert f"opbench.{name}" in reference, name
    assert "Measure suites, files, or" in reference
    # Nothing is loaded from elsewhere when a page is opened.
    index = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert not re.findall(r"<(?:script|link|img)[^>]+(?:src|href)=\"https?:", index)
