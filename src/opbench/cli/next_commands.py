"""The last line of a run: the commands that go on from here."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any


def next_line(commands: Sequence[Sequence[str]], options: Mapping[str, Any]) -> str:
    """`Next: opbench report … · opbench show …`, each with the store that the run was given."""
    store = store_words(options)
    return "Next: " + " · ".join(shlex.join(["opbench", *each, *store]) for each in commands)


def store_words(options: Mapping[str, Any]) -> list[str]:
    """`--store URL` as it may be shown; nothing where the usual one was used."""
    from opbench.store.connection.masking import without_password

    return ["--store", str(without_password(options["store"]))] if "store" in options else []
