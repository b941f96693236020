"""Packages that take seconds to import, imported by the first test that uses them.

Every process of pytest-xdist collects every file, and runs the tests of a few.
"""

from __future__ import annotations

import importlib
import os
from importlib.util import find_spec
from typing import Any

import pytest

#: Of everything in a file, when it looks for tests.
ASKED_BY_PYTEST = {"__bases__", "__test__", "__wrapped__", "_mock_name"}


def needs(*packages: str) -> None:
    """Skip the file where one of them is not installed; nothing is imported. They are extras, so a
    machine may lack them; before a merge that is a hole."""
    for package in packages:
        if find_spec(package) is None:
            if os.environ.get("OPBENCH_NO_SKIP"):
                pytest.fail(f"{package} is not installed, and OPBENCH_NO_SKIP is set")
            pytest.skip(f"needs {package}", allow_module_level=True)


class Late:
    """Stands for a package until something is asked of it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute in ASKED_BY_PYTEST:
            raise AttributeError(attribute)
        return getattr(importlib.import_module(self._name), attribute)


def late(package: str) -> Any:
    needs(package)
    return Late(package)
