"""Captures: the calls of a program, recorded by `opbench capture` and measured one by one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opbench.define.definition import Definition
from opbench.define.suite import Command, Suite, TargetFile, Targets
from opbench.errors import UserError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from opbench.running.recording import Finished

SUFFIX = ".jsonl"
#: There are hundreds of calls, and what counts is their sum. More worker starts would take longer
#: to import torch than all calls take together.
OPTIONS = {"precision": 0.05, "max_time_per_case": 0.12, "max_starts": 3}


class Captured(Suite):
    def read_file(self, file: TargetFile) -> Targets | None:
        refuse_pickle(file.path)
        if not is_capture(file.path):
            return None
        from opbench.capture.reading import level_of

        if level_of(file.path) == "api":
            from opbench.suites.captured.api.definition import definitions_of

            return Targets(definitions_of(file.path))
        from opbench.capture.reading import read
        from opbench.suites.captured.definition import definitions, time_factors

        capture = read(file.path)
        suggested: dict[str, Any] = {**OPTIONS, "threads": capture.threads}
        if capture.device.startswith("cuda"):
            from opbench.machine.gpu import default_device

            if default_device() == "cuda":
                # A child on a GPU takes a second to start; kernels last as long in any of them.
                suggested |= {"device": "cuda", "max_starts": 2}
        made = list(definitions(capture))
        return Targets(made, suggested=suggested, time_factors=time_factors(made))

    def narrow(self, definitions: list[Definition], options: Any) -> list[Definition]:
        if options.imports:
            from opbench.suites.captured.definition import importing

            definitions = importing(definitions, options.imports)
        if options.top is None:
            return definitions
        from opbench.suites.captured.definition import costliest

        return costliest(definitions, options.top)

    def describe_files(self, paths: Sequence[Path]) -> Iterable[RenderableType] | None:
        if not all(map(is_capture, paths)):
            return None
        from opbench.suites.captured.show import describe, side_by_side

        return describe(*paths) if len(paths) == 1 else side_by_side(paths)

    def compare_files(self, base: Path, new: Path) -> Iterable[RenderableType] | None:
        if not is_capture(base) or not is_capture(new):
            return None
        from opbench.suites.captured.show import differences

        return differences(base, new)

    def account(self, run: Finished, targets: Sequence[str]) -> Iterable[RenderableType] | None:
        if not any(is_capture(Path(target)) for target in targets):
            return None
        from opbench.suites.captured.show import replay

        return replay(run, targets)

    def commands(self) -> Iterable[Command]:
        from opbench.suites.captured.collectives_command import collectives
        from opbench.suites.captured.command import SETTINGS, CaptureCommand, capture

        settings = {"cls": CaptureCommand, "context_settings": SETTINGS}
        yield Command("capture", capture, settings=settings)
        yield Command("collectives", collectives)


def is_capture(path: Path) -> bool:
    """By its name, or, under a name that the user chose, by how it begins."""
    from opbench.capture.reading import level_of

    return path.suffix == SUFFIX or level_of(path) != ""


def refuse_pickle(path: Path) -> None:
    """The older tool wrote pickles, which run code when they are loaded."""
    try:
        with path.open("rb") as stream:
            pickled = stream.read(2)[:1] == b"\x80"
    except OSError:
        return
    if not pickled:
        return
    beside = path.with_name(f"{path.name}.jsonl")
    way = (
        f"{beside} holds the same calls"
        if beside.is_file()
        else (
            "run the script again with `from opbench.patching_hook import init, hook`, which also "
            f"writes {beside.name}"
        )
    )
    raise UserError(f"{path} is a pickle, which opbench does not load; {way}")


SUITE = Captured()
