"""Many damaged inputs, each read in this process: one line of refusal or a value, nothing else."""

from __future__ import annotations

import hashlib
import random
import resource
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perf.fuzz.mutation import CANARY_CODE
from perf.fuzz.readers import Reader, readers

#: Seconds of processor time that one input may take, and memory that all of them together may add.
MOST_SECONDS = 2.0
MOST_BYTES = 512 << 20

#: What no reader does: start a program, or load code.
FORBIDDEN = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "pty.spawn")

_events: list[str] = []
_watching = False


def _watch(event: str, _arguments: Any) -> None:
    if _watching and event in FORBIDDEN:
        _events.append(event)


@dataclass(frozen=True)
class Crash:
    reader: str
    #: The exception and the lines of ours it passed through; equal for equal causes.
    signature: str
    content: bytes


@dataclass
class Findings:
    inputs: int = 0
    refused: int = 0
    crashes: dict[str, Crash] = field(default_factory=dict)
    slow: list[tuple[str, float, bytes]] = field(default_factory=list)
    executed: list[str] = field(default_factory=list)
    longest: float = 0.0
    #: How much more memory the process needed at its peak than before the first input.
    bytes: int = 0
    seconds: float = 0.0


def campaign(
    count: int, seed: int, seconds: float, only: Sequence[str] = (), keep: Path | None = None
) -> Findings:
    """Read `count` inputs, or as many as fit in so many seconds. Inputs that crash a reader are
    written to the folder `keep`."""
    global _watching
    rng = random.Random(seed)
    found = Findings()
    sys.addaudithook(_watch)
    with tempfile.TemporaryDirectory(prefix="opbench-fuzz-") as name:
        folder = Path(name)
        known = readers(folder)
        chosen = [known[name] for name in only or known]
        weights = [reader.share for reader in chosen]
        canary = folder / "executed"
        code = CANARY_CODE.format(path=str(canary)).encode()
        for reader in chosen:  # imports, caches
            _read(reader, reader.seeds[0], folder, Findings())
        before, began = _peak(), time.monotonic()
        _events.clear()
        _watching = True
        try:
            while found.inputs < count and time.monotonic() - began < seconds:
                (reader,) = rng.choices(chosen, weights)
                content = reader.made(rng)
                if rng.random() < 0.05:
                    content = content.replace(b"pass", code).replace(b"float32", code)
                _read(reader, content, folder, found)
        finally:
            _watching = False
        found.seconds = time.monotonic() - began
        found.bytes = _peak() - before
        found.executed = [*_events, *(["the canary"] if canary.exists() else [])]
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        slow = (
            Crash(reader, f"slow {spent:.1f}", content) for reader, spent, content in found.slow
        )
        for crash in (*found.crashes.values(), *slow):
            write_case(crash, keep)
    return found


def write_case(crash: Crash, folder: Path) -> Path:
    digest = hashlib.sha256(crash.content).hexdigest()[:12]
    path = folder / f"{crash.reader}-{digest}"
    path.write_bytes(crash.content)
    return path


def read_case(path: Path, folder: Path) -> Findings:
    """One kept input again; its name begins with that of its reader."""
    found = Findings()
    reader = readers(folder)[path.name.partition("-")[0]]
    _read(reader, path.read_bytes(), folder, found)
    return found


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _read(reader: Reader, content: bytes, folder: Path, found: Findings) -> None:
    from opbench.errors import UserError

    path = folder / f"input{reader.suffix}"
    for old in folder.glob("input*"):
        old.unlink()
    path.write_bytes(content)
    found.inputs += 1
    began = time.process_time()  # not the wait for a processor that others use
    try:
        reader.read(path)
    except UserError as error:
        found.refused += 1
        if len(str(error)) > 20_000:
            _crashed(reader, f"a refusal of {len(str(error))} characters", content, found)
    except (KeyboardInterrupt, MemoryError):
        raise
    except BaseException as error:
        _crashed(reader, signature(error), content, found)
    spent = time.process_time() - began
    found.longest = max(found.longest, spent)
    if spent > MOST_SECONDS:
        found.slow.append((reader.name, spent, content))


def _crashed(reader: Reader, text: str, content: bytes, found: Findings) -> None:
    known = found.crashes.get(text)
    if known is None or len(content) < len(known.content):  # the shortest is the easiest to read
        found.crashes[text] = Crash(reader.name, text, content)


def signature(error: BaseException) -> str:
    """`OverflowError at reading.py:180 < options.py:233`."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f"{Path(f.filename).name}:{f.lineno}" for f in frames if "opbench" in f.filename]
    return f"{type(error).__name__} at {' < '.join(reversed(ours[-3:]))}"
