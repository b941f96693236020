"""What is true of a whole run, in one line; the marks of its cases then tell them apart.

On a shared machine nearly every case is disturbed and wider than asked. A mark on each of them
would teach a reader to ignore marks: what most cases of a run have is said once, about the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

from opbench.report.units import format_half, format_percent
from opbench.result import Result
from opbench.stats.distributions import t_quantile
from opbench.stats.pair import drift_of, is_sampled

#: Fewer cases have nothing in common to speak of.
LEAST_CASES = 4
#: What this share of the cases has is the run's.
MOST = 0.5
#: An interval this many times as wide as the median one is the case's own.
STICKS_OUT = 3.0
#: Drift is named where it makes at least this share of a typical interval.
DRIFT_SHARE = 0.5
#: Half of a typical interval beyond which its cause is named.
WIDE = 0.05

#: What is said of the cases that have a warning, and what to do about it.
SAID = {
    "contended": "were disturbed by other programs",
    "imprecise": "have wider intervals than asked",
    "few-starts": "rest on fewer than three worker starts",
    "unsettled": "were slower at first",
    "two-groups": "have worker starts in two groups",
    "two-speeds": "have blocks at two speeds",
}
SIDE_BY_SIDE = "compare side by side (opbench run --baseline, opbench ab)"
#: Where all of them are compared so already.
LONGER = "raise --max-time-per-case"
ADVICE = {
    "contended": "close other programs (opbench doctor)",
    "imprecise": SIDE_BY_SIDE,
    "few-starts": "",  # which option limits them is known where the warning was written
    "unsettled": "raise --max-time-per-case",
    "two-groups": "close other programs (opbench doctor)",
    "two-speeds": "close other programs (opbench doctor)",
}
#: Of runs stored before: always about the whole run.
DRIFT = "drift"


@dataclass(frozen=True)
class RunNote:
    #: What is so, and what to do about it; empty where there is nothing to say.
    facts: str = ""
    advice: str = ""
    #: Codes of the warnings that the run has, not its cases.
    codes: frozenset[str] = frozenset()
    #: Half-width beyond which a case is imprecise in its own right.
    widest: float = 0.0

    @property
    def line(self) -> str:
        return f"This run: {self.facts}. To narrow intervals: {self.advice}." if self.facts else ""

    def own(self, result: Result) -> Result:
        """The result, with only those warnings that tell it apart from the others of its run."""
        wide = (result.half_width or 0.0) > self.widest
        kept = tuple(
            warning
            for warning in result.warnings
            if warning.code not in self.codes or (warning.code == "imprecise" and wide)
        )
        return result if kept == result.warnings else replace(result, warnings=kept)


def run_note(results: Sequence[Result]) -> RunNote:
    """Of all results of a run."""
    sampled = [result for result in results if result.ok and is_sampled(result)]
    cases = _codes_by_case(sampled)
    counts = {code: sum(code in found for found in cases.values()) for code in SAID}
    total = len(cases)
    if total < LEAST_CASES:
        counts = {}
    counts = {code: count for code, count in counts.items() if count >= MOST * total}
    # What is said of wide intervals is said of those that are; one metric may be wide, another not.
    wide = sampled
    if "imprecise" in counts:
        wide = [each for each in sampled if any(w.code == "imprecise" for w in each.warnings)]
    # What was measured once, such as the parts of a step, has no interval.
    widths = [result.half_width for result in wide if result.half_width]
    typical = median(widths or [0.0])
    # Where the drift makes intervals wide, every row has it, and none can say so.
    drifted = any(DRIFT in found for found in cases.values()) or (
        total >= LEAST_CASES and typical > WIDE and _drift_matters(wide, typical)
    )
    if not counts and not drifted:
        return RunNote()
    # In several environments or on several nodes, a case has several rows.
    what = "cases" if total == len({case for case, _, _ in cases}) else "rows"
    parts = [f"{count} of {total} {what} {SAID[code]}" for code, count in counts.items()]
    if "imprecise" in counts or drifted:
        parts.append(_scatter(wide, typical))
    advice = list(dict.fromkeys(_advice(code, sampled) for code in counts)) or [SIDE_BY_SIDE]
    if all(each.group for each in wide):
        advice = list(dict.fromkeys(LONGER if a == SIDE_BY_SIDE else a for a in advice))
    # Of rows that the drift made wide, it would mark those that were a little wider before.
    codes = frozenset({*counts, DRIFT, *(("imprecise",) if drifted else ())})
    return RunNote("; ".join(parts), "; ".join(advice), codes, STICKS_OUT * typical)


def _codes_by_case(sampled: Sequence[Result]) -> dict[tuple[str, str, str], set[str]]:
    """A case may have several metrics, environments and nodes; it is one row for each place."""
    found: dict[tuple[str, str, str], set[str]] = {}
    for result in sampled:
        place = (result.case_hash, result.environment, result.node)
        found.setdefault(place, set()).update(warning.code for warning in result.warnings)
    return found


def _advice(code: str, sampled: Sequence[Result]) -> str:
    """Where none is written here, what the warning of a case itself ends with."""
    texts = (w.text for each in sampled for w in each.warnings if w.code == code)
    return ADVICE[code] or next(texts, "").rpartition("; ")[2]


def _scatter(wide: Sequence[Result], typical: float) -> str:
    """How wide the intervals are, and what of the machine makes them so."""
    causes = []
    # A single start shows nothing; what its interval assumes is not what was seen.
    several = [each.detail for each in wide if each.detail.get("starts") != 1]
    between, within = (
        median(float(each.get(name) or 0.0) for each in several) if several else 0.0
        for name in ("between", "within")
    )
    # Otherwise each start is uncertain by itself: its calls take too long, or were too few.
    if between > within:
        causes.append(f"worker starts of the same code differ by {format_percent(between)}")
    if _drift_matters(wide, typical):
        causes.append(f"the machine's speed drifted by {format_percent(_drift(wide))}")
    why = f", as {' and '.join(causes)}" if causes else ""
    return f"a typical interval is ±{format_half(typical)}{why}"


def _drift(sampled: Sequence[Result]) -> float:
    return max(float(each.detail.get("drift") or 0.0) for each in sampled)


def _drift_matters(sampled: Sequence[Result], typical: float) -> bool:
    """Two visits of the control show a drift badly: it then makes an interval wider than it is."""
    seen = [drift_of(each) for each in sampled if each.detail.get("drift")]
    reach = max((t_quantile(each.freedom) * each.sd for each in seen), default=0.0)
    return reach > DRIFT_SHARE * typical
