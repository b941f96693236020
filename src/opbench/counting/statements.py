"""C++ statements are compiled before anything is measured, by the interpreter they will run in."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from opbench import children
from opbench.case import Case
from opbench.envs.environments import Environment
from opbench.worker import cache
from opbench.worker.cpp.source import key_of
from opbench.workers.session import SessionEnded

#: torch's headers alone take half a minute per unit on a busy machine.
TIMEOUT = 1800.0


@dataclass(frozen=True)
class Compiled:
    #: Key of a statement → the library that holds it.
    libraries: dict[str, str] = field(default_factory=dict)
    #: Hash of a case → why its statement could not be compiled.
    failures: dict[str, SessionEnded] = field(default_factory=dict)


def compiled(cases: Iterable[Case], environment: Environment) -> Compiled:
    """Compile what is not in the cache. A statement that fails does not affect the others."""
    wanted = {case.hash: case.to_dict() for case in cases if case.language == "cpp"}
    found = Compiled()
    if not wanted:
        return found
    try:
        with children.temporary_folder("work-", Path(cache.folder("cpp"))) as work:
            process = children.run(
                children.module(environment.python, "cpp.build"),
                input=json.dumps({"cases": list(wanted.values()), "work": str(work)}),
                timeout=TIMEOUT,
                env={**os.environ, **environment.variables()},
                start_new_session=True,  # Ctrl-C is ours to handle
            )
        answers = json.loads(process.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        why = error if not isinstance(error, ValueError) else process.stderr.strip()[-300:]
        ended = SessionEnded("failed", f"compiling C++ failed: {why}")
        return Compiled(failures=dict.fromkeys(wanted, ended))
    for case_hash, case in wanted.items():
        answer = answers[key_of(case)]
        if "library" in answer:
            found.libraries[key_of(case)] = answer["library"]
        else:
            found.failures[case_hash] = SessionEnded(
                answer["outcome"], answer["reason"], output=answer.get("output", "")
            )
    return found
