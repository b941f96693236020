"""How much worker starts differ on this machine, learnt during a run and kept for the next.

On some machines a start's address layout costs or saves 1 %, on others small operators differ by
10 % and more; and two sides that run different code differ from start to start by amounts of their
own. A case with a few starts cannot know which machine it is on; the cases measured before it can
tell (`prior`). The first cases of a run have none before them: for these, the latest runs on the
same machine speak, with a small weight.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from opbench.stats.estimate import Estimate
from opbench.stats.prior import EARLIER_SHARE, EARLIER_WEIGHT, NOTHING, Prior, VarianceFit
from opbench.stats.ratio import Ratio


@dataclass(frozen=True)
class Learnt:
    """What earlier cases showed, as a case is given it before it is sampled."""

    #: Between the starts of one case, and between the log-ratios of the starts of a pair.
    start: Prior = NOTHING
    pair: Prior = NOTHING

    @property
    def detail(self) -> dict[str, float]:
        """As it is stored with a result: nothing where nothing was learnt."""
        found: dict[str, float] = {}
        for key, prior in (("layout", self.start), ("pair_layout", self.pair)):
            if prior.freedom > 0:
                found |= {key: prior.sd, f"{key}_freedom": prior.freedom}
        return found

    @classmethod
    def stored(cls, detail: Mapping[str, Any]) -> Learnt:
        return cls(_stored(detail, "layout"), _stored(detail, "pair_layout"))


def _stored(detail: Mapping[str, Any], key: str) -> Prior:
    """A `layout` without degrees of freedom is of an older version, which did not know what its
    figure was worth: nothing, then."""
    freedom = float(detail.get(f"{key}_freedom") or 0.0)
    return Prior(float(detail.get(key) or 0.0), freedom) if freedom > 0 else NOTHING


NOTHING_LEARNT = Learnt()


@dataclass
class StartVariance:
    """Feed it estimates or ratios with `add`; `prior` is what they showed so far.

    Of an estimate or ratio it takes the variance between starts, the noise of their blocks
    included: the next case is averaged with just that.
    """

    fit: VarianceFit = field(default_factory=VarianceFit)
    #: What earlier runs showed; it counts until the cases of this run are a fit of their own.
    earlier: Prior = NOTHING

    def add(self, found: Estimate | Ratio) -> None:
        if found.starts > 1:
            self.fit.add(found.seen**2, found.starts - 1)

    @property
    def prior(self) -> Prior:
        found = self.fit.prior
        return found if found.freedom > 0 else self.earlier


def from_earlier_runs(fits: Iterable[VarianceFit]) -> Prior:
    """What the fits of several runs show together."""
    together = VarianceFit()
    for fit in fits:
        together.join(fit)
    found = together.prior
    return Prior(found.sd, min(EARLIER_SHARE * found.freedom, EARLIER_WEIGHT))


#: A metric, and the design of a pair; no design for the starts of single cases.
Kind = tuple[str, str]


class StartVariances:
    """Of every metric and design: what starts do to the time a caller waits says nothing about the
    time a device works, nor about the ratio of two cases."""

    def __init__(self, earlier: Mapping[Kind, Iterable[VarianceFit]] | None = None) -> None:
        """`earlier` are the fits of the latest runs on this machine."""
        self._by_kind: defaultdict[Kind, StartVariance] = defaultdict(StartVariance)
        for kind, fits in (earlier or {}).items():
            self._by_kind[kind].earlier = from_earlier_runs(fits)

    def add(self, found: Estimate | Ratio, metric: str, design: str = "") -> None:
        self._by_kind[metric, design].add(found)

    def learnt(self, metric: str, design: str) -> Learnt:
        """What a case of this metric is given, which may be one of a pair of this design."""
        return Learnt(self._by_kind[metric, ""].prior, self._by_kind[metric, design].prior)

    @property
    def fits(self) -> dict[Kind, VarianceFit]:
        """What the cases of this run showed, to be kept."""
        return {kind: each.fit for kind, each in self._by_kind.items() if each.fit.cases}
