"""How far can this machine be trusted? The harness measures itself.

Pairs of identical statements give its false-alarm rate here; pairs of which one really does more
work (a statement of fifty operator calls against fifty-one is 2 % more) give the smallest slowdown
it can detect. Both go through the same pipeline, policy and verdicts as `opbench ab`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from importlib.util import find_spec

from opbench import frameworks
from opbench.analyse.compare import Comparison, ComparisonRow, compare_pairs
from opbench.case import Case
from opbench.errors import UserError, unknown
from opbench.plan.devices import check_devices, is_cuda
from opbench.plan.groups import PlannedGroup
from opbench.plan.metrics import chosen
from opbench.plan.policy import Adaptive
from opbench.plan.request import Request
from opbench.result import Result
from opbench.running.listener import Listener
from opbench.running.runner import Runner
from opbench.store.records import StoredResult


@dataclass(frozen=True)
class Workload:
    """Small operators, where noise hurts most, and what they need."""

    framework: str
    operators: Mapping[str, str]
    globals: str
    setup: str
    dtype: str = ""
    preload: tuple[str, ...] = ()
    device: str = "cpu"


TORCH = """torch.set_num_threads(1)
torch.manual_seed(seed)
x = torch.randn(64, 64)
w = torch.randn(64, 64)
z = torch.randn(128, 128)"""

#: The cost of a call, of arithmetic, of memory, of views.
OPERATORS = {
    "add": "y = x + w",
    "matmul": "y = z @ z",
    "sum": "y = z.sum()",
    "view": "y = x.view(32, 128).t()",
}

#: For those without torch: the interpreter's own calls, loops, memory and text.
PYTHON = Workload(
    "python",
    {
        "call": "y = twice(7)",
        "sum": "y = sum(numbers)",
        "sort": "y = sorted(shuffled)",
        "join": "y = ','.join(words)",
    },
    globals="import random\n\n\ndef twice(n):\n    return n + n",
    setup="""numbers = list(range(200))
shuffled = random.Random(seed).sample(range(50), 50)
words = [str(n) for n in shuffled]""",
)

#: On a GPU: large enough that the device, not its launches, takes the time.
CUDA_SETUP = """torch.manual_seed(seed)
x = torch.randn(2048, 2048, device="{device}")
w = torch.randn(2048, 2048, device="{device}")
z = torch.randn(1024, 1024, device="{device}")"""

CUDA_OPERATORS = {
    "add": "y = x + w",
    "matmul": "y = z @ z",
    "sum": "y = x.sum()",
    "softmax": "y = torch.softmax(x, -1)",
}

WORKLOADS = {
    "torch": Workload("torch", OPERATORS, "import torch", TORCH, "float32", ("torch",)),
    "python": PYTHON,
}

#: Calls on each side of an identical pair.
CALLS = 20
#: An effect is a fraction of calls with at most this many of them, or as many as it takes.
MOST_CALLS = 100


def workload(framework: str | None = None, device: str = "cpu") -> Workload:
    """That of a framework; without a name torch, or plain Python where torch is not installed."""
    if device != "cpu":
        if framework not in (None, "torch") or not is_cuda(device):
            raise UserError(f"{framework or 'torch'} has no device {device}; leave out --device")
        on_cuda = replace(workload("torch"), operators=CUDA_OPERATORS, device=device)
        return replace(on_cuda, setup=CUDA_SETUP.format(device=device))
    if framework is None:
        return WORKLOADS["torch" if find_spec("torch") else "python"]
    if framework not in WORKLOADS:
        raise UserError(unknown("framework", framework, WORKLOADS))
    if framework == "torch" and not find_spec("torch"):
        raise UserError("torch is not installed here; use python")
    return WORKLOADS[framework]


@dataclass(frozen=True)
class Trial:
    operator: str
    #: Extra work really done by the second side: 0.02 is 2 %.
    effect: float
    row: ComparisonRow
    seconds: float

    @property
    def alarmed(self) -> bool:
        return self.row.verdict in ("slower", "faster")

    @property
    def found(self) -> bool:
        return self.row.verdict == "slower"


@dataclass(frozen=True)
class Tally:
    """How many pairs of one effect were called different (an identical pair) or slower."""

    effect: float
    trials: int
    found: int
    #: 95 % interval of the share that was found.
    low: float
    high: float


@dataclass
class Report:
    framework: str = "torch"
    trials: list[Trial] = field(default_factory=list)

    def of(self, effect: float) -> list[Trial]:
        return [trial for trial in self.trials if trial.effect == effect]

    @property
    def effects(self) -> list[float]:
        return sorted({trial.effect for trial in self.trials})

    @property
    def tallies(self) -> list[Tally]:
        """One per effect, smallest first: that of the false alarms is the first."""
        rows = []
        for effect in self.effects:
            trials = self.of(effect)
            hits = sum(trial.found if effect else trial.alarmed for trial in trials)
            rows.append(Tally(effect, len(trials), hits, *share_interval(hits, len(trials))))
        return rows

    @property
    def unmeasured(self) -> list[Trial]:
        """Pairs that gave no ratio at all; the reason stands in their row."""
        return [trial for trial in self.trials if trial.row.value is None]

    @property
    def detectable(self) -> float:
        """The slowdown that a typical pair shows four times out of five."""
        known = sorted(t.row.detectable for t in self.trials if t.row.detectable is not None)
        return known[len(known) // 2] if known else math.inf

    @property
    def seconds_per_pair(self) -> float:
        return sum(trial.seconds for trial in self.trials) / max(1, len(self.trials))


def pair(
    operator: str, effect: float, number: int, using: Workload = WORKLOADS["torch"]
) -> tuple[Case, Case]:
    """Two sides of which the second does `effect` more work; exactly, by counting calls."""
    extra, calls = calls_for(effect)
    statement = using.operators[operator]
    sides = []
    for side, repeats in (("a", calls), ("b", calls + extra)):
        sides.append(
            Case(
                suite="selftest",
                name=operator,
                stage="forward",
                stmt="\n".join([statement] * repeats),
                setup=using.setup,
                globals=using.globals,
                labels=(("effect", effect), ("pair", number), ("side", side)),
                framework=using.framework,
                dtype=using.dtype,
                preload=using.preload,
                device=using.device,
                sync=frameworks.get("torch").sync(using.device) if using.device != "cpu" else "",
            )
        )
    return sides[0], sides[1]


def calls_for(effect: float) -> tuple[int, int]:
    """Extra calls, and calls of the base: 2 % is 1 on top of 50, 40 % is 2 on top of 5."""
    if not effect:
        return 0, CALLS
    share = Fraction(effect).limit_denominator(max(MOST_CALLS, math.ceil(1 / effect)))
    return share.numerator, share.denominator


def selftest(
    pairs: int = 10,
    effects: Sequence[float] = (0.0, 0.02, 0.05),
    *,
    seconds: float = 10.0,
    precision: float = 0.005,
    framework: str | None = None,
    device: str = "cpu",
    operators: Sequence[str] = (),
    listener: Listener | None = None,
    seed: int | None = None,
) -> Report:
    """`pairs` pairs for each operator and effect, each given at most `seconds`.

    `framework` is `torch` or `python`, the best there is by default; `operators` are all of its
    own unless some are named. On a GPU the time that it works is judged.
    """
    using = workload(framework, device)
    plan = [
        (operator, effect, number)
        for number in range(pairs)
        for effect in dict.fromkeys(effects)
        for operator in operators or using.operators
    ]
    groups = tuple(PlannedGroup(pair(*trial, using)) for trial in plan)
    policy = Adaptive(precision=precision, max_time=seconds / 2)
    metric = chosen(("time",), device=device)[-1]
    request = Request(groups, policy, (metric,), seed=seed)
    check_devices(request.cases, request.metrics)
    runner = Runner(request, lambda _case, _result, _again: None, listener)
    runner.run()
    results = {case.hash: (case, result) for case, result in runner.results}
    report = Report(using.framework)
    for (operator, effect, _), group in zip(plan, groups, strict=True):
        sides = [results[case.hash] for case in group.cases]
        comparison = judged(sides[0], sides[1])
        spent = sum(float(result.detail.get("seconds") or 0.0) for _, result in sides)
        report.trials.append(Trial(operator, effect, comparison.rows[0], spent))
    return report


def judged(base: tuple[Case, Result], new: tuple[Case, Result]) -> Comparison:
    """One pair on its own: no other questions share its error rate."""
    sides = [StoredResult("selftest", *side) for side in (base, new)]
    key = (base[0].name, base[1].metric)
    return compare_pairs([(key, sides[0], sides[1])], names=("a", "b"))


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
