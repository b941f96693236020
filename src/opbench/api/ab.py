"""A against B: two environments or two commits, alive at once and interleaved block by block."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from opbench.analyse.compare import Comparison, compare
from opbench.api.progress import python_progress
from opbench.api.request import build
from opbench.api.run import command, uninterrupted
from opbench.api.signature import takes_options
from opbench.case import Case
from opbench.define.reading import fraction
from opbench.envs.environments import Environment, find
from opbench.envs.worktrees import environment_for, resolve, target_in
from opbench.errors import UserError
from opbench.plan.devices import check_devices
from opbench.plan.groups import PlannedGroup
from opbench.plan.options import RunOptions, asked
from opbench.plan.request import Request
from opbench.running.listener import Listener
from opbench.running.recording import Finished, Recording
from opbench.store.records import StoredResult

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from opbench.api.keywords import AbKeywords
    from opbench.api.views import Compared

#: A comparison is sharper than an estimate: a ratio is known to half a percent where a time is
#: known to two. Half of the ten seconds that a case may take goes to each side.
DEFAULTS: dict[str, Any] = {"precision": 0.005, "max_time_per_case": 5.0}


FULL_HASH = re.compile("[0-9a-f]{40}")


class Sides(NamedTuple):
    """What `opbench.ab` returns; shows itself as the comparison."""

    finished: Finished
    comparison: Comparison

    def compare(self) -> Compared:
        """With `.frame()` and `.chart()`."""
        from opbench.api.views import Compared

        return Compared((self.comparison,))

    def __repr__(self) -> str:
        return repr(self.compare())

    def _repr_html_(self) -> str:
        return self.compare()._repr_html_()


@takes_options("ab", **DEFAULTS)
def ab(
    *targets: str | Path,
    environments: Sequence[str] = (),
    commits: Sequence[str] = (),
    margin: float | str = 0.03,
    listener: Listener | None = None,
    **options: Unpack[AbKeywords],
) -> Sides:
    """Measure the same cases on both sides of one machine, in one run, and compare them.

    The sides are two `environments`, or two `commits` of the project of the current folder; cases
    whose ratio lies within `margin` of 1 with its whole interval are called the same.
    """
    if not targets:
        raise UserError("ab() needs a target: a suite or a file")
    given = asked({**options, "targets": targets})
    kept = RunOptions(**given)
    sides = _sides(environments, commits, kept.on)
    requests = []
    for side in sides:
        here = [target_in(side.path[0], each) if commits else each for each in kept.targets]
        requests.append(build({**given, "targets": here}, (side,), DEFAULTS))
    request = crossed([request for request, _ in requests], sides)
    check_devices(request.cases, request.metrics, here=not kept.on)
    settled = replace(requests[0][1], targets=kept.targets)
    names = shown(commits) if commits else (sides[0].name, sides[1].name)
    recording = Recording.begun(
        kept.store if kept.save else None,
        kept.save,
        {
            **settled.to_dict(),
            "environments": list(environments),
            "commits": list(commits),
            "sides": [[side.name, name] for side, name in zip(sides, names)],
        },
        command(),
    )
    with python_progress() if listener is None else nullcontext(listener) as shown_by:
        called = {side.name: name for side, name in zip(sides, names)}
        finished = recording.measure(request, shown_by, sides=called)
    if listener is None:  # the command has more to say
        uninterrupted(finished)
    base, new = (
        [s for s in stored(finished) if s.result.environment == side.name] for side in sides
    )
    first, second = ([case.id for case in asked.cases] for asked, _ in requests)
    comparison = replace(
        compare(base, new, names=names, margin=fraction(margin)),
        only_base=tuple(id for id in first if id not in second),
        only_new=tuple(id for id in second if id not in first),
    )
    return Sides(finished, comparison)


def shown(commits: Sequence[str]) -> tuple[str, str]:
    """As they were typed; only the forty digits of a script are cut."""
    base, new = (rev[:12] if FULL_HASH.fullmatch(rev) else rev for rev in commits)
    return base, new if new != base else f"{new} (again)"


def stored(finished: Finished) -> list[StoredResult]:
    return [StoredResult(finished.id, case, result) for case, result in finished.results]


def crossed(requests: Sequence[Request], sides: Sequence[Environment]) -> Request:
    """One request whose groups hold a case of each side; what one side lacks runs on neither."""
    first, second = ({case.id: case for case in request.cases} for request in requests)
    shared = [id for id in first if id in second]
    if not shared:
        raise UserError(f"{sides[0].name} and {sides[1].name} have no case in common")
    groups = tuple(
        PlannedGroup((first[id], _apart(first[id], second[id])), tuple(sides)) for id in shared
    )
    return replace(requests[0], groups=groups, environments=tuple(sides))


def _apart(first: Case, second: Case) -> Case:
    """The case of the second side; the first's own object where they are equal."""
    return first if first.hash == second.hash and first.module == second.module else second


def _sides(environments: Sequence[str], commits: Sequence[str], on: str) -> list[Environment]:
    for name, given in (("environments", environments), ("commits", commits)):
        if isinstance(given, str):
            raise UserError(f"{name}: expected two, such as {name}=({given!r}, …), found {given!r}")
    if on and commits:
        raise UserError("--on: commits are folders of this machine; leave out --on, or give --env")
    if len(commits) == 2 and not environments:
        for rev in commits:
            resolve(rev)  # a mistake in the second is said before the first is checked out
        sides = [environment_for(rev) for rev in commits]
    elif len(environments) == 2 and not commits:
        sides = [find(name) for name in environments]
    else:
        raise UserError("give two sides: environments=(A, B), or commits=(REV1, REV2)")
    if sides[0] == sides[1]:
        if on:
            raise UserError(f"--on: give two different environments, not {sides[0].name} twice")
        # The same interpreter twice is an A/A test: allowed, and distinguished by name.
        sides[1] = replace(sides[1], name=f"{sides[1].name} (again)")
    return sides
