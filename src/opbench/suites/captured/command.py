"""`opbench capture script.py args…`: record the operator calls of a training script, unedited."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand

from opbench import children, files
from opbench.errors import Terminated, UserError, plural, unknown
from opbench.suites.captured.ending import ending, exit_status


class CaptureCommand(TyperCommand):
    """What follows the script, or `-m MODULE`, belongs to the script."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if "-m" in args and "--" not in args:
            index = args.index("-m") + 2
            if not any(word.endswith(".py") for word in args[: index - 2]):
                args = [*args[:index], "--", *args[index:]]
        return super().parse_args(ctx, args)


LEVELS = ("operators", "api")
#: How long a script has after Ctrl-C to write what was recorded.
INTERRUPT_SECONDS = 3.0
SETTINGS = {"allow_interspersed_args": False, "ignore_unknown_options": False}


def capture(
    words: list[str] = typer.Argument(
        None,
        metavar="SCRIPT.py|NOTEBOOK.ipynb [ARGS]...",
        help="The program that trains, with its arguments.",
        show_default=False,
    ),
    module: str = typer.Option(None, "-m", metavar="MODULE", help="Run a module, as python -m."),
    output: Path = typer.Option(
        Path("opbench-capture.jsonl"), "-o", "--output", metavar="FILE", help="The file to write."
    ),
    steps: str = typer.Option(
        None,
        metavar="3-4",
        help="Optimizer steps to record, from 1. [default: 2]",
    ),
    calls: str = typer.Option(
        None, metavar="3-4", help="For inference: calls of the model to record, from 1."
    ),
    values: bool = typer.Option(
        True, "--values/--no-values", help="Keep small integers and masks, or only ranges."
    ),
    timing: bool = typer.Option(
        None,
        "--timing/--no-timing",
        help="Wait for each call and time it. [default: on the CPU; a GPU is timed without]",
    ),
    stop: bool = typer.Option(False, "--stop", help="End the script when the window is over."),
    probe: list[str] = typer.Option(
        [], "--probe", metavar="AXIS=SIZE", help="Run again at this size, to predict others."
    ),
    size: list[str] = typer.Option(
        [], "--size", metavar="AXIS=SIZE", help="The base size of an axis written {axis}."
    ),
    level: str = typer.Option(
        "operators", metavar="operators|api", help="Operators, or modules and Python functions."
    ),
    trace: Path = typer.Option(
        None, "--from", metavar="TRACE", help="Convert a trace instead of running a script."
    ),
    function: list[str] = typer.Option(
        [], "--function", metavar="MODULE:NAME", help="With --level api: record this function, too."
    ),
) -> int:
    """Record the operators of a training step, phase by phase.

    The phases are forward, backward, optimizer and data.
    """
    from opbench.capture.window import window_of
    from opbench.suites.captured.probing import base_sizes, parse_sizes, words_at

    words = list(words or [])
    if trace is not None:
        from opbench.suites.captured.exchange import convert

        print(convert(trace, output))
        return 0
    if not module and not words:
        raise UserError("name the script to run: opbench capture train.py, or -m MODULE")
    if not module and not Path(words[0]).is_file():
        raise UserError(f"file not found: {words[0]}")
    if level not in LEVELS:
        raise UserError(unknown("level", level, LEVELS))
    if function and level != "api":
        raise UserError("--function needs --level api; at level operators everything is recorded")
    window_of(steps, calls)  # raises before anything runs
    if not module and output.resolve() == Path(words[0]).resolve():
        raise UserError(f"{output} is the script itself: name another file with -o")
    files.check_writable(output)
    given, probes = parse_sizes(size, "--size"), parse_sizes(probe, "--probe")
    sizes = base_sizes(words, given, probes)
    options: dict[str, Any] = {
        "steps": steps,
        "calls": calls,
        "values": values,
        "timing": timing,
        "stop": stop,
        "module": module,
        "level": level,
        "functions": function,
        "source": module or Path(words[0]).name,
    }
    recorded = launch(words_at(words, sizes, {}), {**options, "sizes": sizes, "path": output})
    code, status = int(recorded["code"]), exit_status(int(recorded["code"]))
    if missing := lacking(recorded, steps, calls):
        if not code:
            raise UserError(missing)
        print(f"opbench: {missing}\nopbench: the script {ending(code)}", file=sys.stderr)
        return status
    written = Path(recorded.get("path") or output)
    if written.name != output.name:
        output = output.with_name(written.name)
    if code and not recorded["steps"] and not calls and level == "operators":
        print(died(output, code), file=sys.stderr)
        return status
    if code:
        print(f"opbench: the script {ending(code)}", file=sys.stderr)
    if probes:
        learn(words, sizes, probes, options, output)
    print(summary(output) if level == "operators" else api_summary(output))
    return status


def died(path: Path, code: int) -> str:
    from opbench.capture.reading import read

    count = sum(call.count for call in read(path).calls)
    return (
        f"opbench: the script {ending(code)} before its first optimizer step; "
        f"{path} holds the {plural(count, 'call')} up to there, which are not a step"
    )


def launch(words: list[str], options: dict[str, Any]) -> dict[str, Any]:
    """Run the script in an interpreter of its own, which writes the file; what came of it."""
    path = Path(options["path"]).absolute()
    with children.temporary_folder("opbench-capture-") as folder:
        report = folder / "report.json"
        settings = {k: v for k, v in options.items() if v is not None}
        settings |= {"path": str(path), "report": str(report)}
        command = [sys.executable, "-m", "opbench.capture.launch", json.dumps(settings), *words]
        with children.started(children.program(*command)) as process:
            code = _waited(process)
        try:
            recorded = json.loads(report.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            recorded = {}
    if failure := recorded.get("failure"):
        raise UserError(f"{failure}; name another file with -o")
    return {**recorded, "code": code}


def _waited(process: subprocess.Popen[bytes]) -> int:
    """The script's exit code. Ctrl-C reaches it, too: it may end in its own way, and what was
    recorded is written then."""
    try:
        return process.wait()
    except Terminated:
        raise
    except KeyboardInterrupt:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(INTERRUPT_SECONDS)
        raise


def lacking(recorded: dict[str, Any], steps: str | None, calls: str | None) -> str:
    """Why the script's process wrote no capture; empty where it wrote one."""
    if recorded.get("written"):
        return ""
    if "torch" not in recorded:
        return "the script's process ended before the capture could be written"
    if not recorded["torch"]:
        return "the script never imported torch, so there was nothing to capture"
    seen = plural(recorded["steps"], "optimizer step")
    seen += f" and {plural(recorded['calls'], 'call')} of its model"
    wanted = windowed("step", steps) if steps else windowed("call", calls) if calls else "anything"
    missing = f"the script ended after {seen}, before {wanted} could be captured"
    if recorded.get("graphed"):
        missing += (
            "; a step inside a CUDA graph cannot be recorded: capture one that runs before it"
        )
    return missing


def windowed(unit: str, span: str) -> str:
    """`step 3`, `steps 3-4`."""
    return f"{unit}{'s' if '-' in span else ''} {span}"


def learn(
    words: list[str],
    sizes: dict[str, int],
    probes: dict[str, int],
    options: dict[str, Any],
    output: Path,
) -> None:
    """Capture each probe, and add what depends on its axis to the file."""
    from opbench.capture.reading import read
    from opbench.capture.writing import write
    from opbench.suites.captured.probing import words_at
    from opbench.suites.captured.scale import Unpredictable, combined

    captures = {}
    with children.temporary_folder("opbench-probe-") as folder:
        for axis, size in probes.items():
            path = folder / f"{axis}.jsonl"
            print(f"probing {axis}={size}", file=sys.stderr)
            at = words_at(words, sizes, {axis: size})
            probed = launch(at, {**options, "path": path, "sizes": {**sizes, axis: size}})
            if missing := lacking(probed, options["steps"], options["calls"]):
                raise UserError(missing)
            captures[axis] = (size, read(path))
    try:
        whole = combined(read(output), captures)
    except Unpredictable as error:
        raise UserError(f"{output} holds the base size only: {error}") from None
    write(whole, output)


def api_summary(path: Path) -> str:
    from opbench.capture.reading import read_api
    from opbench.report.units import format_value

    calls = read_api(path)
    every = plural(sum(call.count for call in calls), "call")
    size = format_value(path.stat().st_size, "bytes")
    return (
        f"{path}: {plural(len(calls), 'unique call')} of {every}, {size}. "
        f"Next: opbench show {path} · opbench run {path}"
    )


def summary(path: Path) -> str:
    from opbench.capture.reading import read
    from opbench.report.units import format_value
    from opbench.suites.captured.findings.notes import notes, unit_of

    capture = read(path)
    counts = {
        phase: sum(call.counts.get(phase, 0) for call in capture.calls) // capture.steps
        for phase in capture.phases
    }
    parts = ", ".join(f"{count} {phase}" for phase, count in counts.items())
    size = format_value(path.stat().st_size, "bytes")
    unit = unit_of(capture)
    model = capture.header.get("model") or "the model"
    units = plural(capture.steps, unit) + (f" of {model}" if unit == "call" else "")
    written = (
        f"{path}: {plural(len(capture.calls), 'unique call')}; {sum(counts.values())} per {unit} "
        f"({parts}); {units}, {size}. Next: opbench run {path}"
    )
    return "\n".join([written, *notes(capture)])
