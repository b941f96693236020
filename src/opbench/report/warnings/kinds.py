"""Warnings of many results, each kind once, with the case that shows it best."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from opbench.result import Result

Name = TypeVar("Name")


@dataclass(frozen=True)
class WarningKind(Generic[Name]):
    code: str
    #: How many cases have it.
    count: int
    #: The case with the widest interval among them, and the text of its own warning.
    worst: Name
    text: str


def warning_kinds(results: Iterable[tuple[Name, Result]]) -> list[WarningKind[Name]]:
    """In order of first appearance. What names a result is the caller's: an id, a row number."""
    by_code: dict[str, list[tuple[float, Name, str]]] = {}
    for name, result in results:
        for warning in result.warnings:
            by_code.setdefault(warning.code, []).append(
                (result.half_width or 0.0, name, warning.text)
            )
    kinds = []
    for code, group in by_code.items():
        _, worst, text = max(group, key=lambda each: each[0])
        kinds.append(WarningKind(code, len({name for _, name, _ in group}), worst, text))
    return kinds
