from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from perf.local_ray import LocalCluster, Unavailable, ray_cluster


@pytest.fixture(scope="session")
def cluster(unavailable: Callable[[Exception], None]) -> Iterator[LocalCluster]:
    """A head that measures nothing, and the nodes `one` and `two`."""
    try:
        running = ray_cluster("one", "two", client_port=free_port())
        found = running.__enter__()
    except Unavailable as why:
        unavailable(why)
    try:
        yield found
    finally:
        running.__exit__(None, None, None)


def free_port() -> int:
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
