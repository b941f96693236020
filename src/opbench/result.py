"""A result: samples of one metric of one case in one run, or the outcome that prevented them.

Raw samples are kept, a failure is a result with its reason, and warnings travel inside the
result instead of being printed where they arise.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

#: ok            samples were taken
#: failed        the code under test raised, or called sys.exit
#: crashed       its process died; `reason` names the signal
#: timeout       it did not answer in time and was killed
#: out_of_memory it exceeded its limit, or the kernel's OOM killer ended it
#: unsupported   the framework cannot do this; `reason` quotes it
#: mismatch      the output differs from the reference, so its time means nothing
OUTCOMES = ("ok", "failed", "crashed", "timeout", "out_of_memory", "unsupported", "mismatch")

#: What a case wrote before it failed, by the key in its result's detail: Python's traceback, and
#: the end of what its process printed.
LAST_WORDS = ("traceback", "output")


@dataclass(frozen=True)
class Metric:
    """A metric describes itself, so that no table or page needs to know the list of them."""

    name: str
    unit: str  # "s", "bytes", "instructions", "count", "J"
    description: str
    #: Sampled metrics are noisy and taken block by block; the others are near-deterministic.
    sampled: bool = False
    #: Of a metric that is not sampled: from so many worker starts, whose mean is the result.
    starts: int = 1
    #: A program that workers must run under for this metric: `callgrind`, or none.
    tool: str = ""
    #: A sampled metric in whose children this one is taken too, when both are asked for: a block
    #: of the one, a block of the other. Starting a child on a GPU costs a second.
    measured_with: str = ""
    #: Results that come with it and say the same less exactly: shown, and compared only alone.
    uncompared: tuple[str, ...] = ()
    #: The kind of device that it measures; empty for any.
    device: str = ""


@dataclass(frozen=True)
class Sample:
    """One block of `n` calls, reduced to one value per call, with the noise observed during it."""

    value: float
    #: Which worker start it came from: the unit of replication.
    start: int = 0
    #: Which child of that worker.
    session: int = 0
    #: Position in the run's interleaved order: neighbours can be paired.
    order: int = 0
    n: int = 1
    wall_ns: int = 0
    cpu_ns: int = 0
    #: Involuntary context switches during the block.
    switches: int = 0
    contended: bool = False
    #: How long its threads waited, together, for cores that other programs had.
    queued_ns: int = 0


@dataclass(frozen=True)
class Warning:
    """Something a reader must know about a number, and what to do about it."""

    code: str
    text: str


#: Case hash, metric, place, policy.
Key = tuple[str, str, str, str]


def result_key(
    case_hash: str, metric: str, environment: str, fingerprint: str, policy: str, node: str = ""
) -> Key:
    place = f"{environment}:{fingerprint}{f'@{node}' if node else ''}"
    return (case_hash, metric, place, policy)


@dataclass(frozen=True)
class Result:
    case_hash: str
    metric: str
    unit: str
    outcome: str = "ok"
    #: For an outcome other than ok: why, in one line.
    reason: str = ""
    #: Best estimate of the value of one call, and its 95 % interval.
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    samples: tuple[Sample, ...] = ()
    warnings: tuple[Warning, ...] = ()
    #: What else the metric reports: components, functions, the timing mode of the stage.
    detail: dict[str, Any] = field(default_factory=dict)
    #: Name of the environment (`current`, `mxnet`) and fingerprint of what was found in it.
    environment: str = "current"
    fingerprint: str = ""
    #: The sampling policy in canonical text: results of different policies have different keys.
    policy: str = ""
    #: Results with the same group had their blocks interleaved with each other in one run.
    group: str = ""
    created: float = 0.0
    #: The node of a fleet it was measured on; empty for a run on one machine.
    node: str = ""

    @property
    def ok(self) -> bool:
        return self.outcome == "ok"

    @property
    def failed(self) -> bool:
        """Something went wrong; what a framework cannot do is no failure."""
        return self.outcome not in ("ok", "unsupported")

    @property
    def half_width(self) -> float | None:
        """Half the interval, relative to the estimate: 0.02 reads as ±2 %."""
        if self.estimate is None or self.low is None or self.high is None or not self.estimate:
            return None
        return (self.high - self.low) / 2 / abs(self.estimate)

    @property
    def outcome_text(self) -> str:
        """`crashed SIGSEGV`, `unsupported: needs CUDA`, or plain `ok`."""
        if self.ok or not self.reason:
            return self.outcome
        glue = " " if self.outcome == "crashed" else ": "
        return f"{self.outcome}{glue}{self.reason}"

    def key(self) -> Key:
        """What makes a result unique within a run.

        The environment is in it by name and by content: two environments may be built alike.
        """
        return result_key(
            self.case_hash,
            self.metric,
            self.environment,
            self.fingerprint,
            self.policy,
            self.node,
        )

    def with_warning(self, code: str, text: str) -> Result:
        return replace(self, warnings=(*self.warnings, Warning(code, text)))
