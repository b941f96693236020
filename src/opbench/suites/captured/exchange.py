"""`opbench capture --from TRACE -o FILE`: a trace as a capture, or a capture as Chakra's JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from opbench import files
from opbench.capture.calls import Capture
from opbench.capture.reading import level_of, read
from opbench.capture.writing import write, write_text
from opbench.errors import UserError, plural, printable

#: Operators that could not be taken, named one by one.
NAMED = 8
#: Bytes: a minute of a large model, which a person traces and converts on purpose.
LARGEST_TRACE = 1 << 30


def convert(source: Path, target: Path) -> str:
    """Write the file; gives what became of it, for people."""
    if level_of(source) == "operators":
        return export(read(source), source, target)
    capture = trace_of(source)
    if not capture.calls:
        raise UserError(f"{source} holds no operator with its shapes; record with shapes")
    write(capture, target)
    count = sum(call.count for call in capture.calls)
    lost = sum(count for count, _ in capture.skipped.values())
    from opbench.capture.exchange.traced import NO_VALUES

    lines = [
        f"{target}: {plural(count, 'call')} of {len(capture.calls)} kinds from {source}; "
        f"{lost} could not be taken; {NO_VALUES}. Next: opbench run {target}"
    ]
    for name, (times, reason) in list(capture.skipped.items())[:NAMED]:
        lines.append(
            f"  not taken: {printable(name)}, {plural(times, 'call')}: {printable(reason)}"
        )
    return "\n".join(lines)


def export(capture: Capture, source: Path, target: Path) -> str:
    from opbench.capture.exchange.chakra import execution_trace

    if target.suffix != ".json":
        raise UserError(f"a capture is exported to Chakra as .json, not {target.name}")
    if not capture.order:
        raise UserError(f"{source} does not hold the order of its calls, which a trace needs")
    write_text([json.dumps(execution_trace(capture))], target)
    return f"{target}: {plural(len(capture.order), 'call')} as a Chakra execution trace"


def trace_of(source: Path) -> Capture:
    from opbench.capture.exchange import chrome_trace, execution_trace

    content = loaded(source)
    if execution_trace.is_execution_trace(content):
        return execution_trace.read_execution_trace(content, source.stem, source.name)
    if chrome_trace.is_chrome_trace(content):
        return chrome_trace.read_chrome_trace(content, source.stem, source.name)
    raise UserError(
        f"{source} is neither an ExecutionTrace (Chakra), a Chrome trace of torch.profiler, nor a "
        "capture"
    )


def loaded(source: Path) -> Any:
    try:
        return json.loads(files.content(source, LARGEST_TRACE))
    except UserError:
        raise
    except (ValueError, RecursionError):
        raise UserError(f"{source} is not JSON, so not a trace") from None
