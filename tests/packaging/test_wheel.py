"""The wheel, built as a release is, and used in an environment that has no repository.

The environment is empty but for the wheel; the packages it depends on are those of this
interpreter, found by their path, because fetching torch again would take minutes. The metadata of
the wheel are compared with what the package imports, so that this hides no missing requirement.
"""

from __future__ import annotations

import ast
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow

BENCH = """
import opbench as ob


def values(n):
    return (list(range(n)),)


@ob.bench(n=[100, 1000], inputs=values)
def total(values):
    return sum(values)
"""
FIXED = ("--num-runs", "3", "--num-repeats", "2")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from the tracked files alone: what lies about in the work tree is no part of it."""
    pytest.importorskip("build", reason="needs build, from the extra `dev`")
    tree, out = tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("dist")
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "src", "*.toml", "*.md",
         "LICENSE"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tree / name)
    # The source archive first, the wheel from that; without isolation, which fetches setuptools.
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(tree)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(list(out.glob("*.tar.gz"))) == 1
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("env")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = folder / "bin" / "python"
    install = ["install", "--quiet", "--no-deps", "--no-index", str(wheel)]
    subprocess.run([sys.executable, "-m", "pip", "--python", str(python), *install], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    # A path in a .pth file is searched, but the .pth files in it are not read: an editable opbench
    # there stays unknown.
    torch = importlib.metadata.distribution("torch").locate_file("")
    (packages / "packages.pth").write_text(f"{torch}\n")
    return folder


@pytest.fixture
def shell(environment: Path, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a program of the environment in an empty folder."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    kept |= {"COLUMNS": "160", "PATH": f"{environment / 'bin'}:{os.environ['PATH']}"}

    def call(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(environment / "bin" / program), *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=kept, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    return call


def test_the_wheel_holds_every_file_of_the_package(wheel):
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "src/opbench"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    wanted = {name.removeprefix("src/") for name in listed.stdout.splitlines()}
    wanted = {name for name in wanted if (ROOT / "src" / name).exists()}
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert packed == wanted


#: Comes with pydantic, which is required.
INCLUDED = {"pydantic-core"}


def test_what_the_package_imports_is_required_or_an_extra(wheel):
    """Modules imported at the top of a file, other than the standard library's and our own."""
    with zipfile.ZipFile(wheel) as packed:
        (name,) = (each for each in packed.namelist() if each.endswith("METADATA"))
        metadata = packed.read(name).decode()
    required = set(INCLUDED)
    for line in re.findall(r"^Requires-Dist: ([\w.-]+)", metadata, re.MULTILINE):
        required.add(line.lower().replace("_", "-"))
    distributions = importlib.metadata.packages_distributions()
    missing = set()
    for path in (ROOT / "src" / "opbench").rglob("*.py"):
        for module in imported_at_once(path) - sys.stdlib_module_names - {"opbench"}:
            names = {each.lower().replace("_", "-") for each in distributions.get(module, [module])}
            missing |= set() if names & required else {f"{path.name}: {module}"}
    assert missing == set()


def imported_at_once(path: Path) -> set[str]:
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            found.add(node.module.split(".")[0])
    return found


def test_it_is_the_wheel_that_runs(shell, environment):
    done = shell("python", "-c", "import opbench; print(opbench.__file__)")
    assert Path(done.stdout.strip()).is_relative_to(environment)
    assert shell("opbench", "--version").stdout.startswith("opbench ")


def test_time_without_a_file(shell):
    done = shell(
        "opbench", "time", "sum(x)", "sum(x) + sum(x)", "--setup", "x = list(range(n))",
        "-a", "n=1000", "--no-pool", "--max-time-per-case", "0.2s",
    )  # fmt: skip
    assert "sum(x) + sum(x)" in done.stdout
    assert "1000" in done.stdout


def test_run_report_and_export(shell, tmp_path):
    (tmp_path / "bench_own.py").write_text(BENCH)
    done = shell("opbench", "run", "bench_own.py", *FIXED)
    assert "2 results" in done.stdout or "total" in done.stdout
    shell("opbench", "report", "-o", "report.html", "--charts", "charts")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "bench_own" in page
    assert "total" in shell("opbench", "export", "-f", "csv").stdout


def test_the_file_that_init_writes_runs_with_torch(shell, tmp_path):
    shell("opbench", "init")
    shell("opbench", "run", "bench_example.py", "-k", "gelu", "-a", "n=64", *FIXED)


def test_it_brings_its_plugin_to_pytest(shell):
    assert "--opbench-compare" in shell("python", "-m", "pytest", "--help").stdout


def test_suites_find_their_data(shell):
    assert "tour/" in shell("opbench", "list", "tour").stdout
    assert "add" in shell("opbench", "list", "ops", "-k", "add").stdout
    shell("opbench", "run", "ops", "-k", "ops/add[", "--dry-run")
    shell("opbench", "run", "snippets", "--dry-run")
    shell("opbench", "run", "layers", "--dry-run")
