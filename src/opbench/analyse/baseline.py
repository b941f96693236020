"""Factors over a baseline within one run: how many times as long as `mode=baseline`?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from opbench.case import Case
from opbench.plan.groups import Baseline, baseline_of, groups
from opbench.result import Result, calm
from opbench.stats.estimate import Placed
from opbench.stats.ratio import ratio

Factor = tuple[float, float, float]


def factors(
    results: Sequence[tuple[Case, Result]], baseline: Baseline, metric: str = "time"
) -> dict[tuple[str, str], Factor]:
    """(value, low, high) by case hash and environment, for every case but the baselines."""
    found: dict[tuple[str, str], Factor] = {}
    for environment in {result.environment for _, result in results}:
        of_metric = {
            case.hash: result
            for case, result in results
            if result.metric == metric and result.environment == environment and result.ok
        }
        cases = [case for case in _distinct(results) if case.hash in of_metric]
        if not any(baseline.axis in case.axes for case in cases):
            continue
        for group in groups(cases, baseline) if _has(cases, baseline) else []:
            base = baseline_of(group.cases, baseline)
            for case in group.cases:
                if base is None or case is base:
                    continue
                factor = ratio(_placed(of_metric[base.hash]), _placed(of_metric[case.hash]))
                if factor is not None:
                    found[(case.hash, environment)] = (factor.value, factor.low, factor.high)
    return found


def _has(cases: Iterable[Case], baseline: Baseline) -> bool:
    return baseline_of(list(cases), baseline) is not None


def _distinct(results: Iterable[tuple[Case, Result]]) -> list[Case]:
    return list({case.hash: case for case, _ in results}.values())


def _placed(result: Result) -> list[Placed]:
    return [(sample.start, sample.session, sample.value) for sample in calm(result.samples)]
