"""How far can this machine be trusted? The harness measures itself.

Pairs of identical statements give its false-alarm rate here; pairs of which one really does more
work (a statement of fifty operator calls against fifty-one is 2 % more) give the smallest slowdown
it would catch. Both go through the same pipeline, policy and verdicts as `opbench ab`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from opbench.analyse.compare import Comparison, Row, compare_pairs
from opbench.case import Case
from opbench.result import Result
from opbench.run.listener import Listener
from opbench.run.plan import PlannedGroup
from opbench.run.policy import Adaptive
from opbench.run.runner import Request, Runner
from opbench.store.records import StoredResult

TORCH = """torch.set_num_threads(1)
torch.manual_seed(seed)
x = torch.randn(64, 64)
w = torch.randn(64, 64)
z = torch.randn(128, 128)"""

#: Small operators, where noise hurts most: the cost of a call, of arithmetic, of memory, of views.
OPERATORS = {
    "add": "y = x + w",
    "matmul": "y = z @ z",
    "sum": "y = z.sum()",
    "view": "y = x.view(32, 128).t()",
}


@dataclass(frozen=True)
class Trial:
    operator: str
    #: Extra work really done by the second side: 0.02 is 2 %.
    effect: float
    row: Row
    seconds: float

    @property
    def alarmed(self) -> bool:
        return self.row.verdict in ("slower", "faster")

    @property
    def found(self) -> bool:
        return self.row.verdict == "slower"


@dataclass
class Report:
    trials: list[Trial] = field(default_factory=list)

    def of(self, effect: float) -> list[Trial]:
        return [trial for trial in self.trials if trial.effect == effect]

    @property
    def effects(self) -> list[float]:
        return sorted({trial.effect for trial in self.trials})

    @property
    def detectable(self) -> float:
        """The slowdown that a typical pair would show four times out of five."""
        known = sorted(t.row.detectable for t in self.trials if t.row.detectable is not None)
        return known[len(known) // 2] if known else math.inf

    @property
    def seconds_per_pair(self) -> float:
        return sum(trial.seconds for trial in self.trials) / max(1, len(self.trials))


def pair(operator: str, effect: float, number: int) -> tuple[Case, Case]:
    """Two sides of which the second does `effect` more work; exactly, by counting calls."""
    calls = round(1 / effect) if effect else 20
    extra = 1 if effect else 0
    statement = OPERATORS[operator]
    sides = []
    for side, repeats in (("a", calls), ("b", calls + extra)):
        sides.append(
            Case(
                suite="selftest",
                name=operator,
                stage="forward",
                stmt="\n".join([statement] * repeats),
                setup=TORCH,
                globals="import torch",
                labels=(("effect", effect), ("pair", number), ("side", side)),
                framework="torch",
                dtype="float32",
                preload=("torch",),
            )
        )
    return sides[0], sides[1]


def selftest(
    pairs: int = 10,
    effects: Sequence[float] = (0.0, 0.02, 0.05),
    *,
    seconds: float = 10.0,
    precision: float = 0.005,
    operators: Sequence[str] = tuple(OPERATORS),
    listener: Listener | None = None,
    seed: int | None = None,
) -> Report:
    """`pairs` pairs for each operator and effect, each given at most `seconds`."""
    plan = [
        (operator, effect, number)
        for number in range(pairs)
        for effect in effects
        for operator in operators
    ]
    groups = tuple(PlannedGroup(pair(*trial)) for trial in plan)
    policy = Adaptive(precision=precision, max_time=seconds / 2)
    runner = Runner(
        Request(groups, policy, seed=seed), lambda _case, _result, _again: None, listener
    )
    runner.run()
    results = {case.hash: (case, result) for case, result in runner.results}
    report = Report()
    for (operator, effect, _), group in zip(plan, groups, strict=True):
        sides = [results[case.hash] for case in group.cases]
        comparison = judged(sides[0], sides[1])
        spent = sum(float(result.detail.get("seconds") or 0.0) for _, result in sides)
        report.trials.append(Trial(operator, effect, comparison.rows[0], spent))
    return report


def judged(base: tuple[Case, Result], new: tuple[Case, Result]) -> Comparison:
    """One pair on its own: no other questions share its error rate."""
    one, other = (StoredResult("selftest", case, result) for case, result in (base, new))
    key = (base[0].name, base[1].metric)
    return compare_pairs([(key, one, other)], names=("a", "b"))


def share_interval(found: int, trials: int) -> tuple[float, float]:
    """95 % interval of a share (Wilson 1927): 0 of 40 is [0, 8.8 %], not certainty."""
    if not trials:
        return 0.0, 1.0
    z = 1.96
    share = found / trials
    middle = (share + z * z / (2 * trials)) / (1 + z * z / trials)
    reach = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials**2))
    reach /= 1 + z * z / trials
    return max(0.0, middle - reach), min(1.0, middle + reach)
