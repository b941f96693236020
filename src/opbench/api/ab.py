"""A against B: two environments or two commits, alive at once and interleaved block by block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from opbench.analyse.compare import Comparison, compare
from opbench.api.run import Options, command, prepare
from opbench.case import Case
from opbench.envs.environments import Environment, find
from opbench.envs.worktrees import environment_for, resolve, target_in
from opbench.errors import UserError
from opbench.plan.groups import PlannedGroup
from opbench.plan.request import Request
from opbench.running.listener import Listener
from opbench.running.recording import Finished, Recording
from opbench.store.records import StoredResult

#: A comparison is sharper than an estimate: a ratio is known to half a percent where a time is
#: known to two. Half of the ten seconds that a case may take goes to each side.
PRECISION = 0.005
SECONDS_PER_SIDE = 5.0


def ab(
    targets: Sequence[str],
    *,
    environments: Sequence[str] = (),
    commits: Sequence[str] = (),
    options: Mapping[str, Any] | None = None,
    store: str | Path | None = None,
    save: bool = True,
    listener: Listener | None = None,
    margin: float = 0.03,
) -> tuple[Finished, Comparison]:
    """Measure the same cases on both sides of one machine, in one run, and compare them."""
    given: dict[str, Any] = {
        "precision": PRECISION,
        "max_time_per_case": SECONDS_PER_SIDE,
        **{key: value for key, value in (options or {}).items() if value not in (None, (), {})},
    }
    sides = _sides(environments, commits)
    requests = []
    for side in sides:
        here = [target_in(side.path[0], target) if commits else target for target in targets]
        requests.append(prepare({**given, "targets": tuple(here)}, (side,)))
    request = crossed([request for request, _ in requests], sides)
    settled: Options = replace(requests[0][1], targets=tuple(targets))
    recording = Recording.begun(
        store if save else None,
        save,
        {**settled.to_dict(), "environments": list(environments), "commits": list(commits)},
        command(),
    )
    finished = recording.measure(request, listener or Listener())
    base, new = (
        [s for s in stored(finished) if s.result.environment == side.name] for side in sides
    )
    names = (sides[0].name, sides[1].name)
    first, second = ([case.id for case in asked.cases] for asked, _ in requests)
    return finished, replace(
        compare(base, new, names=names, margin=margin),
        only_base=tuple(id for id in first if id not in second),
        only_new=tuple(id for id in second if id not in first),
    )


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


def _sides(environments: Sequence[str], commits: Sequence[str]) -> list[Environment]:
    if len(commits) == 2 and not environments:
        for rev in commits:
            resolve(rev)  # a mistake in the second is said before the first is checked out
        sides = [environment_for(rev) for rev in commits]
    elif len(environments) == 2 and not commits:
        sides = [find(name) for name in environments]
    else:
        raise UserError("give two sides: --env A --env B, or --commit REV1 --commit REV2")
    if sides[0] == sides[1]:
        # The same interpreter twice is an A/A test: allowed, and told apart by name.
        sides[1] = replace(sides[1], name=f"{sides[1].name} (again)")
    return sides
