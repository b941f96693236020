"""Options → `Request`: the one place where they become cases, groups and a policy."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from opbench.case import Case
from opbench.errors import UserError
from opbench.plan.defaults import project_options
from opbench.plan.groups import Baseline, PlannedGroup, groups
from opbench.plan.options import RunOptions, asked, read
from opbench.plan.request import Request

if TYPE_CHECKING:
    from opbench.envs.environments import Environment
    from opbench.fleet.options import Fleet


def build(
    given: Mapping[str, Any],
    environments: Sequence[Environment] = (),
    defaults: Mapping[str, Any] | None = None,
    cases: Sequence[Case] = (),
) -> tuple[Request, RunOptions]:
    """Check and expand what was asked for; every mistake of the user's is found here.

    `environments` stand for those that `given` names. Users' files are read in the first.
    `defaults` stand for those of the suites, `cases` made in Python for what targets expand to.
    """
    from opbench.define import suites
    from opbench.define.suite import Targets
    from opbench.define.targets import resolve
    from opbench.envs.environments import current
    from opbench.plan.metrics import chosen

    given = read(given)
    places = tuple(environments) or _places(given.get("environments", ()))
    first = places[0] if places else current()
    targets = Targets()
    if not cases:
        targets = resolve(given.get("targets", ()), first.python, first.variables())
    # A run file speaks where the person who runs it did not, the project where neither did, a suite
    # where nobody did. A run that is continued has settled all of that.
    wished = {**asked(targets.options), **given}
    habits = {} if given.get("cont") else project_options()
    suggested = {**read(targets.suggested), **read(defaults or {})}
    options = RunOptions(**{**suggested, **habits, **wished})
    measured = chosen(options.metrics, options.clock, options.device or "cpu")
    options = replace(options, metrics=measured, clock="")
    cases = cases or suites.cases(targets.definitions, options)
    baseline = Baseline.parse(options.baseline) if options.baseline else None
    if baseline is not None and "baseline" not in wished and not baseline.among(cases):
        options, baseline = replace(options, baseline=None), None
    # A limit that somebody asked for is one.
    limited = "max_time_per_case" in {**habits, **wished}
    planned = groups(cases, baseline, suites.family)
    request = Request(
        groups=tuple(timed(planned, {} if limited else targets.time_factors)),
        policy=options.policy,
        metrics=options.metrics,
        environments=places or _places(options.environments) or (current(),),
        budget=options.budget,
        cpus=_available(options),
        pool=options.pool,
        jobs=options.jobs,
        number=options.number,
        repeats=options.repeats,
        seed=options.seed,
        fleet=_fleet(options),
    )
    return request, options


def timed(
    planned: Iterable[PlannedGroup], factors: Mapping[tuple[str, str], float]
) -> Iterator[PlannedGroup]:
    """The groups, those given more time whose benchmark asks for it."""
    for group in planned:
        first = group.cases[0]
        factor = factors.get((first.suite, first.name), group.time_factor)
        yield replace(group, time_factor=factor)


def _places(names: Sequence[str]) -> tuple[Environment, ...]:
    """The environments of those names, each once."""
    from opbench.envs.environments import find

    return tuple(map(find, dict.fromkeys(names)))


def _available(options: RunOptions) -> tuple[int, ...]:
    """The CPUs to pin to; those of a cluster's nodes are not known here."""
    usable = os.sched_getaffinity(0)
    missing = [cpu for cpu in options.cpus if cpu not in usable]
    if missing and not options.on:
        have = ", ".join(map(str, sorted(usable)))
        raise UserError(f"--cpus: CPU {missing[0]} is not available here; choose from: {have}")
    return options.cpus


def _fleet(options: RunOptions) -> Fleet | None:
    """The cluster that was asked for, checked as far as it can be without it."""
    if options.on and options.pool:
        raise UserError("--pool keeps workers on this machine; leave it out with --on")
    if options.on:
        from opbench.fleet.options import Fleet

        return Fleet.of(
            options.on, options.slots, options.retries, options.replicate_on, options.require
        )
    for name in ("slots", "retries", "require", "replicate_on"):
        if getattr(options, name) != getattr(RunOptions, name):
            flag = name.replace("_", "-")
            raise UserError(f"--{flag} is for a cluster; name one with --on")
    return None
