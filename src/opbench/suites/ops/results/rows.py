"""Results of operators as rows: one for each operator at its inputs; nothing overwrites another."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from opbench import frameworks
from opbench.case import label_text
from opbench.result import Result
from opbench.stats.quantiles import Quantiles, quantiles
from opbench.store.records import StoredResult
from opbench.suites.ops.catalogue import find
from opbench.suites.ops.programs import caveat

SUITE = "ops"

#: Labels with their own column; the others are inputs given by the user.
KNOWN = ("framework", "size", "dtype", "form", "scaled")


@dataclass(frozen=True)
class OperatorRow:
    operator: str
    category: str
    framework: str
    size: str
    dtype: str
    stage: str
    device: str
    threads: int
    #: For a fused operator: `fused`, or the part.
    form: str
    #: `1/4 (memory)` where the size was made smaller.
    scaled: str
    #: What differs from the inputs of the size class, as `lhs=512x512`.
    inputs: str
    metric: str
    unit: str
    outcome: str
    reason: str
    estimate: float | None
    low: float | None
    high: float | None
    quantiles: Quantiles | None
    #: Operations and bytes of one forward call, by the catalogue's formula.
    flops: float
    bytes: float
    case_hash: str
    #: Whether several operators stand for one that the framework lacks, and what else to know.
    emulated: bool = False
    note: str = ""
    #: What is true of all operators of the framework on this dtype.
    caveat: str = ""
    #: The run it comes from: two runs may have measured the same case.
    run: str = ""
    #: The result it shows.
    result: Result | None = None

    @property
    def ok(self) -> bool:
        return self.outcome == "ok" and self.estimate is not None

    @property
    def place(self) -> tuple[str, ...]:
        """What two frameworks must share for their times to stand side by side."""
        return (
            self.operator, self.form, self.size, self.dtype, self.stage, self.device,
            str(self.threads), self.scaled, self.inputs, self.metric,
        )  # fmt: skip


def rows(results: Iterable[StoredResult]) -> list[OperatorRow]:
    """Those of the suite `ops`, in the order in which they were measured."""
    return [_row(stored) for stored in results if stored.case.suite == SUITE]


def _row(stored: StoredResult) -> OperatorRow:
    case, result = stored.case, stored.result
    entry = find(case.name)
    call = entry.call(case.framework) if entry else None
    labels = {axis: label_text(value) for axis, value in case.labels}
    given = ", ".join(f"{axis}={text}" for axis, text in labels.items() if axis not in KNOWN)
    return OperatorRow(
        operator=case.name,
        category=entry.category if entry else "",
        framework=case.framework,
        size=labels.get("size", ""),
        dtype=labels.get("dtype", case.dtype),
        stage=case.stage,
        device=case.device,
        threads=case.threads,
        form=labels.get("form", ""),
        scaled=labels.get("scaled", ""),
        inputs=given,
        metric=result.metric,
        unit=result.unit,
        outcome=result.outcome,
        reason=result.reason,
        estimate=result.estimate,
        low=result.low,
        high=result.high,
        quantiles=quantiles([sample.value for sample in result.samples]) if result.ok else None,
        flops=case.work.flops if case.work else 0.0,
        bytes=case.work.bytes if case.work else 0.0,
        case_hash=result.case_hash,
        emulated=bool(call and call.emulated),
        note=call.note if call else "",
        caveat=caveat(entry, frameworks.get(case.framework), case.dtype, case.device)
        if entry and call
        else "",
        run=stored.run_id,
        result=result,
    )
