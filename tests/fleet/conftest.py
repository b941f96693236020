from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from perf.local_postgres import Server
from perf.local_postgres import Unavailable as NoPostgres
from perf.local_postgres import postgres as local_postgres
from perf.local_ray import LocalCluster, ray_cluster
from perf.local_ray import Unavailable as NoRay


def skipped(why: Exception) -> None:
    """On somebody's machine the tests do without; before a merge (.ci/run) they must not."""
    if os.environ.get("OPBENCH_NO_SKIP"):
        pytest.fail(str(why))
    pytest.skip(str(why))


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """One PostgreSQL for all tests; each takes a database of its own."""
    try:
        running = local_postgres(durable=False)
        found = running.__enter__()
    except NoPostgres as why:
        skipped(why)
    try:
        yield found
    finally:
        running.__exit__(None, None, None)


@pytest.fixture
def url(server: Server) -> str:
    """An empty database, its password in the URL."""
    return server.new_database()


@pytest.fixture(scope="session")
def cluster() -> Iterator[LocalCluster]:
    """A head that measures nothing, and the nodes `one` and `two`."""
    try:
        running = ray_cluster("one", "two", client_port=free_port())
        found = running.__enter__()
    except NoRay as why:
        skipped(why)
    try:
        yield found
    finally:
        running.__exit__(None, None, None)


def free_port() -> int:
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
