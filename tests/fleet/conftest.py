from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from perf.local_ray import LocalCluster, Unavailable, ray_cluster


@pytest.fixture(scope="session")
def ray(unavailable: Callable[[Exception], None]) -> None:
    """Installed; no cluster."""
    try:
        import ray  # noqa: F401
    except ImportError as why:
        unavailable(why)


@pytest.fixture(scope="session")
def cluster(unavailable: Callable[[Exception], None]) -> Iterator[LocalCluster]:
    """A head that measures nothing, and the nodes `one` and `two`."""
    try:
        running = ray_cluster("one", "two")
        found = running.__enter__()
    except Unavailable as why:
        unavailable(why)
    try:
        yield found
    finally:
        running.__exit__(None, None, None)
