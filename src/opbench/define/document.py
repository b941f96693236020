"""TOML and JSON files that people write: reading them, and saying in one line what is wrong."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from opbench import files
from opbench.errors import UserError, unknown

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError


#: Tables within tables: those of ours are three deep.
DEEPEST = 50
#: What a message quotes may be as long as the file.
LONGEST_REASON = 300


class RuleError(ValueError):
    """Breaks a rule that concerns several keys of a table; `key` is the one to change."""

    def __init__(self, key: str, text: str) -> None:
        super().__init__(text)
        self.key = key


def read(path: Path) -> Any:
    """The content of a TOML file, or of any other as JSON; nothing in it is executed."""
    text = files.text(path)
    try:
        if path.suffix == ".toml":
            _refuse_endless_keys(text)
            return _bounded(tomllib.loads(text))
        return _bounded(
            json.loads(text, object_pairs_hook=_without_repeats, parse_constant=_refuse)
        )
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise UserError(f"{path} {place}: not valid JSON: {error.msg}") from None
    except tomllib.TOMLDecodeError as error:
        reason, _, place = str(error).rpartition(" (at ")
        # "line 3, column 5", or "end of document", which a person has to look for.
        number = re.match(r"line (\d+)", place)
        line = number.group(1) if number else str(max(1, len(text.splitlines())))
        raise UserError(f"{path} line {line}: not valid TOML: {reason or error}") from None
    except RecursionError:
        raise UserError(f"{path}: too deeply nested") from None
    except ValueError as error:
        # Python's own words name a function of Python's that a person cannot call here.
        digits = "Exceeds the limit" in str(error)
        reason = "expected numbers of at most 300 digits" if digits else str(error)
        raise UserError(f"{path}: {reason}") from None


def _refuse_endless_keys(text: str) -> None:
    """The parser takes time with the square of the parts of a dotted key: half a minute for 40 KB
    of `a.a.a.…`."""
    for line in text.splitlines():
        if line.count(".") > DEEPEST:
            for part in re.split(r"[,=\[\]{}#]", line):
                if sum(bool(name.strip()) for name in part.split(".")) > DEEPEST:
                    raise RecursionError


def _bounded(content: Any) -> Any:
    """The content, if no table in it lies too deep and all texts are text."""
    level = [content]
    for _ in range(DEEPEST):
        below: list[Any] = []
        for each in level:
            if isinstance(each, dict):
                below += [*each.keys(), *each.values()]
            elif isinstance(each, list):
                below += each
            elif isinstance(each, str) and not each.isascii():
                _check_text(each)
        if not below:
            return content
        level = below
    raise RecursionError


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{ascii(text)[:60]} is half of a character, not text") from None


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """JSON would silently keep the last of two equal keys; TOML refuses them, and so do we."""
    table: dict[str, Any] = {}
    for key, value in pairs:
        if key in table:
            raise ValueError(f"key '{key}' is given twice in one table")
        table[key] = value
    return table


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a value opbench can use; write a finite number")


def first_error(error: ValidationError, model: type[BaseModel], content: Any = None) -> str:
    """The first error as `benchmark 'matmul': axes.n: what was expected, what was found`; what is
    in a list goes by its name in the `content`, or else is counted from one."""
    errors = error.errors(include_url=False)
    first = errors[0]
    location = [part for part in first["loc"] if part != "[key]"]
    reason = (first.get("ctx") or {}).get("error")
    if first["type"] == "extra_forbidden":
        text = unknown("key", str(location.pop()), _keys_at(location, model))
    elif first["type"] == "missing":
        text = "required key is missing"
    elif first["type"] == "value_error":
        text = _cut(str(reason), LONGEST_REASON)
        location += [reason.key] if isinstance(reason, RuleError) else []
    elif first["type"] in ("model_type", "dict_type"):
        text = f"expected an object, found {_shortened(first['input'])}"
    else:
        expected = first["msg"].replace("Input should be ", "expected ")
        text = f"{expected}, found {_shortened(first['input'])}"
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return "".join(f"{part}: " for part in _place(location, content)) + text + more


def _place(location: list[int | str], content: Any) -> Iterator[str]:
    """`benchmark 'matmul'` and `axes.n`: a part for each item of a list, and one for the keys."""
    keys = ""
    for part in location:
        try:
            content = content[part]
        except (TypeError, LookupError):
            content = None
        if isinstance(part, int):
            yield f"{keys} {_title(content, part)}"
            keys = ""
        else:
            keys += f".{part}" if keys else part
    if keys:
        yield keys


def _title(item: Any, index: int) -> str:
    name = item.get("name") if isinstance(item, dict) else None
    return _shortened(name) if name and isinstance(name, str) else str(index + 1)


def _keys_at(location: list[int | str], model: Any) -> list[str]:
    """The valid keys of the table at a location."""
    for part in location:
        if isinstance(part, str):
            kind = model.model_fields[part].annotation
            model = next(iter(get_args(kind)), kind)
    return list(model.model_fields)


def _shortened(value: Any) -> str:
    try:
        text = repr(value)
    except ValueError:  # a number of more digits than Python writes
        text = "a number of thousands of digits"
    return _cut(text, 60)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
