"""docs/cli.md says what the commands say."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def build_cli() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_cli", DOCS / "build_cli.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_is_up_to_date(build_cli):
    text = (DOCS / "cli.md").read_text(encoding="utf-8")
    assert text == build_cli.page(text), "run `make reference`"


def test_every_option_of_a_run_stands_in_the_reference(build_cli):
    text = (DOCS / "cli.md").read_text(encoding="utf-8")
    for name, option in build_cli.OPTIONS.items():
        if option.where:
            assert option.flags_of(name)[0] in text, name


def test_every_command_has_a_section(build_cli):
    text = (DOCS / "cli.md").read_text(encoding="utf-8")
    root = build_cli.typer.main.get_command(build_cli.app)
    for name in root.commands:
        assert f"\n## opbench {name}" in text, name
