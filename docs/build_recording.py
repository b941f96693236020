"""Records a command in a terminal of its own and writes it as an animated SVG.

    python docs/build_recording.py     # docs/images/time.svg; some ten seconds, on a quiet machine

The command is the first one of the README. It runs once before, so that the recording shows a
command whose workers are there already. The picture is the real output at its real speed; where
nothing may move (a reader who asks for less motion, a program that ignores animations) it shows
the last frame. Needs pyte, a terminal emulator, from the extra `docs`.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import sys
import termios
import time
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
README = DOCS.parent / "README.md"
PICTURE = DOCS / "images" / "time.svg"

COLUMNS, ROWS = 100, 18
#: Seconds between two frames at least, before the first output, and after the last.
STEP, LEAD, REST = 0.1, 1.2, 6.0

#: Pixels of a character, and around the text.
WIDTH, HEIGHT, PAD, TOP = 8.4, 19.0, 18.0, 42.0
BACKGROUND, FOREGROUND, DIM = "#1b1f2a", "#d7dae0", "#8b93a3"
COLOURS = {
    "default": FOREGROUND, "black": "#4b5263", "red": "#f07178", "green": "#9ccc65",
    "brown": "#ffcb6b", "blue": "#82aaff", "magenta": "#c792ea", "cyan": "#6fd3e3",
    "white": FOREGROUND, "brightblack": DIM,
}  # fmt: skip
FONT = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"

#: A row of the screen: (text, colour, bold) from left to right, with the column each begins in.
Run = tuple[int, str, str, bool]
Row = tuple[Run, ...]


@dataclass(frozen=True)
class Frame:
    seconds: float
    rows: tuple[Row, ...]


def command() -> str:
    """The first command of the README, on one line."""
    text = README.read_text(encoding="utf-8")
    found = re.search(r"^\$ (opbench time .*?[^\\])\n", text, re.MULTILINE | re.DOTALL)
    assert found, "the README shows no `$ opbench time …`"
    return found[1]


def output(line: str) -> Iterator[tuple[float, bytes]]:
    """What a terminal receives from the command, and when."""
    tools = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    env = {**os.environ, "PATH": tools, "TERM": "xterm-256color", "COLUMNS": str(COLUMNS)}
    started = time.monotonic()
    pid, terminal = pty.fork()
    if not pid:
        os.execvpe("bash", ["bash", "-c", line], env)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    while True:
        select.select([terminal], [], [])
        try:
            received = os.read(terminal, 65536)
        except OSError:  # the command has ended
            break
        if not received:
            break
        yield time.monotonic() - started, received
    if os.waitpid(pid, 0)[1]:
        sys.exit(f"failed: {line}")


def typed(line: str) -> list[str]:
    """The command as a person sees it above its output."""
    return [f"{'$' if not number else '>'} {part}" for number, part in enumerate(line.split("\n"))]


def record(line: str) -> list[Frame]:
    import pyte

    screen = pyte.Screen(COLUMNS, ROWS)
    stream = pyte.ByteStream(screen)
    stream.feed("".join(f"{part}\r\n" for part in typed(line)).encode())
    frames = [Frame(0.0, rows_of(screen))]
    for seconds, received in output(line):
        stream.feed(received)
        shown, at = rows_of(screen), seconds + LEAD
        if shown == frames[-1].rows:
            continue
        if at - frames[-1].seconds < STEP:
            at = frames.pop().seconds if len(frames) > 1 else at
        frames.append(Frame(at, shown))
    return frames


def rows_of(screen: Any) -> tuple[Row, ...]:
    rows = [row_of(screen.buffer[number]) for number in range(screen.lines)]
    while rows and not rows[-1]:
        rows.pop()
    return tuple(rows)


def row_of(line: Any) -> Row:
    runs: list[Run] = []
    for column in range(COLUMNS):
        cell = line[column]
        style = (COLOURS.get(cell.fg) or f"#{cell.fg}", cell.bold)
        if runs and runs[-1][2:] == style:
            start, text, *_ = runs[-1]
            runs[-1] = (start, text + cell.data, *style)
        else:
            runs.append((column, cell.data, *style))
    if runs:
        start, text, *style = runs[-1]
        runs[-1] = (start, text.rstrip(), *style)  # type: ignore[assignment]
    return tuple(run for run in runs if run[1].strip())


def svg(frames: list[Frame]) -> str:
    """A film: the frames side by side, moved past a window that shows one of them."""
    height = max(len(frame.rows) for frame in frames) * HEIGHT
    width = COLUMNS * WIDTH
    seconds = frames[-1].seconds + REST
    names: dict[Row, str] = {}
    film = []
    for number, frame in enumerate(frames):
        uses = []
        for line, row in enumerate(frame.rows):
            if row:
                name = names.setdefault(row, f"r{len(names)}")
                uses.append(f'<use href="#{name}" y="{line * HEIGHT:g}"/>')
        film.append(f'<g transform="translate({number * width:g})">{"".join(uses)}</g>')
    steps = "".join(
        f"{frame.seconds / seconds:.3%}{{transform:translateX({-number * width:g}px)}}"
        for number, frame in enumerate(frames)
    )
    last = f"transform:translateX({-(len(frames) - 1) * width:g}px)"
    whole_width, whole_height = width + 2 * PAD, height + TOP + PAD
    dots = "".join(
        f'<circle cx="{PAD + 7 + 20 * number:g}" cy="20" r="6" fill="{colour}"/>'
        for number, colour in enumerate(("#f07178", "#ffcb6b", "#9ccc65"))
    )
    rows = "".join(f'<g id="{name}">{text_of(row)}</g>' for row, name in names.items())
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {whole_width:g} {whole_height:g}" '
        f'width="{whole_width:g}" height="{whole_height:g}" role="img">'
        f"<title>{escape(command())}</title>"
        f"<style>text{{font:14px {FONT};white-space:pre}}"
        f".film{{{last};animation:play {seconds:.1f}s steps(1,end) infinite}}"
        f"@keyframes play{{{steps}}}"
        f"@media(prefers-reduced-motion:reduce){{.film{{animation:none}}}}</style>"
        f'<rect width="100%" height="100%" rx="8" fill="{BACKGROUND}"/>{dots}'
        f"<defs>{rows}</defs>"
        f'<svg x="{PAD:g}" y="{TOP:g}" width="{width:g}" height="{height:g}" '
        f'viewBox="0 0 {width:g} {height:g}"><g class="film">{"".join(film)}</g></svg></svg>\n'
    )


def text_of(row: Row) -> str:
    parts = []
    for column, text, colour, bold in row:
        weight = ' font-weight="bold"' if bold else ""
        # Spaces at the ends would be lost, and with them the place of the text.
        kept = text.lstrip(" ")
        start = column + len(text) - len(kept)
        kept = kept.rstrip(" ")
        parts.append(
            f'<text x="{start * WIDTH:g}" y="14" fill="{colour}"{weight} '
            f'textLength="{len(kept) * WIDTH:g}">{escape(kept)}</text>'
        )
    return "".join(parts)


def main() -> None:
    line = command()
    for _ in output(line):  # the pool is filled
        pass
    frames = record(line)
    PICTURE.write_text(svg(frames), encoding="utf-8")
    size = PICTURE.stat().st_size / 1000
    print(f"{PICTURE.name}: {len(frames)} frames, {frames[-1].seconds - LEAD:.1f} s, {size:.0f} kB")


if __name__ == "__main__":
    main()
