"""Passwords out of what people and records see."""

from __future__ import annotations

import re

#: `scheme://user:password@`, and the same with a mistyped beginning. Up to the last `@`: rather
#: hide part of a host than show part of a password.
_IN_ADDRESS = re.compile(r"(:/*[^:/@\s]*):\S*@")
_IN_QUERY = re.compile(r"([?&][^=&\s]*password=)[^&\s'\"]*", re.IGNORECASE)


def without_password(text: str) -> str:
    """The same text with `***` for every password of a URL in it."""
    return _IN_QUERY.sub(r"\1***", _IN_ADDRESS.sub(r"\1:***@", text))
