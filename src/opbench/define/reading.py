"""Values as people write them: in run files, after options, as keywords. Each function returns the
value in its final form, or raises a ValueError that says what was expected and what was found."""

from __future__ import annotations

import ast
import keyword
import math
import re
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from opbench.case import STAGES
from opbench.errors import UserError, unknown

#: As large as a float can be.
LARGEST_LABEL = 10**300
#: Of whole numbers that are counts and seeds.
LARGEST_COUNT = 2**63 - 1
#: More than any machine has; a range up to a billion would fill its memory.
MOST_CPUS = 1 << 16

#: A comma that is not within brackets; a tuple of whole numbers, and one of these.
BETWEEN = re.compile(r",(?![^(\[]*[)\]])")
TUPLE = re.compile(r"[(\[]\s*-?\d+\s*(,\s*-?\d+\s*)*,?\s*[)\]]")
WHOLE = re.compile(r"-?\d+")
#: What a tuple of whole numbers is called in an id.
SHAPE = re.compile(r"\d+(x\d+)*|\(\)")
#: The same with sides below 0, which are left open.
OPEN_SHAPE = re.compile(r"-?\d+(x-?\d+)*|\(\)")

UNITS = {"ms": 1e-3, "s": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0}


def axis_values(value: Any) -> list[Any]:
    several = isinstance(value, Iterable) and not isinstance(value, (str, Mapping))
    values = list(value) if several else [value]
    if not values:
        raise ValueError("expected at least one value, found an empty list")
    for each in values:
        if type(each) not in (str, int, float, bool, type(None)) or (
            isinstance(each, float) and not math.isfinite(each)
        ):
            raise ValueError(f"expected text, finite numbers or true/false, found {each!r}")
        if isinstance(each, int) and abs(each) > LARGEST_LABEL:
            raise ValueError("expected numbers of at most 300 digits")
    seen = set()
    for each in values:
        if (type(each), each) in seen:
            raise ValueError(f"expected each value once, found {each!r} twice")
        seen.add((type(each), each))
    return values


def axes(value: Any) -> dict[str, list[Any]]:
    """`{"n": [64, 512]}`, or `["n=64,512", "dtype=float32"]`; values of an axis add up."""
    by_axis: dict[str, list[Any]] = {}
    if isinstance(value, Mapping):
        by_axis = {str(axis): values for axis, values in value.items()}
    else:
        several = [value] if isinstance(value, str) else value
        if not isinstance(several, Iterable) or not all(isinstance(t, str) for t in several):
            raise ValueError(f'expected a dict such as {{"n": [64, 512]}}, found {value!r}')
        for text in several:
            axis, equals, given = text.partition("=")
            if not equals or not axis or not given:
                raise ValueError(f"an axis is written AXIS=V1,V2, not '{text}'")
            by_axis.setdefault(axis, []).extend(listed(given))
    for axis, values in by_axis.items():
        try:
            by_axis[axis] = axis_values(values)
        except ValueError as error:
            raise ValueError(f"axis '{axis}': {error}") from None
    return by_axis


def listed(given: str) -> list[str]:
    """`64,512`, `2x3,8x8` or `(2,3),(8,8)`: values with commas between them. A tuple of whole
    numbers is called as everywhere else, `2x3`."""
    found = filter(None, (each.strip() for each in BETWEEN.split(given)))
    return ["x".join(WHOLE.findall(each)) if TUPLE.fullmatch(each) else each for each in found]


def shape(text: str, left_open: bool = False) -> tuple[int, ...] | None:
    """`2x3` as a tuple, and `2x-1` where a side may be `left_open`; None of another text."""
    pattern = OPEN_SHAPE if left_open else SHAPE
    return tuple(map(int, WHOLE.findall(text))) if pattern.fullmatch(text) else None


def axis_name(name: Any) -> str:
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
        raise ValueError(f"expected the name of a variable, found {name!r}")
    if name in ("seed", "stage"):
        raise ValueError(f"'{name}' is reserved and cannot be an axis")
    return name


def benchmark_name(name: Any) -> str:
    if not isinstance(name, str) or not name or set(name) & set("[]/,= \t\n"):
        raise ValueError(f"expected a name without spaces or any of [ ] / , =, found {name!r}")
    return name


def name_list(value: Any) -> list[str]:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
        raise ValueError(f"expected a list of names, found {value!r}")
    return names


def stage_list(value: Any) -> list[str]:
    stages = name_list(value)
    for stage in stages:
        if stage not in STAGES:
            raise ValueError(unknown("stage", stage, STAGES))
    if len(set(stages)) < len(stages):
        raise ValueError(f"expected each stage once, found {value!r}")
    return stages


def text(value: Any) -> str:
    if not isinstance(value, (str, Path)) or not str(value):
        raise ValueError(f"expected text, found {value!r}")
    return str(value)


def texts(value: Any) -> tuple[str, ...]:
    """One text or several."""
    several = [value] if isinstance(value, (str, Path)) else value
    if not isinstance(several, Iterable) or isinstance(several, Mapping):
        raise ValueError(f"expected a list of texts, found {value!r}")
    return tuple(map(text, several))


def names(value: Any) -> tuple[str, ...]:
    """`"time,memory"` and `["time", "memory"]` are the same."""
    several = value.split(",") if isinstance(value, str) else value
    if not isinstance(several, (list, tuple)) or not all(isinstance(n, str) for n in several):
        raise ValueError(f"expected a list of names, found {value!r}")
    return tuple(name for each in several for name in each.split(",") if name)


def stages(value: Any) -> tuple[str, ...]:
    return tuple(stage_list(list(dict.fromkeys(names(value)))))


def assignment(value: Any) -> str:
    axis, equals, given = text(value).partition("=")
    if not equals:
        raise ValueError(
            f"a baseline is written AXIS=VALUE, not '{value}'; "
            f"for a benchmark of that name: name={value}"
        )
    if not axis or not given:
        raise ValueError(f"a baseline is written AXIS=VALUE, not '{value}'")
    return str(value)


def count(value: Any, least: int = 1) -> int:
    """A whole number, or its digits."""
    digits = isinstance(value, str) and re.fullmatch(r"-?[0-9]+", value)
    number = int(value) if digits and len(value) <= 300 else value
    if isinstance(number, int) and number > LARGEST_COUNT:
        raise ValueError(f"expected at most {LARGEST_COUNT}")
    if isinstance(number, bool) or not isinstance(number, int):
        raise ValueError(f"expected a valid integer, found {value!r}")
    if number < least:
        raise ValueError(f"expected greater than or equal to {least}, found {value!r}")
    return number


def count_from_0(value: Any) -> int:
    return count(value, 0)


def cpus(value: Any) -> tuple[int, ...]:
    """`"0,1"`, `"0-3"` or `[0, 1]`."""
    numbers: list[int] = []
    parts = value.split(",") if isinstance(value, str) else value
    for part in map(str, parts if isinstance(parts, Iterable) else [parts]):
        first, dash, last = part.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise ValueError(f"expected CPU numbers like 0,1 or 0-3, found {value!r}")
        if max(len(first), len(last)) > 5 or int(last or first) >= MOST_CPUS:
            raise ValueError(f"expected CPU numbers below {MOST_CPUS}")
        several = range(int(first), int(last if dash else first) + 1)
        if not several:
            raise ValueError(f"expected CPU numbers like 0,1 or 0-3, found {value!r}")
        numbers += several
    return tuple(numbers)


def switch(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"expected true or false, found {value!r}")
    return value


def expression(value: str) -> str:
    """A regular expression, as it is."""
    try:
        re.compile(value)
    except re.error as error:
        raise ValueError(f"'{value}' is not a valid regular expression: {error}") from None
    return value


def python_source(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"expected Python source as text, found {value!r}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what Python has to say of it belongs to its run
            ast.parse(value)
    except SyntaxError as error:
        line = f", line {error.lineno}" if error.lineno else ""
        raise ValueError(f"not valid Python{line}: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError):
        raise ValueError("not valid Python") from None
    return value


def fraction(value: Any) -> float:
    """`0.01` or `"1%"`."""
    number: Any = value
    if isinstance(value, str):
        match = re.fullmatch(r"\s*([0-9.]+(?:e-?[0-9]+)?)\s*(%?)\s*", value)
        number = as_float(match.group(1)) if match else None
        if match and number is not None and match.group(2):
            number /= 100
    if isinstance(number, bool) or not isinstance(number, (int, float)) or not 0 < number < 1:
        raise ValueError(f"expected a percentage such as '1%' or 0.01, below 100%, found {value!r}")
    return float(number)


def seconds(value: Any) -> float:
    """`60`, `"60s"`, `"500ms"`, `"2min"`."""
    number: Any = value
    if isinstance(value, str):
        match = re.fullmatch(r"\s*([0-9.]+(?:e-?[0-9]+)?)\s*([a-z]*)\s*", value)
        unit = UNITS.get(match.group(2) or "s") if match else None
        number = as_float(match.group(1)) if match else None
        number = number * unit if number is not None and unit is not None else None
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        raise ValueError(f"expected a time such as '60s' or '2min', found {value!r}")
    if not 0 < number < LARGEST_LABEL:
        raise ValueError(f"expected a time above zero, found {value!r}")
    return float(number)


def as_float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def imported(*sources: str) -> tuple[str, ...]:
    """Top-level names of the modules that these sources import."""
    names: dict[str, None] = {}
    for source in sources:
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Import):
                names.update((alias.name.split(".")[0], None) for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names[node.module.split(".")[0]] = None
    return tuple(names)


def check_python(source: str, what: str, empty: bool = False) -> None:
    """Refuse what is not Python, and what does nothing unless it may be `empty`."""
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError) as error:
        reason = getattr(error, "msg", None) or str(error)
        raise UserError(f"{what} {source!r} is not valid Python: {reason}") from None
    if not body and not empty:
        raise UserError(f"{what} {source!r} does nothing; write an expression or a statement")
