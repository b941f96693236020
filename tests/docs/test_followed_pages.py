"""The pages can be followed literally: files are shown or shipped, every command succeeds."""

from __future__ import annotations

import importlib.util
import re
import shlex
import sys
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_pages", DOCS / "build_pages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


build_pages = load()


def steps(name: str) -> list[str]:
    found = build_pages.blocks(build_pages.PAGES[name].read_text(encoding="utf-8"))
    return list(dict.fromkeys(block.step for block in found))


@pytest.fixture(scope="module")
def readers() -> Iterator[dict[str, tuple[Any, list[str]]]]:
    """Readers by page, who stay where their last step left them."""
    found: dict[str, tuple[Any, list[str]]] = {}
    yield found
    for reader, _ in found.values():
        reader.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "step"),
    [(page, step) for page in build_pages.PAGES for step in steps(page)],
)
def test_a_step_works_as_written(page, step, readers, tmp_path_factory):
    if page not in readers:
        readers[page] = (build_pages.Reader(tmp_path_factory.mktemp(page)), [])
    reader, done = readers[page]
    for earlier in steps(page):
        if earlier not in done:
            done.append(earlier)
            follow(reader, page, earlier)
        if earlier == step:
            return


def follow(reader: Any, page: str, step: str) -> None:
    text = build_pages.PAGES[page].read_text(encoding="utf-8")
    for block in build_pages.blocks(text):
        if block.step != step:
            continue
        if block.kind == "file":
            reader.write(block)
        elif block.kind == "cell":
            reader.cells.append(block.text)
        for command in block.commands:
            ended = reader.run(command)
            assert ended.returncode == 0, f"$ {command}\n{ended.stdout}{ended.stderr}"
    if "notebook" in step.lower():
        assert reader.cells
        reader.run_cells()


def test_the_tutorial_names_an_author_before_it_commits(tmp_path):
    reader = build_pages.Reader(tmp_path)
    for name in build_pages.WHO:
        del reader.env[name]
    # With `useConfigOnly` git does not make up an author, as it does on some machines.
    (tmp_path / "config").write_text("[user]\nuseConfigOnly = true\n")
    reader.env |= {"GIT_CONFIG_GLOBAL": str(tmp_path / "config"), "GIT_CONFIG_NOSYSTEM": "1"}
    for block in build_pages.blocks(build_pages.PAGES["tutorial"].read_text(encoding="utf-8")):
        if block.kind == "file":
            reader.write(block)
        for command in block.commands:
            if command.startswith("git "):
                ended = reader.run(command)
                assert ended.returncode == 0, f"$ {command}\n{ended.stdout}{ended.stderr}"
    assert reader.run("git rev-list --count HEAD").stdout == "2\n"
    reader.close()


def test_the_tutorial_works_in_the_folder_that_its_outputs_name():
    """And so outside the clone, whose settings pytest would take."""
    page = build_pages.PAGES["tutorial"].read_text(encoding="utf-8")
    (folder,) = re.findall(r"^mkdir (\S+) && cd \1$", page, re.MULTILINE)
    assert folder.replace("~", "/home/you") == build_pages.HOME


#: Names that stand for a file of the reader's own, or for one that the text above describes.
YOURS = {"benches/bench_core.py", "benches/bench_mine.py"}
#: PyTorch's own, in a checkout of it.
YOURS |= {"pytorch/benchmarks/instruction_counts/definitions/standard.py"}
INPUT = re.compile(r"[\w./-]+\.(?:py|toml|ipynb|json|jsonl|csv)(?::\w+)?")
#: Options whose value is written, not read.
WRITTEN = {"-o", "--output", "--markdown", "--junit", "--figure", "--charts", "--callgrind", ">"}
WRITTEN |= {"--benchmark-json"}


def files_read(line: str) -> tuple[list[str], list[str]]:
    """(read, written) by one command, as far as its words show."""
    read, written, before = [], [], ""
    for word in takewhile(lambda word: word != "#", shlex.split(line)):
        if INPUT.fullmatch(word):
            # Each rank of a capture writes a file of its own.
            name = re.sub(r"\.rank\d", "", word.split(":")[0])
            if before in WRITTEN:
                written.append(name)
            elif name not in written:
                read.append(name)
        before = word
    return read, written


def typed(text: str) -> str:
    """The text with the lines of shell blocks written as typed at a prompt."""
    return re.sub(
        r"^```(?:sh|bash)\n(.*?)^```$",
        lambda found: re.sub(r"^", "$ ", found[1], flags=re.MULTILINE),
        text,
        flags=re.MULTILINE | re.DOTALL,
    )


def commands(text: str) -> list[str]:
    joined = re.sub(r"\\\n\s*", " ", typed(text))
    return re.findall(
        r"^(?: {4}|\$ )((?:opbench|python|pytest|torchrun) [^\n]*)", joined, re.MULTILINE
    )


@pytest.mark.parametrize(
    "page",
    [ROOT / "README.md", *(p for p in sorted(DOCS.glob("*.md")) if p.name != "cli.md")],
    ids=lambda path: path.name,
)
def test_files_that_commands_read_are_shown_or_shipped(page):
    text = page.read_text(encoding="utf-8")
    # As the first line of a block, or named in the sentence before a block.
    there = set(re.findall(r"^(?: {4})?# ([\w./-]+\.\w+)$", text, re.MULTILINE))
    there |= {path.name for path in (DOCS / "examples").iterdir()} | YOURS
    there |= set(re.findall(r"`([\w./-]+\.\w+)`[:,](?=\n\n(?:```|    |<!-- output))", text))
    there |= set(re.findall(r"opbench init ([\w./-]+)", text))
    there |= {"bench_example.py"} if "opbench init" in text else set()
    missing = []
    for line in commands(text):
        read, written = files_read(line)
        missing += [f for f in read if f not in there and not (ROOT / f).exists()]
        there |= set(written)
    assert missing == []


def test_a_file_that_nobody_has_is_found():
    assert files_read("opbench run gone.py -o out.json # why.py") == (["gone.py"], ["out.json"])


def test_blocks_are_read_as_a_reader_would():
    page = (
        "# P\n\n## 1. Write\n\n```python\n# a.py\nx = 1\n```\n\n```console\n$ echo 1 \\\n  2\n1 2\n"
        "$ echo 3\n3\n```\n\n```sh\ntrue\n```\n\n## 2. In a notebook\n\n"
        "```python\nx + 1\n```\n\n```text\nno\n```\n"
    )
    first, second, quiet, third = build_pages.blocks(page)
    assert (first.kind, first.file, first.step) == ("file", "a.py", "1. Write")
    assert second.commands == ["echo 1 \\\n  2", "echo 3"]
    assert quiet.commands == ["true"]
    assert (third.kind, third.text, third.step) == ("cell", "x + 1\n", "2. In a notebook")


def test_a_page_gets_the_outputs_that_its_commands_have(tmp_path):
    page = (
        "# P\n\n```toml\n# a.toml\nx = 1\n```\n\n```console\n$ cat a.toml\nold\n$ true\n```\nend\n"
    )
    found = build_pages.followed(page, tmp_path)
    assert found == page.replace("old\n", "# a.toml\nx = 1\n")
