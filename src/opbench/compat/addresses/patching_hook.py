"""The older tool's names, so that a script needs only another import line.

    from opbench.patching_hook import init, hook
    nn.modules.module.register_module_forward_pre_hook(hook)
    init()

`init` records every module, every torch function and every tensor method, not a list of them. As
the older tool did, it writes `/tmp/picklefile`: here a pickle of plain values only (lists, texts,
numbers), one dictionary per unique call. Beside it stands the file that opbench itself reads. New
scripts say `opbench.record_api.start()` instead.
"""

from __future__ import annotations

import atexit
import json
import pickle
import sys
from pathlib import Path
from typing import Any

from opbench.capture.api.recorder import ApiRecorder
from opbench.capture.record import record_api
from opbench.files import writing

__all__ = ["add_wrapper", "hook", "init"]

DEFAULT = "/tmp/picklefile"


def init(path: str | Path = DEFAULT) -> None:
    """Record from here on; the files are written when the program ends."""
    if ApiRecorder.current is None:
        pickled = Path(path).absolute()
        recorder = record_api.start(pickled.with_name(f"{pickled.name}.jsonl"))
        # Run before the recorder's own: the last one registered is the first to run.
        atexit.register(write_pickle, recorder, pickled)


def write_pickle(recorder: ApiRecorder, path: Path) -> None:
    record_api.stop()
    if not recorder.written:
        return
    lines = recorder.path.read_text(encoding="utf-8").splitlines()
    calls = [json.loads(line) for line in lines[1:]]
    with writing(path) as partial:
        partial.write_bytes(pickle.dumps(calls))
    print(
        f"opbench: wrote {path} ({len(calls)} unique calls, as plain values) and {recorder.path}; "
        f"next: opbench run {recorder.path}",
        file=sys.stderr,
    )


def hook(module: Any, input: Any) -> None:
    """A forward pre-hook common to all modules. After `init` it has nothing left to do: modules
    are seen with their keyword arguments there, which such a hook is not given."""
    if ApiRecorder.current is None:
        init()
        assert ApiRecorder.current is not None
        log = ApiRecorder.current.log
        key = log.module_key(module, tuple(input), {})
        log.end(key, None, log.path_of(module))


def add_wrapper(mod: Any, name: str) -> None:
    """Record `mod.name` as well: any function that torch does not know of. Names that are not
    there are passed over, as the older tool did: a list of them serves several versions."""
    if ApiRecorder.current is None:
        init()
    assert ApiRecorder.current is not None
    function = getattr(mod, name, None)
    if function is None:
        owner = getattr(mod, "__name__", type(mod).__name__)
        print(f"opbench: {owner} has no {name}, so no call of it is recorded", file=sys.stderr)
    else:
        ApiRecorder.current.watch(function)
