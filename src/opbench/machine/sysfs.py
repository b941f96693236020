"""Reading the small text files of /proc and /sys.

Every reader takes the root of the file system, so that a test can pass a folder that looks like
another machine; a file that is absent, unreadable or malformed reads as None, never as an error.
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path("/")


def read(root: Path, path: str) -> str | None:
    """The stripped text of a file, None when it cannot be read or is empty."""
    try:
        text = (root / path.lstrip("/")).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return text.replace("\0", " ").strip() or None


def read_int(root: Path, path: str) -> int | None:
    text = read(root, path)
    try:
        return int(text) if text is not None else None
    except ValueError:
        return None


def exists(root: Path, path: str) -> bool:
    try:
        return (root / path.lstrip("/")).exists()
    except OSError:
        return False


def chosen(text: str | None) -> str | None:
    """`madvise` from `always [madvise] never`: how sysfs marks the active one."""
    if text is None or "[" not in text:
        return text
    return text.split("[", 1)[1].split("]", 1)[0]
