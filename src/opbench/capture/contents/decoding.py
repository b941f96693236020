"""The recorded contents of a tensor, read from a file that anybody may have written."""

from __future__ import annotations

import base64
import re
from math import prod
from typing import Any

from opbench.capture.checks import Wrong, mapping, number, sequence, whole

BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}", re.ASCII)
KNOWN_VALUES = {
    "is", "bits", "runs", "packed", "count", "run", "true", "all", "from", "by", "lo", "hi",
    "sorted", "distinct", "heads", "marked",
}  # fmt: skip


def values_of(value: Any, dtype: str, shape: tuple[int, ...]) -> Any:
    """A regime of floats as a list of numbers; integers as one of a few objects."""
    if value is None:
        return None
    floating = "float" in dtype or "complex" in dtype
    if isinstance(value, list):
        if not 2 <= len(value) <= 8:
            raise Wrong("values of a float tensor are 2 to 8 numbers")
        if not floating:
            raise Wrong(f"values of {dtype} are an object such as {{'lo': 0, 'hi': 9}}")
        return tuple(number(each, "values") for each in value)
    content = mapping(value, "values")
    if floating:
        raise Wrong(f"values of {dtype} are a list of 2 to 8 numbers")
    unknown = set(content) - KNOWN_VALUES
    if unknown:
        raise Wrong(f"values: unknown {', '.join(sorted(unknown))[:80]!r}")
    listed = listed_values(content, prod(shape))
    return checked_values(content) if listed is None else listed


def listed_values(content: dict[str, Any], elements: int) -> dict[str, Any] | None:
    """Values kept exactly: as many as the tensor has elements. None where they are not."""
    if "is" in content:
        listed = [whole(each, "values", least=None) for each in sequence(content["is"], "values")]
        if len(listed) != elements:
            raise Wrong(f"{len(listed)} values for a tensor of {elements}")
        return {"is": listed}
    if "bits" in content:
        bits = content["bits"]
        if not isinstance(bits, str) or set(bits) - {"0", "1"} or len(bits) != elements:
            raise Wrong(f"bits: expected as many 0 and 1 as the tensor has elements, {elements}")
        return {"bits": bits}
    if "runs" in content:
        runs = [whole(each, "runs") for each in sequence(content["runs"], "runs")]
        if sum(runs) != elements:
            raise Wrong(f"runs: {sum(runs)} elements for a tensor of {elements}")
        return {"runs": runs}
    if "packed" in content:
        text, length = content["packed"], -(-elements // 8)
        if not isinstance(text, str) or not BASE64.fullmatch(text) or len(text) > 2 * length + 4:
            raise Wrong("packed: expected base64")
        try:
            found = len(base64.b64decode(text))
        except ValueError:
            raise Wrong("packed: expected base64") from None
        if found != length:
            raise Wrong(f"packed: expected {length} bytes for {elements} elements")
        return {"packed": text}
    return None


def checked_values(content: dict[str, Any]) -> dict[str, Any]:
    """Values kept as a rule or a distribution."""
    for first, second in (("from", "by"), ("lo", "hi"), ("count", "run")):
        if (first in content) != (second in content):
            raise Wrong(f"values: expected both {first} and {second}")
    for key in ("all", "from", "by", "lo", "hi"):
        if key in content:
            whole(content[key], f"values: {key}", least=None)
    if "count" in content:
        whole(content["count"], "values: count")
    for key in ("distinct", "true", "run"):
        if key in content:
            number(content[key], f"values: {key}")
    if "marked" in content:
        if len(sequence(content["marked"], "values: marked")) != 2:
            raise Wrong("values: marked is a number and the share of elements that have it")
        whole(content["marked"][0], "values: marked", least=None)
        number(content["marked"][1], "values: marked")
    if "heads" in content:
        shares = [number(each, "heads") for each in sequence(content["heads"], "heads")]
        if len(shares) > 64 or shares != sorted(shares) or not all(0 <= s <= 1 for s in shares):
            raise Wrong("heads: expected shares that grow to at most 1")
    if content.get("sorted") not in (None, "up", "down"):
        raise Wrong("values: sorted is 'up' or 'down'")
    return content
