"""Imports point one way, as DESIGN.md says; and what is heavy is imported where it is used."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "opbench"

#: What each room may import of ours, beside itself. `room.module` allows that module only.
RULE: dict[str, set[str]] = {
    # The values everything shares.
    "case": set(),
    "result": set(),
    "errors": set(),
    "stats": set(),
    "data": set(),
    "worker": set(),
    # What is measured.
    "snippets": {"worker.stub"},
    "frameworks": {"case", "define.program", "errors"},
    "define": {"case", "errors", "frameworks", "worker.stub", "worker.cpp", "worker.main"},
    "capture": {"case", "define", "errors", "frameworks"},
    # Where and how it is measured.
    "machine": {"worker.probe"},
    "envs": {"define", "errors", "frameworks", "machine", "worker.probe", "worker.main"},
    "counting": {
        "case", "result", "envs", "worker.callgrind", "worker.cpp", "worker.main",
        "workers.session",
    },
    "workers": {
        "case", "counting", "envs", "errors", "frameworks", "worker.protocol", "worker.cpp",
        "worker.main",
    },
    "store": {"case", "errors", "result"},
    "plan": {
        "case", "define", "envs", "errors", "machine", "result", "stats", "worker.metrics",
    },
    "sampling": {"case", "plan", "result", "stats", "workers"},
    "running": {
        "case", "counting", "envs", "errors", "fleet", "machine", "plan", "result", "sampling",
        "stats", "store", "workers", "__version__",
    },
    "fleet": {
        "case", "define", "envs", "errors", "machine", "plan", "result", "running", "sampling",
        "stats", "store", "workers", "__version__",
    },
    # What is made of it.
    "imports": {"case", "errors", "result", "stats", "store", "__version__"},
    "analyse": {"case", "counting", "errors", "plan", "result", "stats", "store"},
    "report": {
        "analyse", "case", "counting", "define", "errors", "frameworks", "result", "stats",
        "store", "worker.cache", "worker.source", "worker.cpp", "__version__",
    },
}  # fmt: skip
RULE["suites"] = {*RULE} - {"worker", "running", "fleet"} | {"worker.stub", "worker.cpp"}
RULE["api"] = {*RULE} - {"worker"}
RULE["compat"] = {*RULE} - {"worker", "fleet"}
RULE["__init__"] = {"api", "capture", "case", "compat", "define.bench", "result"}
RULE["cli"] = {*RULE} - {"worker", "compat", "__init__"} | {"__version__"}
RULE["__main__"] = {"cli"}

#: A suite's commands are part of the command line, and stand where the rest of the suite does.
COMMAND = re.compile(r"^suites/\w+/\w*command\.py$")

#: Generic rooms that still name a suite, until suites hook in by their interface.
PENDING = {
    "report/charts/every.py", "report/page/contents.py",
    "define/targets.py", "define/userfile.py", "suites/ops/uncovered.py", "suites/tour/page.py",
}  # fmt: skip

#: The framework under test, which a metric may ask for what only it knows.
FRAMEWORKS = {"torch", "numpy"}

HEAVY = ("torch", "numpy", "pandas", "scipy", "altair", "sqlalchemy", "ray", "alembic", "psycopg")

FILES = [
    path
    for path in sorted(SOURCE.rglob("*.py"))
    if path.relative_to(SOURCE).as_posix() not in PENDING
]


def part_of(path: Path) -> str:
    place = path.relative_to(SOURCE)
    return "cli" if COMMAND.match(place.as_posix()) else place.with_suffix("").parts[0]


def imports(
    path: Path, typing_only: bool = True, package: tuple[str, ...] = ()
) -> list[tuple[str, int]]:
    """Absolute names a file imports, functions included; `from a import b` gives `a.b`.

    With the file's package, relative imports too.
    """
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
        elif isinstance(node, ast.ImportFrom) and (package or not node.level):
            above = package[: len(package) + 1 - node.level] if node.level else ()
            module = ".".join([*above, *filter(None, [node.module])])
            found += [(f"{module}.{alias.name}", node.lineno) for alias in node.names]
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


#: Circular imports that remain, each with the files in it. Take out what is resolved.
KNOWN_CYCLES = [
    {"define/userfile.py", "suites/sweeps/definition.py", "suites/sweeps/reading.py"},
]


def imported_files(path: Path, files: dict[str, Path]) -> set[Path]:
    """The files of ours that a file imports when it runs, in functions too."""
    package = path.relative_to(SOURCE).parent.parts
    found = set()
    for name, _line in imports(path, typing_only=False, package=("opbench", *package)):
        while name and name not in files:
            name = name.rpartition(".")[0]
        found.add(files.get(name, path))
    return found - {path}


def cycles(graph: dict[Path, set[Path]]) -> list[set[str]]:
    """Sets of files that import each other, directly or by way of others."""
    reach = {path: set(direct) for path, direct in graph.items()}
    for middle in graph:
        for targets in reach.values():
            if middle in targets:
                targets |= reach[middle]
    found: list[set[str]] = []
    for path in graph:
        together = {other for other in reach[path] if path in reach[other]} | {path}
        names = {each.relative_to(SOURCE).as_posix() for each in together}
        if path in reach[path] and names not in found:
            found.append(names)
    return found


def test_no_file_imports_itself_by_way_of_others():
    files = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = ("opbench", *path.relative_to(SOURCE).with_suffix("").parts)
        files[".".join(parts).removesuffix(".__init__")] = path
    found = cycles({path: imported_files(path, files) for path in files.values()})
    assert [files_of for files_of in found if files_of not in KNOWN_CYCLES] == []


def test_nobody_imports_the_command_line():
    for path in FILES:
        if part_of(path) not in ("cli", "__main__"):
            assert not [name for name, _ in ours(path) if name.startswith("cli")], path


def test_even_in_types_nothing_points_upwards_from_the_bottom():
    for path in FILES:
        if part_of(path) in ("case", "errors", "result", "stats", "worker"):
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
