"""Which sections of docs/performance.md were measured before their code changed.

A section names the commit it was measured at. What it measures stands in its module: `CODE`, rooms
and files of `src/opbench`; the module itself counts too. Other comments, docstrings or line breaks
are no other code.
"""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

SECTION = re.compile(r"<!-- begin (?P<name>\w+) -->(?P<body>.*?)<!-- end (?P=name) -->", re.S)
COMMIT = re.compile(r" at commit ([0-9a-f]{7,40})\b")


@dataclass(frozen=True)
class Stale:
    section: str
    #: Where it was measured; empty where it never was.
    commit: str
    #: What changed since, relative to the repository.
    changed: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        if not self.commit:
            return f"{self.section}: not measured yet"
        if not self.changed:
            return f"{self.section}: measured at {self.commit}, which is not in this repository"
        shown, more = self.changed[:3], len(self.changed) - 3
        rest = f" and {more} more" if more > 0 else ""
        return f"{self.section}: measured at {self.commit}; since then {', '.join(shown)}{rest}"


def measured_at(page: str) -> dict[str, str]:
    """The commit of each section of the page."""
    found = {each["name"]: COMMIT.search(each["body"]) for each in SECTION.finditer(page)}
    return {name: commit[1] for name, commit in found.items() if commit}


def stale(code: Mapping[str, Sequence[str]], page: str, root: Path = ROOT) -> list[Stale]:
    """Of sections and the paths they measure, those whose code is newer than their figures.

    What is not committed yet counts as changed.
    """
    measured = measured_at(page)
    found = []
    for section, paths in code.items():
        commit = measured.get(section, "")
        if not commit:
            found.append(Stale(section, ""))
            continue
        changed = changed_since(commit, paths, root)
        if changed is None or changed:
            found.append(Stale(section, commit, tuple(changed or ())))
    return found


def changed_since(commit: str, paths: Sequence[str], root: Path) -> list[str] | None:
    """Files that differ from those of the commit; None where there is no such commit."""
    known = ["git", "rev-parse", "--quiet", "--verify", f"{commit}^{{commit}}"]
    if subprocess.run(known, cwd=root, capture_output=True, check=False).returncode:
        return None
    command = ["git", "diff", "--name-only", "--relative", commit, "--", *paths]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    return [path for path in done.stdout.splitlines() if not _same_code(commit, path, root)]


def _same_code(commit: str, path: str, root: Path) -> bool:
    """Whether a file of Python does what it did at the commit."""
    if not path.endswith(".py") or not (root / path).is_file():
        return False
    show = ["git", "show", f"{commit}:./{path}"]
    before = subprocess.run(show, cwd=root, capture_output=True, text=True, check=False)
    if before.returncode:
        return False
    try:
        return _code(before.stdout) == _code((root / path).read_text(encoding="utf-8"))
    except SyntaxError:
        return False


def _code(source: str) -> str:
    """Its syntax tree, without docstrings."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        holds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        if isinstance(node, holds) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
    return ast.dump(tree)
