"""What a reader of a capture has to know before it is replayed."""

from __future__ import annotations

from opbench.capture.calls import NOT_THE_MODEL, Capture
from opbench.errors import first_of, plural
from opbench.report.units import format_value

#: Captured and measured time of the same calls, further apart than this: one was under load.
APART = 2.0
#: Seconds beyond its own time that a call may take while it is recorded: its code and its data are
#: in no cache by then. 2 to 15 µs were seen on a quiet machine, on average over a step.
RECORDING = 50e-6


def unit_of(capture: Capture) -> str:
    """What the script was recorded by: `step` of an optimizer, or `call` of a model."""
    window = str(capture.header.get("window"))
    phases = {*capture.phases, *(capture.header.get("phase_seconds") or ())}
    called = window.startswith("calls") or "optimizer" not in phases
    return "call" if called and not window.startswith("steps") else "step"


def why_longer(capture: Capture, excess: float) -> str:
    """Why calls took longer while they were captured, each by `excess` seconds on average."""
    if excess < RECORDING:
        return "calls this short take longer while they are recorded; a replay says what they take"
    unit = unit_of(capture)
    return (
        "the capture was made under load, so its times mean little; capture again, or several "
        f"{unit}s (--{unit}s 2-4)"
    )


def notes(capture: Capture) -> list[str]:
    """One sentence each."""
    others = [
        f"{plural(count, 'call')} of {name}"
        for name, (count, reason) in capture.skipped.items()
        if reason == NOT_THE_MODEL
    ]
    lines = []
    if others:
        model = capture.header.get("model") or "the model"
        lines.append(f"Not recorded: {first_of(others)}; {model} has the most parameters.")
    if capture.header.get("only_step"):
        lines.append(
            "The script took a single step, which also pays for what is set up once: let it take a "
            "second one."
        )
    unit = unit_of(capture)
    plain = sum((capture.header.get("phase_seconds") or {}).values())
    captured = sum(call.time for call in capture.calls) / capture.steps
    if plain and not capture.device_busy and captured > APART * plain:
        calls = sum(call.count for call in capture.calls) / capture.steps
        why = why_longer(capture, (captured - plain) / calls)
        lines.append(
            f"The operators took {format_value(captured, 's')} of the captured {unit}, but a "
            f"{unit} that was not recorded {format_value(plain, 's')}: {why}."
        )
    return lines
