"""Whether a run takes its workers from the pool of starts that outlives commands."""

from __future__ import annotations

import os

from opbench.plan.request import Request
from opbench.running.listener import Listener
from opbench.workers.shared import PoolError, Supervisor


def supervisor_for(request: Request, listener: Listener) -> Supervisor | None:
    """The supervisor of the pool; None where the run starts its own workers."""
    if not request.pool:
        return None
    if os.environ.get("CI", "").lower() not in ("", "0", "false"):
        listener.notice("CI is set, so the pool is not used: workers start fresh")
        return None
    try:
        return Supervisor()
    except PoolError as error:
        listener.notice(f"{error}; workers start fresh")
        return None
