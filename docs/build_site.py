"""What the site needs beyond its pages: a hook of MkDocs, named in mkdocs.yml.

The navigation is the list in index.md, so that a new page is listed in one place. Pages of the
repository's root (the changelog, the guide for contributors) become pages of the site, and links
to them are followed there.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
INDEX = ROOT / "docs" / "index.md"

#: Pages outside docs/, by their name in the site.
FROM_ROOT = {"changelog.md": "CHANGELOG.md", "contributing.md": "CONTRIBUTING.md"}

SECTION = re.compile(r"^(?P<title>[A-Z][^\n]*):\n\n(?P<items>(?:[-*] .*\n|  .*\n)+)", re.MULTILINE)
ITEM = re.compile(r"^[-*] \[(?P<title>[^\]]+)\]\((?P<page>[^)#]+)\)", re.MULTILINE)


def in_site(text: str, page: str) -> str:
    """The text of a page with links between docs/ and the root as the site has them."""
    if page in FROM_ROOT:
        text = text.replace("](docs/", "](")
        return re.sub(r"\]\((LICENSE|README\.md)\)", "](index.md)", text)
    for name, source in FROM_ROOT.items():
        text = text.replace(f"](../{source}", f"]({name}")
    return text


def navigation(index: str) -> list[dict[str, Any]]:
    """The sections of the index page with their pages."""
    nav: list[dict[str, Any]] = [{"Home": "index.md"}]
    for section in SECTION.finditer(in_site(index, "index.md")):
        pages = [{item["title"]: item["page"]} for item in ITEM.finditer(section["items"])]
        nav.append({section["title"]: pages})
    return nav


def on_config(config: Any) -> Any:
    config.nav = navigation(INDEX.read_text(encoding="utf-8"))
    return config


def on_files(files: Any, config: Any) -> Any:
    from mkdocs.structure.files import File

    for name, source in FROM_ROOT.items():
        files.append(File.generated(config, name, abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(markdown: str, page: Any, **_more: Any) -> str:
    return in_site(markdown, page.file.src_uri)
