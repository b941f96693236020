from __future__ import annotations

import pytest


@pytest.fixture(autouse=True, scope="module")
def _workers(kept_workers: None) -> None:
    """Most runs of suites start workers of torch: the next run finds them."""
