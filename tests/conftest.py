"""What the tests of the pipeline share: small torch-free cases, real workers, real commands."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from importlib import metadata
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from perf.chaos.commands import pids
from perf.local_postgres import Server, Unavailable, postgres
from tests.kept_workers import KeptPool, end_all, stays
from tests.late import Late

from opbench.case import Case
from opbench.counting import valgrind
from opbench.envs.environments import Environment, find
from opbench.errors import UserError
from opbench.worker.cpp import toolchain
from opbench.workers.process import Worker
from opbench.workers.shared import PoolError, Supervisor


def installed(package: str) -> tuple[int, ...]:
    """Its version; () where it is not installed."""
    with contextlib.suppress(metadata.PackageNotFoundError, ValueError):
        return tuple(map(int, metadata.version(package).split(".")[:2]))
    return ()


# How long an example takes says something about the machine, nothing about the code. A change is
# judged on the same examples as the one before it; `--hypothesis-profile=explore` draws others.
quiet = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.register_profile("same examples", quiet, derandomize=True, max_examples=50)
settings.register_profile("explore", quiet, max_examples=1000)
settings.load_profile("same examples")

#: Take seconds to set up, once per process of the suite.
COSTLY = {"cluster", "server", "numpy_home", "chromium"}

#: Compiling in a pool of processes, each of which imports torch, is for larger graphs than ours.
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
#: Compile without vector instructions: which of them the compiler knows takes 15 s to find out.
os.environ.setdefault("TORCHINDUCTOR_VEC_ISA_OK", "0")
#: JAX compiles every operation for every shape; each is then called once or twice.
XLA_FLAGS = ["--xla_backend_optimization_level=0"]
if (0, 10) <= installed("jaxlib") < (0, 11):  # XLA ends the process over a flag it does not know
    # The older emitters take a third less time to compile the same; and so small a kernel need not
    # be compiled in 32 pieces.
    XLA_FLAGS += ["--xla_cpu_use_fusion_emitters=false", "--xla_cpu_parallel_codegen_split_count=1"]
os.environ.setdefault("XLA_FLAGS", " ".join(XLA_FLAGS))

#: Containers often set it, users do not: without it, what is printed may stay in a buffer.
os.environ.pop("PYTHONUNBUFFERED", None)

#: Inherited by every process a test starts, so that what is left behind can be found.
MARKER = "OPBENCH_TEST_MARKER"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What shares a costly set-up comes first and together: then one process makes it for all.

    (With `--dist worksteal` pytest-xdist hands each process a share of the tests, in one piece.)
    """
    if not list(Path("/dev").glob("nvidia[0-9]*")):
        no_gpu = pytest.mark.skip(reason="no NVIDIA GPU on this machine")
        for item in items:
            if item.get_closest_marker("cuda"):
                item.add_marker(no_gpu)
    # Before a merge (.ci/run) Valgrind must be there: its tests fail without it.
    if (why := valgrind.why_not()) and not os.environ.get("OPBENCH_NO_SKIP"):
        for item in items:
            if item.get_closest_marker("valgrind"):
                item.add_marker(pytest.mark.skip(reason=why))
    items.sort(key=lambda item: not costly(item))


def costly(item: pytest.Item) -> bool:
    """Whether it uses what each process makes, or imports, once."""
    return not COSTLY.isdisjoint(getattr(item, "fixturenames", ())) or any(
        isinstance(value, Late) for value in vars(getattr(item, "module", item)).values()
    )


@pytest.fixture
def python_case() -> Callable[..., Case]:
    """A case of plain Python: its worker starts in some 50 ms."""

    def make(stmt: str = "pass", name: str = "snippet", **more: object) -> Case:
        return Case("tests", name, "call", stmt, **more)  # type: ignore[arg-type]

    return make


@pytest.fixture(scope="session")
def compiler() -> str:
    """A C++ compiler; without one, C++ is unsupported and there is nothing to test."""
    found = toolchain.find_compiler()
    if found is None:
        pytest.skip(toolchain.NO_COMPILER)
    return found


@pytest.fixture
def start_worker() -> Iterator[Callable[..., Worker]]:
    started: list[Worker] = []

    def start(*preload: str, **options: object) -> Worker:
        worker = Worker(sys.executable, preload, **options)  # type: ignore[arg-type]
        started.append(worker)
        return worker

    yield start
    for worker in started:
        worker.close()


@pytest.fixture(scope="session")
def _kept_until_the_end() -> Iterator[None]:
    yield
    end_all()


@pytest.fixture(scope="module")
def kept_workers(_kept_until_the_end: None) -> Iterator[None]:
    """Runs of this process find the workers of earlier ones: for files that run torch often."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("opbench.running.state.Pool", KeptPool)
        patch.setattr("opbench.children._stays", stays)
        yield


@pytest.fixture
def own_pool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A pool of worker starts for this test alone, as if no CI were running it."""
    (tmp_path / "runtime").mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.delenv("CI", raising=False)
    yield
    try:
        supervisor = Supervisor(begin=False)
    except PoolError:
        return
    supervisor.retire()
    supervisor.close()


@pytest.fixture
def marked(monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[int]]:
    """Marks all processes started from now on; call it for the pids of those still alive."""
    mark = uuid.uuid4().hex
    monkeypatch.setenv(MARKER, mark)

    return partial(pids, mark)


@pytest.fixture
def eventually() -> Callable[..., bool]:
    """Whether something comes true: processes take a moment to die, longer under load."""

    def wait(condition: Callable[[], object], seconds: float = 120.0) -> bool:
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        return True

    return wait


@pytest.fixture
def opbench(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """The real command line, in a process of its own, in an empty folder."""

    def call(
        *arguments: object, cwd: Path = tmp_path, timeout: float = 600.0
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "opbench.cli.main", *map(str, arguments)],
            cwd=cwd,
            capture_output=True,
            text=True,
            timeout=timeout,
            env={**os.environ, "COLUMNS": "160"},
        )

    return call


@pytest.fixture
def opbench_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """The same without an interpreter of its own, which takes a second to import everything."""
    from opbench.cli import main

    def call(*arguments: object, cwd: Path = tmp_path) -> subprocess.CompletedProcess[str]:
        command = ["opbench", *map(str, arguments)]
        with monkeypatch.context() as patch:
            patch.chdir(cwd)
            patch.setenv("COLUMNS", "160")
            patch.setattr(sys, "argv", command)
            capsys.readouterr()
            with pytest.raises(SystemExit) as ended:
                main.main()
        shown = capsys.readouterr()
        return subprocess.CompletedProcess(command, int(ended.value.code or 0), *shown)

    return call


@pytest.fixture(scope="session")
def numpy_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An OPBENCH_HOME with a real environment, `np22`: built once for all tests."""
    from opbench.envs import builds as environment_builds

    home = tmp_path_factory.mktemp("opbench-home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPBENCH_HOME", str(home))
        # To compile all of NumPy takes longer than the rest, and most of it is never imported.
        patch.setenv("PIP_NO_COMPILE", "1")
        environment_builds.create("np22", ["numpy==2.2.5"])
    return home


@pytest.fixture(scope="session")
def unavailable() -> Callable[[Exception], None]:
    """On somebody's machine the tests do without; before a merge (.ci/run) they must not."""

    def skip(why: Exception) -> None:
        if os.environ.get("OPBENCH_NO_SKIP"):
            pytest.fail(str(why))
        pytest.skip(str(why))

    return skip


@pytest.fixture(scope="session")
def mxnet(unavailable: Callable[[Exception], None]) -> Environment:
    """Built once for this user, not once for every test run: it is 300 MB, and needs a network and
    an older Python, which not every machine has."""
    try:
        return find("mxnet")
    except UserError as error:
        unavailable(error)
        raise


@pytest.fixture(scope="session")
def server(unavailable: Callable[[Exception], None]) -> Iterator[Server]:
    """One PostgreSQL for all tests; each takes a database of its own."""
    try:
        running = postgres(durable=False)
        found = running.__enter__()
    except Unavailable as why:
        unavailable(why)
    try:
        yield found
    finally:
        running.__exit__(None, None, None)


@pytest.fixture
def url(server: Server) -> str:
    """An empty database, its password in the URL."""
    return server.new_database()


@pytest.fixture
def git_project(tmp_path: Path) -> Callable[[dict[str, str]], str]:
    """Call it with files and their content for a new commit of a project in `tmp_path/project`."""
    top = tmp_path / "project"

    def git(*words: str) -> str:
        who = ("-c", "user.name=Test", "-c", "user.email=test@example.org")
        command = ["git", "-C", str(top), *who, *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def commit(files: dict[str, str]) -> str:
        if not top.exists():
            top.mkdir()
            git("init", "--quiet")
        for name, content in files.items():
            (top / name).parent.mkdir(parents=True, exist_ok=True)
            (top / name).write_text(content)
        git("add", "--all")
        git("commit", "--quiet", "--message", "a change")
        return git("rev-parse", "HEAD")

    return commit
