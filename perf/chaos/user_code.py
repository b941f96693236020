"""Benchmarks that do what no benchmark should: each is an outcome, and its neighbours are ok."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from pathlib import Path

from perf.chaos.commands import MARKER
from perf.chaos.workers import quiet

RUN_SECONDS = 300.0
#: After which an answer is a hang.
HANG = "4s"

FAILED = ("failed",)
CRASHED = ("crashed", "failed")
TIMEOUT = ("timeout", *CRASHED)
ANY = ("ok", *TIMEOUT, "out_of_memory")

DEEP = """
def f():
    try:
        f()
    finally:
        f()
f()
"""
FORGED = """
import os
for number in range(3, 64):
    try:
        os.write(number, b'{"ok": true, "ns": 1}\\n' * 9)
    except OSError:
        pass
"""
DAEMON = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(600)
    os._exit(0)
"""

#: What a statement does, the outcomes that may come of it, and the statement.
FAULTS: dict[str, tuple[tuple[str, ...], str]] = {
    "raises": (FAILED, "raise ValueError('no')"),
    "raises with odd texts": (FAILED, "raise type('\\x1b[2J', (Exception,), {})('\\x1b]0;x\\x07')"),
    "exits": (FAILED, "import sys; sys.exit(0)"),
    "exits at once": (CRASHED, "import os; os._exit(0)"),
    "aborts": (CRASHED, "import os; os.abort()"),
    "segfaults": (CRASHED, "import ctypes; ctypes.string_at(0)"),
    "kills itself": (CRASHED, "import os; os.kill(os.getpid(), 9)"),
    "kills its group": (CRASHED, "import os; os.killpg(0, 9)"),
    "kills its parent": (CRASHED, "import os; os.kill(os.getppid(), 9)"),
    "stops itself": (TIMEOUT, "import os; os.kill(os.getpid(), 19)"),
    "stops its parent": (ANY, "import os; os.kill(os.getppid(), 19)"),
    "hangs": (TIMEOUT, "import time; time.sleep(600)"),
    "hangs in C": (TIMEOUT, "import ctypes; ctypes.CDLL(None).pause()"),
    "recurses": (FAILED, "f = lambda: f()\nf()"),
    "recurses in the handler": (ANY, DEEP),
    "eats memory": (("out_of_memory", *CRASHED), "x = [bytearray(1 << 30) for _ in range(400)]"),
    "closes every descriptor": (ANY, "import os; os.closerange(0, 4096)"),
    "writes to every descriptor": (ANY, FORGED),
    "prints a lot": (("ok",), "print('x' * 1000000)"),
    "leaves a daemon": (("ok",), DAEMON),
    "changes its folder": (("ok",), "import os, tempfile; os.chdir(tempfile.gettempdir())"),
    "deletes builtins": (ANY, "import builtins; del builtins.len; del builtins.print"),
    "breaks json": (ANY, "import json; json.dumps = json.loads = None"),
    "stops the clock": (ANY, "import time; time.perf_counter_ns = lambda: 0"),
}


def faults_of_code(folder: Path) -> list[str]:
    """One run of all of them, each followed by an innocent one; what is wrong after it."""
    from opbench.store import Store

    mark = uuid.uuid4().hex
    (folder / "faults.json").write_text(
        json.dumps(
            {
                "benchmark": [
                    {"name": f"{kind}{number}", "stmt": code}
                    for number, (_, code) in enumerate(FAULTS.values())
                    for kind, code in (("fault", code), ("innocent", "sum(range(100))"))
                ]
            }
        )
    )
    words = (
        "faults.json",
        "--num-runs",
        "1",
        "--num-repeats",
        "2",
        "--timeout",
        HANG,
    )
    done = subprocess.run(
        [sys.executable, "-m", "opbench", "run", *words],
        cwd=folder,
        env={**os.environ, MARKER: mark},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=RUN_SECONDS,
        check=False,
    )
    said = done.stdout + done.stderr
    faults = [] if done.returncode == 1 else [f"exit code {done.returncode}: {said[-300:]}"]
    faults += ["a control character"] if "\x1b" in said or "\x07" in said else []
    with Store.open(folder / ".opbench" / "results.db", create=False) as store:
        found = {each.case.name: each.result for each in store.results()}
    for number, (what, (allowed, _)) in enumerate(FAULTS.items()):
        result, innocent = found.get(f"fault{number}"), found.get(f"innocent{number}")
        if result is None or result.outcome not in allowed:
            faults.append(f"{what}: {result and result.outcome_text}")
        elif result.ok and not 0 <= (result.estimate or 0) < RUN_SECONDS:
            faults.append(f"{what}: {result.estimate} s")
        if innocent is None or not innocent.ok:
            faults.append(f"after {what}: {innocent and innocent.outcome_text}")
    return faults + quiet(mark, said)
