"""How much worker starts differ on this machine, learnt during a run.

On some machines a start's address layout costs or saves 1 %, on others small operators differ by
10 % and more; and two sides that run different code differ from start to start by amounts of their
own. A case with a few starts cannot know which machine it is on; the cases measured before it can
tell (`prior`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from opbench.stats.estimate import Estimate
from opbench.stats.prior import NOTHING, Prior, VarianceFit
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

    def add(self, found: Estimate | Ratio) -> None:
        if found.starts > 1:
            self.fit.add(found.seen**2, found.starts - 1)

    @property
    def prior(self) -> Prior:
        return self.fit.prior
