"""The JSON that PyTorch's `benchmarks/instruction_counts/applications/ci.py` writes.

Instructions are those of a hundred calls and times are seconds of one, as there. The key of a case
is its label, what was derived of it, and its number of threads; cases are in its order too, because
`md5` is a hash over the keys. `version` is 0 for PyTorch's own set, and -1 for any other. Blocks
that other programs disturbed are left out.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any, TextIO

from opbench.case import Case
from opbench.stats.contention import quiet
from opbench.store.records import RunRecord, StoredResult

NEEDS_SAMPLES = True
HOLDS = "only times and instructions with at least one undisturbed sample"

#: Calls whose instructions are one count.
CALLS = 100
#: Of the keys of its standard set, in order: what `version` 0 means.
STANDARD = "4d55e8abf881ad38bb617a96714c1296"

RUNTIMES = {"eager": "Eager", "torchscript": "TorchScript", "compile": "torch.compile"}
MODES = {"forward": "Forward", "forward_backward": "Forward + Backward"}
LANGUAGES = {"python": "Python", "cpp": "C++"}


def write(
    results: Sequence[StoredResult], runs: Sequence[RunRecord], stream: TextIO
) -> list[StoredResult]:
    held = []
    values: dict[str, dict[str, list[float]]] = {}
    for stored in sorted(results, key=_in_order(results)):
        entry = values.setdefault(_key(stored.case), {"times": [], "counts": []})
        samples = [sample.value for sample in quiet(stored.result.samples)]
        if samples and stored.result.metric in ("time", "instructions"):
            held.append(stored)
        if stored.result.metric == "time":
            entry["times"] += samples
        elif stored.result.metric == "instructions":
            entry["counts"] += [round(value * CALLS) for value in samples]
    md5 = hashlib.md5("".join(values).encode(), usedforsecurity=False).hexdigest()
    begun = [run.created for run in runs]
    ended = [stored.result.created for stored in results]
    record: dict[str, Any] = {
        "version": 0 if md5 == STANDARD else -1,
        "md5": md5,
        "start_time": int(min(begun, default=0.0)),
        "end_time": int(max(ended, default=0.0)),
        "values": values,
    }
    json.dump(record, stream)
    stream.write("\n")
    return held


def _label(case: Case) -> tuple[str, ...]:
    return case.label or tuple(case.name.split("."))


def _key(case: Case) -> str:
    given = case.stage == "call"  # one statement, of which nothing was derived
    derived = {
        "runtime": "" if given else RUNTIMES.get(case.runtime, case.runtime),
        "autograd": "" if given else MODES.get(case.stage, case.stage),
        "language": LANGUAGES.get(case.language, case.language),
    }
    return json.dumps({"label": _label(case), "autolabels": derived, "num_threads": case.threads})


def _in_order(results: Sequence[StoredResult]) -> Any:
    """Labels as they came; of one label, runtimes before modes, modes before languages."""
    labels = {label: n for n, label in enumerate(dict.fromkeys(_label(s.case) for s in results))}
    runtimes, modes, languages = map(list, (RUNTIMES, MODES, LANGUAGES))

    def place(stored: StoredResult) -> tuple[int, ...]:
        case = stored.case
        found = ((case.runtime, runtimes), (case.stage, modes), (case.language, languages))
        parts = [names.index(name) if name in names else len(names) for name, names in found]
        return (labels[_label(case)], *parts, case.threads)

    return place
