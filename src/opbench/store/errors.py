"""What went wrong with a store, in one line for the person who asked for it."""

from __future__ import annotations

from opbench.errors import UserError


class StoreError(UserError):
    """The store could not be opened, read or written."""


class Unreachable(StoreError):
    """The server of the store is away, and has been for longer than anybody waits."""


class NotFound(StoreError):
    """The store is in order, but has nothing of that name."""
