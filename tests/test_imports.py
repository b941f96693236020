"""Imports point one way, as CONTRIBUTING.md says; heavy packages are imported where used."""

from __future__ import annotations

import ast
import functools
import graphlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "opbench"

RULE_TABLE = re.compile(r"\*\*The import rule\.\*\*.*?\n\n(?P<rows>\|.*?)\n\n", re.DOTALL)


def read_rule(text: str) -> dict[str, set[str]]:
    """What each room may import of ours, beside itself, as the table of CONTRIBUTING.md says."""
    found = RULE_TABLE.search(text)
    assert found, "CONTRIBUTING.md has no table of the import rule"
    rule: dict[str, set[str]] = {}
    for row in found["rows"].splitlines()[2:]:
        rooms, allowed = (cell.strip() for cell in row.strip("|").split("|"))
        first, _, more = allowed.partition("; and ")
        if first.startswith("every room above"):
            named = {*rule} - names_in(first) | names_in(more)
        else:
            named = names_in(allowed)
            assert named or allowed == "nothing", row
        rule.update(dict.fromkeys(names_in(rooms), named))
    return rule


def names_in(text: str) -> set[str]:
    return set(re.findall(r"`(.+?)`", text))


RULE = read_rule((SOURCE.parent.parent / "CONTRIBUTING.md").read_text(encoding="utf-8"))

#: A suite's commands are part of the command line, and stand where the rest of the suite does.
COMMAND = re.compile(r"^suites/\w+/\w*command\.py$")

#: Rooms that know suites by their hooks only.
GENERIC = ("define", "plan", "sampling", "running", "store", "analyse", "report", "cli", "api")
#: Words of other formats that are spelled like a suite.
OTHER_WORDS = {("report/export/pytest_benchmark.py", "ops")}

#: The framework under test, which a metric may ask for what only it knows.
FRAMEWORKS = {"torch", "numpy"}

HEAVY = (
    "torch",
    "numpy",
    "pandas",
    "scipy",
    "vl_convert",
    "sqlalchemy",
    "ray",
    "alembic",
    "psycopg",
)

FILES = sorted(SOURCE.rglob("*.py"))


def is_command(path: Path) -> bool:
    return COMMAND.match(path.relative_to(SOURCE).as_posix()) is not None


def part_of(path: Path) -> str:
    return path.relative_to(SOURCE).with_suffix("").parts[0]


@functools.cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def statements(node: ast.AST, typing_only: bool = True) -> Iterator[ast.AST]:
    """All below it, at any depth: an import is never inside an expression, and those are most."""
    for part in ("body", "handlers", "orelse", "finalbody", "cases"):
        guarded = part == "body" and not typing_only and isinstance(node, ast.If)
        if guarded and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        for child in getattr(node, part, ()):
            yield child
            yield from statements(child, typing_only)


@functools.cache
def imports(
    path: Path, typing_only: bool = True, package: tuple[str, ...] = ()
) -> list[tuple[str, int]]:
    """Absolute names a file imports, functions included; `from a import b` gives `a.b`.

    With the file's package, relative imports too.
    """
    found = []
    for node in statements(parsed(path), typing_only):
        if isinstance(node, ast.Import):
            found += [(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and (package or not node.level):
            above = package[: len(package) + 1 - node.level] if node.level else ()
            module = ".".join([*above, *filter(None, [node.module])])
            found += [(f"{module}.{alias.name}", node.lineno) for alias in node.names]
    return found


def ours(path: Path, typing_only: bool = True) -> list[tuple[str, int]]:
    names = imports(path, typing_only, package=("opbench", *path.relative_to(SOURCE).parts[:-1]))
    return [(name.partition(".")[2], line) for name, line in names if name.startswith("opbench.")]


def test_imports_point_one_way():
    wrong = []
    for path in FILES:
        part = part_of(path)
        assert part in RULE, f"say in CONTRIBUTING.md what the new room {part} may import"
        rooms = {part} | RULE[part]
        if is_command(path):
            rooms |= {"cli"} | RULE["cli"]
        # A type in a signature ties nobody to anything at run time.
        for name, line in ours(path, typing_only=False):
            if not any(name == room or name.startswith(f"{room}.") for room in rooms):
                wrong.append(f"{path}:{line}: {part} may not import {name}")
    assert not wrong, "\n".join(wrong)


def test_every_room_has_a_row_in_the_rule():
    rooms = {path.stem for path in SOURCE.iterdir() if path.suffix == ".py"}
    rooms |= {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert rooms == {*RULE}


def test_no_generic_room_names_a_suite():
    suites = {path.parent.name for path in SOURCE.glob("suites/*/suite.py")}
    assert "layers" in suites
    for path in FILES:
        if part_of(path) not in GENERIC:
            continue
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Constant) and node.value in suites:
                where = path.relative_to(SOURCE).as_posix()
                assert (where, node.value) in OTHER_WORDS, f"{path}:{node.lineno}: {node.value!r}"


def test_no_two_files_import_each_other():
    """Neither directly nor around a corner, in functions or not; types in signatures are free."""
    files = {}
    for path in FILES:
        parts = path.relative_to(SOURCE).with_suffix("").parts
        files[".".join(part for part in parts if part != "__init__")] = path
    needs = {}
    for name, path in files.items():
        needs[name] = {
            next((each for each in (target, target.rpartition(".")[0]) if each in files), name)
            for target, _ in ours(path, typing_only=False)
        } - {name}
    order = graphlib.TopologicalSorter(needs)
    try:
        order.prepare()
    except graphlib.CycleError as error:
        pytest.fail(f"circular imports: {' ← '.join(error.args[1])}")


def test_nobody_imports_the_command_line():
    for path in FILES:
        if part_of(path) not in ("cli", "__main__") and not is_command(path):
            assert not [name for name, _ in ours(path) if name.startswith("cli")], path


def test_even_in_types_nothing_points_upwards_from_the_bottom():
    for path in FILES:
        if part_of(path) in ("case", "errors", "result", "stats", "worker"):
            own = {"stats", part_of(path)}
            outside = [name for name, _ in ours(path) if name.partition(".")[0] not in own]
            assert outside == [], path


def test_a_worker_needs_the_standard_library_and_itself_only():
    wrong = []
    for path in sorted((SOURCE / "worker").rglob("*.py")):
        allowed = {*sys.stdlib_module_names, "_opbench_worker"}
        if path.parent.name == "metrics":
            allowed |= FRAMEWORKS
        for name, line in imports(path):
            top = name.split(".")[0]
            if top not in allowed:
                wrong.append(f"{path}:{line}: a worker runs where {top} is not installed")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "code",
    [
        "import opbench",
        "import opbench; opbench.bench",
        "import sys; sys.argv = ['opbench', '--help']; from opbench.cli.main import main; main()",
        "import sys; sys.argv = ['opbench', 'run', '--help']; "
        "from opbench.cli.main import main; main()",
        "import sys; sys.argv = ['opbench', 'list']; from opbench.cli.main import main; main()",
        "import sys; sys.argv = ['opbench', 'time', '[*range(99)]', '[*range(9)]', '--no-pool']; "
        "from opbench.cli.main import main; main()",
    ],
)
def test_nothing_heavy_is_imported_before_it_is_needed(code):
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", code],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "opbench" in loaded
    assert not loaded & set(HEAVY)
    if "argv" not in code or "'opbench', '--help'" in code:
        assert "pydantic" not in loaded, "typer needs it for a command, the list of them does not"


def test_a_child_imports_little_before_the_users_file():
    """Every worker imports its parent, and every child of it the stub: in each start of each case,
    and a hundred times as slowly under Valgrind."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "before = set(sys.modules)\n"  # what is installed may be loaded at every start
        "from worker import child, parent, stub\n"
        "stub.install()\n"
        "print(*set(sys.modules) - before)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", code, str(SOURCE)],
        capture_output=True, text=True, timeout=600, check=True,
    )  # fmt: skip
    loaded = set(done.stdout.split())
    assert "worker.stub.bench" in loaded
    slow = {"importlib.metadata", "email", "hashlib", "difflib", "tempfile", "dataclasses"}
    assert not loaded & slow
