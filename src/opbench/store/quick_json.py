"""JSON of very many results: pydantic's parser and writer, which take half and a fifth of the time.

They refuse what Python's own accept (halves of surrogate pairs, deep nesting, NaN as JSON has it);
then Python's own are asked.
"""

from __future__ import annotations

import json
from typing import Any

from pydantic_core import PydanticSerializationError, from_json, to_json


def loads(text: str | bytes) -> Any:
    try:
        return from_json(text)
    except ValueError:
        return json.loads(text)


def dumps(value: Any) -> bytes:
    """Without spaces, in UTF-8; what is not finite becomes null."""
    try:
        return to_json(value, inf_nan_mode="null")
    except PydanticSerializationError:
        return json.dumps(value, separators=(",", ":"), allow_nan=False).encode("ascii")
