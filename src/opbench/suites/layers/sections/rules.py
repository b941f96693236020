"""What a value in a layer config may be. Each rule says in its message what would be right."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator

from opbench.define.document import RuleError


def shown(value: Any) -> str:
    """A shape as `64×64`, anything else as it is written."""
    shape = isinstance(value, (list, tuple)) and value
    return cut("×".join(map(str, value)) if shape else repr(value))


def cut(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}…"


def whole(value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"expected a whole number from {least} up, found {cut(repr(value))}")
    return value


def size(value: Any) -> int:
    return whole(value, 1)


def count(value: Any) -> int:
    return whole(value, 0)


def shape(value: Any) -> tuple[int, ...]:
    if not isinstance(value, (list, tuple)):
        raise ValueError(f"expected a list of sizes such as [50, 100], found {shown(value)}")
    return tuple(size(length) for length in value)


def per_dimension(value: Any, least: int) -> int | tuple[int, ...]:
    """One number for all dimensions, or a list with one for each."""
    if isinstance(value, (list, tuple)):
        return tuple(whole(number, least) for number in value)
    return whole(value, least)


def padding(value: Any) -> str | int | tuple[int, ...]:
    if isinstance(value, str):
        if value not in ("same", "valid"):
            raise ValueError(f"expected a number, 'same' or 'valid', found {shown(value)}")
        return value
    return per_dimension(value, 0)


def flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"expected true or false, found {shown(value)}")
    return value


def share(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise ValueError(f"expected a number from 0 to 1, found {shown(value)}")
    return value


def positive(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value <= 0:
        raise ValueError(f"expected a number above 0, found {shown(value)}")
    return value


def one_to_three(key: str, shape: tuple[int, ...]) -> None:
    if not 1 <= len(shape) <= 3:
        raise RuleError(key, f"one to three sizes decide between 1d, 2d and 3d, found {len(shape)}")


Size = Annotated[int, BeforeValidator(size)]
Count = Annotated[int, BeforeValidator(count)]
Shape = Annotated[tuple[int, ...], BeforeValidator(shape)]
Sizes = Annotated[int | tuple[int, ...], BeforeValidator(lambda v: per_dimension(v, 1))]
Padding = Annotated[str | int | tuple[int, ...], BeforeValidator(padding)]
Flag = Annotated[bool, BeforeValidator(flag)]
Share = Annotated[float, BeforeValidator(share)]
Positive = Annotated[float, BeforeValidator(positive)]
