"""The snippets that a user's module defines, as plain data."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from .args import TimerArgs
from .errors import SnippetError
from .grouped import GroupedBenchmark
from .upstream import as_ours, is_theirs


def found_in(names: dict[str, Any]) -> list[dict[str, Any]]:
    """Label and definition of every snippet among a module's names, in its order, each once.

    A definition is labelled by the name of its variable, one in a dictionary by its own label.
    """
    entries: list[dict[str, Any]] = []
    seen: set[int] = set()
    for name, value in list(names.items()):
        if name.startswith("_"):
            continue
        for label, snippet in labelled(name, value):
            if id(snippet) not in seen:
                seen.add(id(snippet))
                entries.append({"label": list(label), **as_data(snippet)})
    return entries


def labelled(name: str, value: Any) -> list[tuple[tuple[str, ...], Any]]:
    if is_snippet(value):
        return [((name,), value)]
    if isinstance(value, dict) and is_tree(value):
        return list(flatten(value).items())
    if isinstance(value, (tuple, list)) and value and all(map(is_snippet, value)):
        # `benchmark = GroupedStmts(…),` is a tuple of one.
        if len(value) == 1:
            return [((name,), value[0])]
        return [((name, str(index)), snippet) for index, snippet in enumerate(value)]
    return []


def flatten(schema: dict) -> dict:
    """`{(topic, …, name): definition}` from nested dictionaries; keys are text, tuples or None."""
    flat: dict[tuple[str, ...], Any] = {}
    _flatten((), schema, flat)
    return flat


def _flatten(prefix: tuple[str, ...], schema: dict, flat: dict) -> None:
    for key, value in schema.items():
        parts = () if key is None else key if isinstance(key, tuple) else (key,)
        if not all(isinstance(part, str) for part in parts):
            raise SnippetError(f"a label is text or a tuple of texts, not {key!r}")
        label = prefix + tuple(parts)
        if is_snippet(value):
            if label in flat:
                raise SnippetError(f"two definitions are labelled {label}")
            flat[label] = value
        elif isinstance(value, dict):
            _flatten(label, value, flat)
        else:
            raise SnippetError(f"{label}: expected a snippet or a dict of them, found {value!r}")


def is_snippet(value: Any) -> bool:
    return isinstance(value, (GroupedBenchmark, TimerArgs)) or is_theirs(value)


def is_tree(value: Any) -> bool:
    return bool(value) and all(
        is_snippet(item) or (isinstance(item, dict) and is_tree(item)) for item in value.values()
    )


def as_data(snippet: Any) -> dict[str, Any]:
    if not isinstance(snippet, (GroupedBenchmark, TimerArgs)):
        snippet = as_ours(snippet)
    if isinstance(snippet, GroupedBenchmark):
        return {"grouped": snippet.to_dict()}
    data = {field.name: getattr(snippet, field.name) for field in fields(snippet)}
    return {"timer": dict(data, language=snippet.language.value)}


def from_data(entry: dict[str, Any]) -> Any:
    if "grouped" in entry:
        return GroupedBenchmark.from_dict(entry["grouped"])
    return TimerArgs(**entry["timer"])
