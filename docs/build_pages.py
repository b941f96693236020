"""Follows the pages of docs/ as a reader would, and replaces the outputs that they show.

    python docs/build_pages.py                    # all pages, some minutes, on a quiet machine
    python docs/build_pages.py tutorial capture   # these

A page is followed in one temporary folder that begins with the files of docs/examples:

    ```python           a block that begins with the comment `# NAME`, where NAME is a file,
    # bench_mine.py     is written to that file
    ```
    ```console          lines that begin with `$ ` are run by bash, one after the other;
    $ opbench runs      what a command prints on its standard output follows it
    ```
    ```sh               each line is run; no output is shown
    opbench init
    ```
    ```python           below a heading that speaks of a notebook, blocks without a name are the
    ob.load()           cells of one
    ```

Other blocks are not touched. tests/docs/test_followed_pages.py follows the same pages.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
EXAMPLES = DOCS / "examples"
PAGES = {
    "README": ROOT / "README.md",
    **{name: DOCS / f"{name}.md" for name in
       ("tutorial", "compare", "history", "capture")},
}  # fmt: skip

FENCE = re.compile(r"^```(?P<language>\w*)[^\n]*\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"^# (?P<name>[\w./-]+\.(?:py|toml|json|ini))\n")
HEADING = re.compile(r"^## (?P<title>.+)$", re.MULTILINE)

#: Lines of an output that are shown, and their width.
LONGEST, WIDTH = 60, 100
#: What stands for the folder of the reader.
HOME = "/home/you/try-opbench"
WHO = {"GIT_AUTHOR_NAME": "Reader", "GIT_AUTHOR_EMAIL": "reader@example.org"}
WHO |= {"GIT_COMMITTER_NAME": "Reader", "GIT_COMMITTER_EMAIL": "reader@example.org"}


@dataclass(frozen=True)
class Block:
    """What a reader does next: write a file, run commands, or type a cell."""

    kind: str  # file, console, sh or cell
    text: str
    step: str
    start: int
    end: int

    @property
    def file(self) -> str:
        found = FILE.match(self.text)
        return found["name"] if found else ""

    @property
    def commands(self) -> list[str]:
        """Each with its continued lines."""
        lines = re.sub(r"\\\n", "\\\\\0", self.text).splitlines()
        if self.kind == "console":
            lines = [line[2:] for line in lines if line.startswith("$ ")]
        return [line.replace("\0", "\n") for line in lines if self.kind in ("console", "sh")]


def blocks(page: str) -> Iterator[Block]:
    headings = [(found.start(), found["title"]) for found in HEADING.finditer(page)]
    for found in FENCE.finditer(page):
        step = next((title for at, title in reversed(headings) if at < found.start()), "")
        block = Block("", found["text"], step, found.start("text"), found.end("text"))
        if block.file:
            yield replace(block, kind="file")
        elif found["language"] in ("console", "sh"):
            yield replace(block, kind=found["language"])
        elif found["language"] == "python" and "notebook" in step.lower():
            yield replace(block, kind="cell")


class Reader:
    """Follows the blocks of one page in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cells: list[str] = []
        shutil.copytree(EXAMPLES, folder, dirs_exist_ok=True)
        tools = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        self.env = {**os.environ, **WHO, "PATH": tools, "COLUMNS": str(WIDTH)}
        # Worker starts of this reader, ended with `close`.
        self.env["XDG_RUNTIME_DIR"] = tempfile.mkdtemp(prefix="reader")

    def write(self, block: Block) -> None:
        path = self.folder / block.file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, encoding="utf-8")

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-c", command], cwd=self.folder, env=self.env, capture_output=True, text=True
        )

    def close(self) -> None:
        self.run("opbench workers --stop")
        shutil.rmtree(self.env["XDG_RUNTIME_DIR"], ignore_errors=True)

    def run_cells(self) -> None:
        """All cells so far, in a fresh kernel; an exception in one is raised here."""
        import nbformat
        from nbclient import NotebookClient

        cells = [nbformat.v4.new_code_cell(text) for text in self.cells]
        book = nbformat.v4.new_notebook(cells=cells)
        where = {"metadata": {"path": str(self.folder)}}
        NotebookClient(book, timeout=600, kernel_name="python3", resources=where).execute()


def shown(output: str) -> str:
    lines = [line.rstrip() for line in output.strip("\n").splitlines()]
    if len(lines) > LONGEST:
        lines = [*lines[:LONGEST], f"… ({len(lines) - LONGEST} more lines)"]
    return "".join(f"{line}\n" for line in lines)


def followed(page: str, folder: Path) -> str:
    """The page with the outputs that its commands have now."""
    reader = Reader(folder)
    try:
        return follow(reader, page)
    finally:
        reader.close()


def follow(reader: Reader, page: str) -> str:
    written, at = [], 0
    for block in blocks(page):
        if block.kind == "file":
            reader.write(block)
        parts = []
        for command in block.commands:
            print(f"$ {command}", file=sys.stderr, flush=True)
            done = reader.run(command)
            if done.returncode:
                sys.exit(f"exit code {done.returncode}\n{done.stdout}{done.stderr}")
            printed = done.stdout.replace(str(reader.folder), HOME)
            parts.append(f"$ {command}\n{shown(printed)}")
        if block.kind == "console":
            written += [page[at : block.start], "".join(parts)]
            at = block.end
    return "".join([*written, page[at:]])


def main(wanted: list[str]) -> None:
    for name in wanted or PAGES:
        path = PAGES[name]
        with tempfile.TemporaryDirectory() as folder:
            text = followed(path.read_text(encoding="utf-8"), Path(folder))
        path.write_text(text, encoding="utf-8")
        print(f"{path.name} written")


if __name__ == "__main__":
    main(sys.argv[1:])
