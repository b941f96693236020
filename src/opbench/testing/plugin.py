"""Hooks of pytest: the fixture `opbench`, `@ob.bench` functions as items, options, the report.

Tests run first, and call each benchmark once. What they named is measured when all of them have
ended, by the one process that has seen them all: nothing else runs then, under pytest-xdist
neither. Imports pytest and nothing of ours until a benchmark is there: every run of pytest loads
this file.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from opbench.testing.calls import Recorder
    from opbench.testing.measuring import Measured

NAMED = pytest.StashKey[list[dict[str, Any]]]()
MEASURED: pytest.StashKey[Measured] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("opbench", "benchmarks (opbench)")
    group.addoption(
        "--opbench-compare",
        nargs="?",
        const="",
        default=None,
        metavar="BRANCH|RUN",
        help="Compare with the baseline of this branch, or of the one named; leave it as it is.",
    )
    group.addoption(
        "--opbench-fail-on",
        action="append",
        default=[],
        metavar="slower[:5%]",
        help="With a comparison: fail if a case gets this verdict; may be repeated.",
    )
    group.addoption(
        "--opbench-option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="An option of opbench.run: precision=1%%, metrics=time,memory, store=PATH, …",
    )
    group.addoption(
        "--opbench-disable", action="store_true", help="Call benchmarks once; measure nothing."
    )


def pytest_configure(config: pytest.Config) -> None:
    config.stash[NAMED] = []
    asked = any(
        config.getoption(name)
        for name in ("--opbench-compare", "--opbench-fail-on", "--opbench-option")
    )
    if asked and not config.getoption("--opbench-disable") and not hasattr(config, "workerinput"):
        from opbench.errors import UserError
        from opbench.testing.measuring import settings

        try:  # a mistake is found before the tests run, not after
            settings(config)
        except UserError as error:
            raise pytest.UsageError(f"opbench: {error}") from None


@pytest.fixture
def opbench(request: pytest.FixtureRequest) -> Recorder:
    """`opbench(function, *args, **kwargs)` calls the function, returns what it returns, and has
    the call measured after the tests."""
    from opbench.testing.calls import Recorder

    return Recorder(request.node, request.config.stash[NAMED])


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector: Any, name: str, obj: Any) -> Any:
    """`@ob.bench` functions of the file itself, each an item."""
    registry = sys.modules.get("opbench.worker.stub.bench")
    if registry is None or not isinstance(collector, pytest.Module):
        return None
    module = collector.module.__name__
    for entry in registry.registered():
        mine = entry["registered_in"] == module and entry["function"] == name
        if mine and getattr(obj, "__name__", "") == name:
            return BenchItem.from_parent(collector, name=name, benchmark=entry["name"])
    return None


class BenchItem(pytest.Item):
    def __init__(self, *, benchmark: str, **more: Any) -> None:
        super().__init__(**more)
        self.benchmark = benchmark

    def runtest(self) -> None:
        if self.config.getoption("--opbench-disable"):
            pytest.skip("--opbench-disable")
        named = {"file": str(self.path), "benchmark": self.benchmark, "node": self.nodeid}
        self.config.stash[NAMED].append(named)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        return self.path, None, f"benchmark {self.name}"


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item) -> Any:
    """What a test named is not measured unless the test passes."""
    outcome = yield
    if not outcome.get_result().passed:
        named = item.config.stash[NAMED]
        named[:] = [each for each in named if each["node"] != item.nodeid]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: Any) -> None:
    """What the tests of an xdist worker named."""
    node.config.stash[NAMED] += getattr(node, "workeroutput", {}).get("opbench", [])


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    config = session.config
    named = config.stash.get(NAMED, [])
    if hasattr(config, "workeroutput"):
        config.workeroutput["opbench"] = named
        return
    if not named or config.getoption("--opbench-disable"):
        return
    if exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        return
    from opbench.testing.measuring import measure

    measured = config.stash[MEASURED] = measure(config, named)
    if measured.failed and exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    measured = config.stash.get(MEASURED, None)
    if measured is not None:
        terminalreporter.section("opbench")
        for line in measured.lines:
            terminalreporter.write_line(line)
