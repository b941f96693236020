"""What per-sample gradients cost: each layer in each mode, as a factor over the layer as it is.

Two questions are answered for every result. How many times what the same layer costs unwrapped?
And, for the DP versions, how many times what the torch.nn layer costs that they stand in for? Both
are measured turn by turn, a layer together with what stands in for it, and have narrow intervals.

The memory that is compared is `max_memory`, the peak of everything held (inputs, layer, labels,
gradients), as in the published study, less what was held before anything began. The metric
`memory` of a run is less: the peak of a step above the lowest level held in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from opbench.report.naming import counted
from opbench.stats.pair import compare_results
from opbench.store.records import StoredResult
from opbench.suites.layers.names import BASELINE, LAYERS, MODES, NN, counterpart
from opbench.suites.layers.notes import Notes, size_of

MAX_MEMORY = "max_memory"


@dataclass(frozen=True)
class Factor:
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class LayerRow:
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
    #: What was built and what went in: `torch.nn.Linear(in_features=512, …) on 16×512`.
    size: str = ""
    #: What distinguishes it from another row of its place: a seed, a size, a run.
    note: str = ""

    @property
    def label(self) -> str:
        """The layer as tables name it."""
        return f"{self.layer} ({self.note})" if self.note else self.layer

    @property
    def family(self) -> str:
        """The torch.nn layer that this one is, or stands in for; of a user's pair, its name."""
        return counterpart(self.layer).removesuffix(NN)

    @property
    def panel(self) -> str:
        """What charts draw together: a layer and what stands in for it, at one size."""
        return f"{self.family} ({self.note})" if self.note else self.family

    @property
    def stands_in(self) -> bool:
        """Whether it stands in for a layer of torch.nn."""
        return counterpart(self.layer) != self.layer

    @property
    def variant(self) -> str:
        """`hooks`, `dp`, `own hooks`: what distinguishes it from that layer as it is."""
        parts = [] if not self.stands_in else ["dp"] if self.layer in LAYERS else ["own"]
        if self.mode != BASELINE:
            parts.append(self.mode)
        return " ".join(parts) or BASELINE

    @property
    def place(self) -> tuple[Any, ...]:
        """Its position in a table."""
        layer, mode = rank(LAYERS, self.layer), rank(MODES, self.mode)
        return (layer, counted(self.label), mode, self.batch_size, self.metric, self.stage)


def rank(names: Sequence[str], name: str) -> int:
    """The position among names that are known; the others come after them."""
    return names.index(name) if name in names else len(names)


def rows(stored: Iterable[StoredResult]) -> list[LayerRow]:
    """Every result of the suite `layers`, with its factors, in the order of a table."""
    # A user's own file may be called layers.py, and its benchmarks have other axes.
    layers = (
        result
        for result in stored
        if result.case.suite == "layers" and {"mode", "batch_size"} <= result.case.axes.keys()
    )
    seen = [view for result in layers for view in _views(result)]
    by_key = {_key(each, each.case.name, str(each.case.axes["mode"])): each for each in seen}
    notes = Notes.of(seen)
    table = []
    for each in seen:
        case, result, layer = each.case, each.result, each.case.name
        own = by_key.get(_key(each, layer, BASELINE))
        nn = by_key.get(_key(each, counterpart(layer), BASELINE))
        is_peak = result.metric == MAX_MEMORY
        table.append(
            LayerRow(
                layer=layer,
                mode=str(case.axes["mode"]),
                batch_size=int(case.axes["batch_size"] or 0),
                stage=case.stage,
                device=case.device,
                metric=result.metric,
                unit=result.unit,
                outcome=result.outcome,
                reason=result.reason,
                estimate=result.estimate,
                low=result.low,
                high=result.high,
                factor=_factor(own, each),
                factor_nn=_factor(nn, each),
                components=result.detail.get("components", {}) if is_peak else {},
                size=size_of(each),
                note=notes.note(each),
            )
        )
    return sorted(table, key=lambda row: row.place)


def _views(stored: StoredResult) -> Iterator[StoredResult]:
    """A result as it is, and a memory result also as the peak of everything held."""
    yield stored
    result = stored.result
    if result.metric == "memory":
        offset = result.detail.get("components", {}).get("offset", 0)
        peak = float(result.detail.get(MAX_MEMORY, 0)) - offset if result.ok else None
        held = replace(result, metric=MAX_MEMORY, estimate=peak, low=peak, high=peak, samples=())
        yield replace(stored, result=held)


def _key(each: StoredResult, layer: str, mode: str) -> tuple[object, ...]:
    case, result = each.case, each.result
    rest = tuple(pair for pair in case.labels if pair[0] != "mode")
    place = (case.stage, case.device, case.threads, case.seed, result.environment, result.policy)
    return (each.run_id, layer, mode, result.metric, rest, *place)


def _factor(base: StoredResult | None, each: StoredResult) -> Factor | None:
    if base is None or base.case is each.case:
        return None
    pair = compare_results(base.result, each.result, same_run=base.run_id == each.run_id)
    if pair.value is None or pair.low is None or pair.high is None:
        return None
    return Factor(pair.value, pair.low, pair.high)


def metrics_of(rows: Sequence[LayerRow]) -> list[str]:
    """The metrics whose factors a report shows: the times that were measured, and the peak."""
    times = dict.fromkeys(row.metric for row in rows if row.unit == "s")
    peak = [MAX_MEMORY] if any(row.metric == MAX_MEMORY for row in rows) else []
    return [*times, *peak]
