"""Shows docstrings on the site as `help()` shows them: an extension of griffe, named in mkdocs.yml.

Our docstrings list parameters in two aligned columns, which reads well in a terminal. Markdown
would
run the lines together, so such a paragraph becomes a list.
"""

from __future__ import annotations

import re
from typing import Any

try:
    from griffe import Extension
except ModuleNotFoundError:  # for the tests of what needs no griffe
    Extension = object  # type: ignore[assignment,misc]

ROW = re.compile(r"(?P<name>\S(?:.*?\S)?) {2,}(?P<text>\S.*)")


def listed(docstring: str) -> str:
    """The text with its aligned paragraphs as lists."""
    return "\n\n".join(map(paragraph, docstring.split("\n\n")))


def paragraph(text: str) -> str:
    items: list[str] = []
    for line in text.split("\n"):
        row = ROW.fullmatch(line)
        if row:
            items.append(f"- `{row['name'].strip('`')}`: {row['text']}")
        elif items and line.startswith("    "):
            items[-1] += f" {line.strip()}"
        else:
            return text
    return "\n".join(items)


class AlignedLists(Extension):  # type: ignore[misc,valid-type]
    def on_object(self, *, obj: Any, **_more: Any) -> None:
        if obj.docstring:
            obj.docstring.value = listed(obj.docstring.value)
