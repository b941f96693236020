"""Student's t distribution and the polygamma functions, for single numbers.

They are SciPy's to twelve digits (a test compares them), but importing `scipy.special` takes longer
than everything else a small run does on the command line's side.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

#: Beyond so many degrees of freedom t is normal, to all digits that matter.
NORMAL = 1e9
#: From here on the asymptotic series of the polygamma functions are exact to a double.
FAR = 12.0

_TINY = 1e-300


def t_tail(freedom: float, t: float) -> float:
    """Probability of a value above `t`."""
    if t < 0:
        return 1 - t_tail(freedom, -t)
    if freedom > NORMAL:
        return math.erfc(t / math.sqrt(2)) / 2
    square = t * t
    return _beta(freedom / 2, 0.5, freedom / (freedom + square), square / (freedom + square)) / 2


@lru_cache(maxsize=4096)
def t_quantile(freedom: float, level: float = 0.95) -> float:
    """Two-sided quantile: 2.447 for six degrees of freedom at 95 %."""
    tail = (1 - level) / 2
    if tail <= 0:
        return math.inf
    if freedom > NORMAL:
        return -NormalDist().inv_cdf(tail)
    low, high = 0.0, 1.0
    while t_tail(freedom, high) > tail:
        low, high = high, high * 2
    # Newton's method, and halving wherever it leaves the bracket.
    t = (low + high) / 2
    for _ in range(200):
        error = t_tail(freedom, t) - tail
        low, high = (t, high) if error > 0 else (low, t)
        step = error / _t_density(freedom, t)
        following = t + step if low < t + step < high else (low + high) / 2
        if abs(following - t) <= 1e-14 * t:
            return following
        t = following
    return t


def _t_density(freedom: float, t: float) -> float:
    half = freedom / 2
    log = math.lgamma(half + 0.5) - math.lgamma(half) - 0.5 * math.log(math.pi * freedom)
    return math.exp(log - (half + 0.5) * math.log1p(t * t / freedom))


def _beta(a: float, b: float, x: float, rest: float) -> float:
    """The regularised incomplete beta function at x = 1 - rest."""
    if x <= 0 or rest <= 0:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta(b, a, rest, x)
    log = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) - math.log(a)
    return math.exp(log + a * math.log(x) + b * math.log(rest)) * _fraction(a, b, x)


def _fraction(a: float, b: float, x: float) -> float:
    """Its continued fraction (DLMF 8.17.22), by Lentz's method."""
    c, d = 1.0, 1 / _not_zero(1 - (a + b) * x / (a + 1))
    result = d
    for m in range(1, 100_000):
        for number in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _not_zero(1 + number * d)
            c = _not_zero(1 + number / c)
            result *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return result


def _not_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY


def digamma(x: float) -> float:
    below = 0.0
    while x < FAR:
        below, x = below + 1 / x, x + 1
    s = 1 / (x * x)
    series = s * (1 / 12 - s * (1 / 120 - s * (1 / 252 - s * (1 / 240 - s * (1 / 132)))))
    return math.log(x) - 0.5 / x - series - below


def trigamma(x: float) -> float:
    """The derivative of digamma."""
    below = 0.0
    while x < FAR:
        below, x = below + 1 / (x * x), x + 1
    s = 1 / (x * x)
    series = s * (1 / 6 - s * (1 / 30 - s * (1 / 42 - s * (1 / 30 - s * (5 / 66)))))
    return (1 + series) / x + s / 2 + below


def tetragamma(x: float) -> float:
    """The derivative of trigamma."""
    below = 0.0
    while x < FAR:
        below, x = below + 2 / x**3, x + 1
    s = 1 / (x * x)
    series = s * (1 / 2 - s * (1 / 6 - s * (1 / 6 - s * (3 / 10 - s * (5 / 6)))))
    return -s * (1 + 1 / x + series) - below
