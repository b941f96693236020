"""What a release is made of agrees with itself: versions, extras, files of the package."""

from __future__ import annotations

import re
import subprocess
from fnmatch import fnmatch
from pathlib import Path

import pytest

import opbench

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib  # type: ignore[no-redef]

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_version_is_the_same_everywhere():
    import yaml

    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    changes = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert changes is not None
    found = {opbench.__version__, PROJECT["project"]["version"], cited["version"], changes[1]}
    assert found == {opbench.__version__}


def test_the_citation_has_what_the_format_requires():
    import yaml

    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= set(cited)
    assert cited["type"] == "software"
    assert cited["license"] == PROJECT["project"]["license"]
    assert all({"name", "family-names"} & set(author) for author in cited["authors"])


def test_every_data_file_of_the_package_is_declared():
    """A file that the wheel would leave out is found here, without building one."""
    tracked = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "src/opbench"],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    if tracked.returncode:
        pytest.skip("not a git checkout")
    patterns = PROJECT["tool"]["setuptools"]["package-data"]["opbench"]
    data = [path for path in tracked.stdout.split() if not path.endswith(".py")]
    assert data
    left_out = [
        path
        for path in data
        if not any(fnmatch(path, f"src/opbench/{p.removeprefix('**/')}") for p in patterns)
    ]
    assert left_out == []
