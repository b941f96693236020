"""Relative links of the pages: each leads to a file of the repository, each anchor to a heading."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
INDEX = DOCS / "index.md"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md"))]

CODE_BLOCK = re.compile(r"^(```+).*?^\1", re.MULTILINE | re.DOTALL)
CODE_SPAN = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"\]\(<?([^()<>\s]+)>?(?:\s+\"[^\"]*\")?\)")
HEADING = re.compile(r"^#{1,6} +(.+?)(?: +#+)?$", re.MULTILINE)


def prose(text: str) -> str:
    """The text without code, in which brackets and number signs mean other things."""
    text = CODE_BLOCK.sub("", text)
    return "\n".join(line for line in text.splitlines() if not line.startswith("    "))


def links(text: str) -> list[str]:
    """Targets of the relative links and pictures of a page."""
    targets = LINK.findall(CODE_SPAN.sub("", prose(text)))
    return [each for each in targets if not re.match(r"[a-z][a-z0-9+.-]*:", each)]


def anchors(text: str) -> set[str]:
    """The ids that GitHub gives to the headings of a page; a repeated one gets a number."""
    found: dict[str, int] = {}
    ids = set()
    for title in HEADING.findall(prose(text)):
        title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title)
        slug = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        count = found.get(slug, 0)
        found[slug] = count + 1
        ids.add(f"{slug}-{count}" if count else slug)
    return ids


def broken(page: Path, text: str) -> list[str]:
    """The relative links of a page that lead nowhere."""
    found = []
    for target in links(text):
        path, _, anchor = unquote(target).partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists() or not file.is_relative_to(ROOT):
            found.append(target)
        elif anchor and file.suffix == ".md":
            content = text if file == page else file.read_text(encoding="utf-8")
            found += [] if anchor in anchors(content) else [target]
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_relative_links_lead_somewhere(page):
    assert broken(page, page.read_text(encoding="utf-8")) == []


def test_the_index_lists_every_page():
    listed = {target.partition("#")[0] for target in links(INDEX.read_text(encoding="utf-8"))}
    assert {page.name for page in DOCS.glob("*.md")} - {INDEX.name} <= listed


#: The reference of the command line begins with the list of commands: that is what it is for.
EXPLAINED = [page for page in sorted(DOCS.glob("*.md")) if page.name != "cli.md"]


@pytest.mark.parametrize("page", EXPLAINED, ids=lambda path: path.name)
def test_a_page_begins_with_its_title_and_what_it_is_for(page):
    title, blank, first = page.read_text(encoding="utf-8").splitlines()[:3]
    assert title.startswith("# ")
    assert not blank
    assert re.match(r"[A-Z`\[]", first), "a sentence comes before commands and tables"


@pytest.mark.parametrize(
    "text",
    [
        "[gone](no-such-page.md)",
        "[gone](statistics.md#no-such-heading)",
        "[gone](#no-such-heading)",
        "![gone](images/none.webp)",
        "[outside](../../../etc/passwd)",
    ],
)
def test_a_broken_link_is_found(text):
    assert len(broken(INDEX, f"# Title\n\n{text}\n")) == 1


def test_addresses_and_code_are_not_followed():
    text = "# A title\n\n[a](https://a.b) `[b](none)` [c](#a-title)\n\n    [d](none)\n"
    assert broken(INDEX, text) == []


def test_headings_have_the_ids_of_github():
    text = "# Timed, then compared\n## `opbench ab`\n## Same\n## Same\n```\n# no\n```\n"
    assert anchors(text) == {"timed-then-compared", "opbench-ab", "same", "same-1"}
