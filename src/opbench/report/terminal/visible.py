"""Text for a terminal: control characters in it are shown, not carried out.

Names, reasons and exception texts come from files and from code under test.
"""

from __future__ import annotations

#: What a terminal acts on, by code: C0 and C1 controls, and marks that turn text around.
_SIGNS = {code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\n\t"}
_SIGNS |= {0x7F: "\u2421"}
_SIGNS |= dict.fromkeys(
    (*range(0x80, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)), "\ufffd"
)


def visible(text: str) -> str:
    """The text with a visible sign for each character that a terminal would act on."""
    return text.translate(_SIGNS)
