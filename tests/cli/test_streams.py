"""Standard output and error of the commands, in the states a shell can hand them over in."""

from __future__ import annotations

import io
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opbench.cli.streams import PLAIN, guarded
from opbench.errors import UserError
from opbench.report.table import Column, Table, grid
from opbench.report.terminal.console import Console
from opbench.report.terminal.visible import visible

OPBENCH = f'"{sys.executable}" -m opbench'


def shell(line: str, **env: str) -> subprocess.CompletedProcess[bytes]:
    import os

    return subprocess.run(
        ["bash", "-c", line], capture_output=True, env={**os.environ, **env}, timeout=600
    )


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (f"{OPBENCH} list | head -1; exit ${{PIPESTATUS[0]}}", 0),
        (f"{OPBENCH} list ops | head -1; exit ${{PIPESTATUS[0]}}", 0),
        (f"{OPBENCH} list >&- 2>&-", 0),
        (f"{OPBENCH} list <&- >&-", 0),
        (f"{OPBENCH} nosuch 2>/dev/full", 2),
        (f"{OPBENCH} list >/dev/full", 2),
    ],
)
def test_a_reader_that_left_or_never_was_is_no_failure(line, code):
    done = shell(line)
    assert done.returncode == code, done.stderr
    assert b"Traceback" not in done.stderr
    assert b"Exception ignored" not in done.stderr


def test_an_encoding_without_our_signs_gets_plain_ones():
    line = f"""{sys.executable} -c '
from opbench.cli.streams import guarded
with guarded():
    print("5 \\u00b5s \\u00b1 1 % \\u2713 \\u4e2d \\ud800")'"""
    done = shell(line, PYTHONIOENCODING="ascii")
    assert done.stdout == b"5 us +- 1 % ok \\u4e2d \\ud800\n", done.stderr


def test_every_plain_sign_is_plain():
    assert all(text.isascii() for text in PLAIN.values())


@given(st.text())
def test_nothing_a_terminal_acts_on_is_left(text):
    left = visible(text)
    assert not {*left} & {chr(code) for code in (*range(9), *range(11, 32), *range(127, 160))}
    assert len(left) == len(text)


HOSTILE = "evil\x1b]0;title\x07\x1b[2J\x9b31m\u202efdp.exe\rover"


def test_a_console_shows_control_characters_and_keeps_its_own_colours():
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, color_system="standard", width=80)
    console.print(grid(Table((Column("case"),), ((HOSTILE,),))))
    from rich.text import Text

    console.print(Text(HOSTILE, style="red"))
    output = stream.getvalue()
    assert "\x1b[31m" in output  # ours
    for theirs in ("\x1b]0;", "\x07", "\x1b[2J", "\x9b", "\u202e"):
        assert theirs not in output
    assert "evil\u241b]0;title" in output


def test_print_shows_them_too_and_a_full_disk_is_one_line(capsys, monkeypatch):
    with guarded():
        print(HOSTILE)
    assert "\x1b" not in capsys.readouterr().out

    class Full(io.StringIO):
        def write(self, text):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(sys, "stdout", Full())
    with pytest.raises(UserError, match="No space left on device"), guarded():
        print("anything")
    monkeypatch.setattr(sys, "stderr", Full())
    with guarded():
        print("a warning", file=sys.stderr)  # lost, and nothing else


def test_a_folder_that_was_deleted_and_a_user_that_is_none_are_one_line(tmp_path):
    gone = tmp_path / "gone"
    done = shell(f'mkdir "{gone}" && cd "{gone}" && rmdir "{gone}" && {OPBENCH} list')
    assert done.returncode == 2
    assert done.stderr == b"opbench: the current folder was deleted; change to another one\n"
    done = shell(f"{OPBENCH} runs --store '~nobody-here/r.db'")
    assert done.returncode == 2
    assert b"no such user" in done.stderr
    assert done.stderr.count(b"\n") == 1


def test_a_live_display_moves_the_cursor_and_does_not_print_how(monkeypatch):
    from rich.live import Live

    terminal = io.StringIO()
    monkeypatch.setattr(sys, "stderr", terminal)
    with guarded():
        console = Console(stderr=True, force_terminal=True, width=40)
        with Live("[red]one[/]", console=console, auto_refresh=False, transient=True) as live:
            live.update("[red]two[/]", refresh=True)
            print("a line of \x1b[2J a program", file=sys.stderr)
    written = terminal.getvalue()
    assert "two" in written
    assert "\x1b[2K" in written  # the line before was cleared
    assert "\x1b[2J" not in written
    assert "\u241b[2K" not in written
