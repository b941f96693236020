"""Imports point one way, as DESIGN.md says; and what is heavy is imported where it is used."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "opbench"

EVERYTHING_BELOW = {
    "case", "result", "stats", "callgrind", "define", "frameworks", "expand", "store", "run",
    "analyse", "report", "script", "frames", "snippets", "imports",
}  # fmt: skip

#: What each part may import of ours, beside itself. `part.module` allows that module only.
RULE: dict[str, set[str]] = {
    "__init__": {
        "api", "capture", "case", "define.bench", "frames", "layer_benchmark", "result", "views",
    },
    "case": set(),
    "result": set(),
    "stats": set(),
    "callgrind": set(),
    "data": set(),
    # What a user's file says is one implementation for us and for foreign environments: the stub's.
    "define": {"case", "data", "snippets", "worker.stub", "worker.cpp_source"},
    "snippets": {"worker.stub"},
    "frameworks": {"case", "define.program"},
    "expand": {"case", "define", "frameworks"},
    "store": {"case", "result"},
    "run": {
        "case", "result", "stats", "callgrind", "define", "frameworks", "expand", "store",
        "worker.protocol", "worker.facts", "worker.metrics", "worker.callgrind",
        "worker.cpp_source", "__version__",
    },
    # What is wrong in a question is told with the same error as a wrong definition.
    "analyse": {"case", "result", "stats", "callgrind", "store", "run.plan", "define.definition",
                "define.layers.names", "define.captured", "define.operators"},
    "report": {"case", "result", "stats", "callgrind", "store", "analyse", "script", "__version__"},
    "worker": set(),
    "capture": {"case", "define", "frameworks"},
    "patching_hook": {"capture"},
    "script": {"case", "frameworks", "script_cpp", "worker.source"},
    "script_cpp": {"case", "frameworks", "worker.cpp_source"},
    "frames": {"case", "result", "store", "report"},
    "views": {"analyse", "frames", "report", "store"},
    "imports": {"case", "result", "stats", "store", "__version__"},
    "api": EVERYTHING_BELOW,
    "ab": EVERYTHING_BELOW | {"api"},
    "layer_benchmark": EVERYTHING_BELOW,
    "operator_benchmark": EVERYTHING_BELOW,
    "ops": EVERYTHING_BELOW | {"operator_benchmark"},
    "mxnet_benchmarks": {"ops"},
    "selftest": EVERYTHING_BELOW | {"api"},
    "__main__": {"cli"},
    "cli": EVERYTHING_BELOW | {"api", "ab", "selftest", "data", "capture", "__version__"},
}  # fmt: skip

#: The framework under test, which a metric may ask for what only it knows.
FRAMEWORKS = {"torch", "numpy"}

HEAVY = ("torch", "numpy", "pandas", "scipy", "altair", "sqlalchemy", "ray", "alembic", "psycopg")

FILES = sorted(SOURCE.rglob("*.py"))


def part_of(path: Path) -> str:
    return path.relative_to(SOURCE).with_suffix("").parts[0]


def imports(path: Path, typing_only: bool = True) -> list[tuple[str, int]]:
    """Absolute names a file imports, functions included; `from a import b` gives `a.b`."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped: set[ast.AST] = set()
    if not typing_only:
        for node in ast.walk(tree):
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
                skipped.update(inner for child in node.body for inner in ast.walk(child))
    found = []
    for node in ast.walk(tree):
        if node in skipped:
            continue
        if isinstance(node, ast.Import):
            found += [(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found += [(f"{node.module}.{alias.name}", node.lineno) for alias in node.names]
    return found


def ours(path: Path, **options: bool) -> list[tuple[str, int]]:
    names = imports(path, **options)
    return [(name.partition(".")[2], line) for name, line in names if name.startswith("opbench.")]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_one_way(path):
    part = part_of(path)
    assert part in RULE, f"say in RULE what the new part {part} may import"
    # A type in a signature ties nobody to anything at run time.
    for name, line in ours(path, typing_only=False):
        allowed = name.split(".")[0] == part or any(
            name == one or name.startswith(f"{one}.") for one in RULE[part]
        )
        assert allowed, f"{path}:{line}: {part} may not import {name}"


def test_nobody_imports_the_command_line():
    for path in FILES:
        if part_of(path) not in ("cli", "__main__"):
            assert not [name for name, _ in ours(path) if name.startswith("cli")], path


def test_even_in_types_nothing_points_upwards_from_the_bottom():
    for path in FILES:
        if part_of(path) in ("case", "result", "stats", "worker"):
            outside = [name for name, _ in ours(path) if not name.startswith("stats")]
            assert outside == [], path


@pytest.mark.parametrize(
    "path", sorted((SOURCE / "worker").rglob("*.py")), ids=lambda path: path.name
)
def test_a_worker_needs_the_standard_library_and_itself_only(path):
    for name, line in imports(path):
        top = name.split(".")[0]
        assert (
            top in sys.stdlib_module_names
            or top == "_opbench_worker"
            or (top in FRAMEWORKS and path.parent.name == "metrics")
        ), f"{path}:{line}: a worker runs where {top} is not installed"


@pytest.mark.parametrize(
    "code",
    [
        "import opbench",
        "import opbench; opbench.bench",
        "import sys; sys.argv = ['opbench', '--help']; from opbench.cli.main import main; main()",
        "import sys; sys.argv = ['opbench', 'run', '--help']; "
        "from opbench.cli.main import main; main()",
        "import sys; sys.argv = ['opbench', 'list']; from opbench.cli.main import main; main()",
    ],
)
def test_nothing_heavy_is_imported_before_it_is_needed(code):
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", code], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "opbench" in loaded
    assert not loaded & set(HEAVY)
