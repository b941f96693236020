"""A server that is away for a while: it is restarted, its network is cut, a backend is killed.

What is to be stored waits in the run, which goes on where it stopped once the server is back.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

from sqlalchemy.exc import DBAPIError, OperationalError

from opbench.store.connection.server import refusal
from opbench.store.errors import StoreError, Unreachable

T = TypeVar("T")

#: A restart takes seconds, a failover less than a minute; a server that is away for longer needs a
#: person, and so does the run.
OUTAGE_SECONDS = 60.0
#: Seconds before each new try; the last one repeats.
WAITS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.0)

#: SQLSTATEs of a server that goes away, is not there yet, or has no connection to spare.
PASSING = ("57P01", "57P02", "57P03", "53300")


def is_outage(error: BaseException | None) -> bool:
    """Whether what the database said will pass, and not a refusal."""
    if not isinstance(error, DBAPIError):
        return False
    if error.connection_invalidated:
        return True
    state = getattr(error.orig, "sqlstate", None)
    if state:
        return state in PASSING or state.startswith("08")
    if not isinstance(error, OperationalError):
        return False
    said = str(error.orig).lower()
    if any(passing in said for passing in ("starting up", "shutting down", "too many clients")):
        return True
    refused = refusal(str(error.orig), "") or ""
    away = ("no PostgreSQL server answers", "no host of that name", "cannot connect")
    return any(text in refused for text in away)


class Outages:
    """Tries again what a server did not answer."""

    def __init__(self, place: str, seconds: float = OUTAGE_SECONDS) -> None:
        self.place = place
        #: None left: the server stayed away, or whoever runs us does not want to wait.
        self.seconds = seconds
        #: Hears, once for each outage, that one has begun.
        self.notice: Callable[[str], Any] | None = None

    def through(self, step: Callable[[], T]) -> T:
        """What a step gives that may be done twice: its answer may be what was lost."""
        began = time.monotonic()
        waits = iter(WAITS)
        wait = 0.0
        while True:
            try:
                return step()
            except StoreError as error:
                if not is_outage(error.__cause__):
                    raise
                away = time.monotonic() - began
                if away >= self.seconds:
                    self.seconds = 0.0
                    for_long = f" for {away:.0f} s" if away >= 1 else ""
                    raise Unreachable(
                        f"the store {self.place} did not answer{for_long}; results finished before "
                        "this are safe"
                    ) from error
                if not wait and self.notice is not None:
                    self.notice(
                        f"the store {self.place} does not answer; trying again for "
                        f"{self.seconds:.0f} s, nothing is lost meanwhile"
                    )
            wait = next(waits, WAITS[-1])
            time.sleep(wait)
