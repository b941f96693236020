"""What per-sample gradients cost: each layer in each mode, as a factor over the layer as it is.

Two questions are answered for every result. How many times what the same layer costs unwrapped?
And, for the DP versions, how many times what the torch.nn layer costs that they stand in for? The
first is measured turn by turn and has a narrow interval; in the second the sides were measured one
after the other, and the interval is as wide as that deserves.

The memory that is compared is `max_memory`, the peak of everything held (inputs, layer, labels,
gradients), as in the published study, less what was held before anything began.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from opbench.case import Case
from opbench.result import Result, calm
from opbench.stats.estimate import LAYOUT, Placed
from opbench.stats.ratio import ratio
from opbench.store.records import StoredResult
from opbench.suites.layers.names import BASELINE, COUNTERPART, LAYERS, MODES

MAX_MEMORY = "max_memory"


@dataclass(frozen=True)
class Factor:
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Row:
    """One layer in one mode at one batch size: one metric of it, and its factors."""

    layer: str
    mode: str
    batch_size: int
    stage: str
    device: str
    metric: str
    unit: str
    outcome: str = "ok"
    reason: str = ""
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    #: Over the same layer in mode `baseline`.
    factor: Factor | None = None
    #: Over the torch.nn layer, unwrapped: the same as `factor` for layers of torch.nn.
    factor_nn: Factor | None = None
    #: For memory: bytes of each component.
    components: dict[str, int] = field(default_factory=dict)

    @property
    def family(self) -> str:
        """The torch.nn layer that this one is, or stands in for."""
        return COUNTERPART.get(self.layer, self.layer)

    @property
    def variant(self) -> str:
        """`hooks`, `dp`, `dp hooks`: what distinguishes it from that layer as it is."""
        parts = ["dp"] if self.layer in COUNTERPART else []
        if self.mode != BASELINE:
            parts.append(self.mode)
        return " ".join(parts) or BASELINE

    @property
    def place(self) -> tuple[int, int, int, str]:
        """Where it stands in a table."""
        return (LAYERS.index(self.layer), MODES.index(self.mode), self.batch_size, self.metric)


@dataclass(frozen=True)
class _Seen:
    case: Case
    metric: str
    unit: str
    result: Result
    #: (start, session, value) of each sample to judge by.
    samples: list[Placed]


def rows(stored: Iterable[StoredResult]) -> list[Row]:
    """Every result of the suite `layers`, with its factors, in the order of a table."""
    seen = [each for one in stored if one.case.suite == "layers" for each in _views(one)]
    by_key = {_key(each, each.case.name, str(each.case.axes["mode"])): each for each in seen}
    found = []
    for each in seen:
        layer, result = each.case.name, each.result
        own = by_key.get(_key(each, layer, BASELINE))
        nn = by_key.get(_key(each, COUNTERPART.get(layer, layer), BASELINE))
        values = [value for _, _, value in each.samples]
        exact = each.metric == MAX_MEMORY
        found.append(
            Row(
                layer=layer,
                mode=str(each.case.axes["mode"]),
                batch_size=int(each.case.axes["batch_size"] or 0),
                stage=each.case.stage,
                device=each.case.device,
                metric=each.metric,
                unit=each.unit,
                outcome=result.outcome,
                reason=result.reason,
                estimate=max(values, default=None) if exact else result.estimate,
                low=min(values, default=None) if exact else result.low,
                high=max(values, default=None) if exact else result.high,
                factor=_factor(own, each),
                factor_nn=_factor(nn, each),
                components=result.detail.get("components", {}) if exact else {},
            )
        )
    return sorted(found, key=lambda row: row.place)


def _views(stored: StoredResult) -> list[_Seen]:
    """A result as it is, and a memory result also as the peak of everything held."""
    case, result = stored.case, stored.result
    placed = [(s.start, s.session, s.value) for s in calm(result.samples)]
    found = [_Seen(case, result.metric, result.unit, result, placed)]
    if result.metric == "memory":
        peak = float(result.detail.get(MAX_MEMORY, 0))
        peak -= result.detail.get("components", {}).get("offset", 0)
        known: list[Placed] = [(0, 0, peak)] if result.ok else []
        found.append(_Seen(case, MAX_MEMORY, result.unit, result, known))
    return found


def _key(each: _Seen, layer: str, mode: str) -> tuple[object, ...]:
    case, result = each.case, each.result
    rest = tuple(pair for pair in case.labels if pair[0] != "mode")
    place = (case.stage, case.device, case.threads, result.environment, result.policy)
    return (layer, mode, each.metric, rest, *place)


def _factor(base: _Seen | None, each: _Seen) -> Factor | None:
    if base is None or base.case is each.case or not (base.result.ok and each.result.ok):
        return None
    if each.unit == "bytes":
        # Counted, not sampled: the factor of two counts has no interval.
        over, value = (max((v for _, _, v in side.samples), default=0.0) for side in (base, each))
        return Factor(value / over, value / over, value / over) if over else None
    together = bool(each.result.group) and each.result.group == base.result.group
    layout = max(float(side.result.detail.get("layout") or LAYOUT) for side in (base, each))
    found = ratio(base.samples, each.samples, None if together else "separate", layout)
    return None if found is None else Factor(found.value, found.low, found.high)


def metrics_of(found: Sequence[Row]) -> list[str]:
    """The metrics whose factors a report shows: the times that were measured, and the peak."""
    times = dict.fromkeys(row.metric for row in found if row.unit == "s")
    peak = [MAX_MEMORY] if any(row.metric == MAX_MEMORY for row in found) else []
    return [*times, *peak]
