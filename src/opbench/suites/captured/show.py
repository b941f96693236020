"""What the commands say of captures: the table of a file, the account of its replay."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opbench.capture.calls import Capture
    from opbench.running.recording import Finished


def is_capture(target: str) -> bool:
    """Whether a target is the file of a capture of operators."""
    path = Path(target)
    if path.suffix != ".jsonl" or not path.is_file():
        return False
    from opbench.capture.reading import level_of

    return level_of(path) != "api"


def captures(targets: Iterable[str]) -> list[Capture]:
    from opbench.capture.reading import read

    return [read(target) for target in targets if is_capture(target)]


def show_capture(path: str, everything: bool = False) -> None:
    from opbench.capture.reading import read
    from opbench.suites.captured.report import capture_parts

    print_parts(capture_parts(read(path), everything))


def show_replay(targets: Sequence[str], finished: Finished) -> bool:
    """The account of a run of captures, in the place of its long table; False where it was not
    one of captures only."""
    found = captures(targets)
    if not found or len(found) != len(targets):
        return False
    from rich.text import Text

    from opbench.report.terminal import problems, summary
    from opbench.suites.captured.account import replay_of
    from opbench.suites.captured.report import replay_parts

    for capture in found:
        print_parts(replay_parts(replay_of(capture, finished.results)))
    hard = [pair for pair in finished.results if pair[1].outcome not in ("ok", "unsupported")]
    print_parts([*problems(hard), Text(""), Text(summary(finished))])
    print_parts([Text(f"Each call by itself: opbench show CALL --in {targets[0]} [--script]")])
    return True


def print_parts(parts: Iterable[object]) -> None:
    import sys

    from rich.console import Console

    from opbench.report.terminal import width_for

    console = Console(highlight=False, width=width_for(sys.stdout))
    for part in parts:
        console.print(part)
