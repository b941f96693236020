"""Figures on docs/performance.md whose code has changed since they were measured are found."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from perf.__main__ import code_of, sections
from perf.page import PAGE
from perf.stale import ROOT, SECTION, measured_at, stale

SECTION_TEXT = """<!-- begin {name} -->
## {name}

`python -m perf {name}`{at}, 2026-11-16. A machine.
<!-- end {name} -->
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q")
    git(tmp_path, "config", "user.email", "a@example.org")
    git(tmp_path, "config", "user.name", "A")
    for name in ("stats", "store"):
        (tmp_path / name).mkdir()
        change(tmp_path, f"{name}/code.py")
    return tmp_path


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def change(folder: Path, path: str) -> None:
    with (folder / path).open("a") as file:
        file.write("line += 1\n")
    git(folder, "add", path)
    git(folder, "commit", "-qm", path)


def section(name: str, commit: str = "") -> str:
    return SECTION_TEXT.format(name=name, at=f" at commit {commit}" if commit else "")


CODE = {"speed": ["stats"], "size": ["store"]}


def test_only_the_section_whose_code_changed_is_stale(repository):
    commit = git(repository, "rev-parse", "--short", "HEAD")
    page = section("speed", commit) + section("size", commit)
    assert stale(CODE, page, repository) == []
    change(repository, "stats/code.py")
    (found,) = stale(CODE, page, repository)
    assert found.text == f"speed: measured at {commit}; since then stats/code.py"


def test_what_is_not_committed_has_changed_too(repository):
    page = section("speed", git(repository, "rev-parse", "HEAD"))
    (repository / "stats/code.py").write_text("other\n")
    assert [each.section for each in stale({"speed": ["stats"]}, page, repository)] == ["speed"]


@pytest.mark.parametrize(
    ("before", "after", "is_stale"),
    [
        ("x = 1\n", "x = 1  # why\n", False),
        ("def f():\n    return 1\n", 'def f():\n    """New."""\n    return 1\n', False),
        ('"""Old."""\n\nx = [1, 2]\n', '"""New."""\nx = [\n    1,\n    2,\n]\n', False),
        ("x = 1\n", "x = 2\n", True),
        ("def f():\n    return 'a'\n", "def f():\n    return 'b'\n", True),
        ("x = 1\n", "x = (\n", True),
    ],
)
def test_comments_and_docstrings_are_no_code(repository, before, after, is_stale):
    file = repository / "stats" / "code.py"
    file.write_text(before)
    git(repository, "commit", "-qam", "before")
    page = section("speed", git(repository, "rev-parse", "HEAD"))
    file.write_text(after)
    assert bool(stale({"speed": ["stats"]}, page, repository)) is is_stale


def test_a_file_that_came_or_went_is_a_change(repository):
    page = section("speed", git(repository, "rev-parse", "HEAD"))
    (repository / "stats" / "code.py").unlink()
    assert stale({"speed": ["stats"]}, page, repository)
    git(repository, "checkout", "-q", "stats/code.py")
    change(repository, "stats/new.py")
    assert stale({"speed": ["stats"]}, page, repository)


def test_a_section_measured_after_the_change_is_not_stale(repository):
    change(repository, "stats/code.py")
    page = section("speed", git(repository, "rev-parse", "HEAD"))
    assert stale({"speed": ["stats"]}, page, repository) == []


def test_a_section_without_a_commit_or_with_an_unknown_one_is_stale(repository):
    # The commit of the next section is not that of the first.
    page = section("speed") + section("size", "0123abc")
    assert measured_at(page) == {"size": "0123abc"}
    assert [each.text for each in stale(CODE, page, repository)] == [
        "speed: not measured yet",
        "size: measured at 0123abc, which is not in this repository",
    ]


def test_every_section_of_the_page_says_what_it_measures():
    known = sections()
    on_the_page = {found["name"] for found in SECTION.finditer(PAGE.read_text(encoding="utf-8"))}
    assert on_the_page <= set(known)
    for name, module in known.items():
        paths = code_of(name, module)
        assert len(paths) > 1, name
        assert all((ROOT / path).exists() for path in paths), name
