"""`run --cont --store X` executes what a stored request names. In a store from somebody else that
is somebody else's choice, so the person who continues it is asked."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from opbench.errors import UserError, first_of, printable


def ask_before_continuing(options: dict[str, Any], targets: Sequence[str], yes: bool) -> None:
    """Raises unless the person knows what the run executes: it is their folder's own store, they
    name the files themselves, or they agree."""
    where = options.get("store")
    if yes or not options.get("cont") or where is None or _is_default(where):
        return
    from opbench.store import Store

    with Store.open(where, create=False) as store:
        run = store.find_run(options.get("name") or "last")
        shown = store.url if store.path is None else str(store.path)
    executed = [each for each in executes(run.request) if each not in targets]
    if not executed:
        return
    what = f"run {run.id} of {shown} executes {first_of(map(printable, executed), 20)}"
    if not (sys.stdin and sys.stdin.isatty()):
        raise UserError(f"{what}; add --yes to let it")
    print(f"opbench: {what}", file=sys.stderr)
    try:
        answer = input("Continue? [y/N] ")
    except EOFError:
        answer = ""
    if answer.strip().lower() not in ("y", "yes"):
        raise UserError("not continued; nothing was executed")


def _is_default(where: str) -> bool:
    from opbench.store.connection.address import parse_address

    given, own = parse_address(where), parse_address(None)
    if given.path is None or own.path is None:
        return given.url == own.url
    return given.path.resolve() == own.path.resolve()


def executes(request: dict[str, Any]) -> list[str]:
    """The files, modules, interpreters and clusters that a stored request names, suites of ours
    apart; of the options as they will be read, however they are written there."""
    from opbench.define import suites
    from opbench.plan.options import read

    keys = ("targets", "imports", "environments", "on")
    options = read({key: request[key] for key in keys if key in request})
    named = [str(each) for key in ("targets", "imports") for each in options.get(key, ())]
    found = [each for each in named if each not in suites.named()]
    found += [each for each in options.get("environments", ()) if "/" in each]
    found += [f"on {options['on']}"] if options.get("on") else []
    return list(dict.fromkeys(found))
