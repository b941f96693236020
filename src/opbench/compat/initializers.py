"""What fills the inputs of a classic benchmark: functions of a shape, as in the classic suite.

Those of this file are drawn by workers, each with the same distribution in its own framework.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opbench.define.program import NORMAL, ONES, ZEROS, Domain
from opbench.define.program import uniform as between


def normal(shape: tuple[int, ...]) -> Any:
    """Normally distributed numbers."""
    import numpy as np

    return np.random.default_rng(0).standard_normal(shape)


def uniform(shape: tuple[int, ...]) -> Any:
    """Numbers from 0 to 1."""
    import numpy as np

    return np.random.default_rng(0).random(shape)


def ones(shape: tuple[int, ...]) -> Any:
    import numpy as np

    return np.ones(shape)


def zeros(shape: tuple[int, ...]) -> Any:
    import numpy as np

    return np.zeros(shape)


def domain(shape: tuple[int, ...]) -> Any:
    """Each input from the domain that its operator needs: a logarithm of positive numbers."""
    raise TypeError("each input has a domain of its own; see opbench ops OPERATOR")


#: Those that workers draw themselves, by name and by function.
INITIALIZERS: dict[str, tuple[Callable[..., Any], Domain | None]] = {
    "normal": (normal, NORMAL),
    "uniform": (uniform, between(0.0, 1.0)),
    "ones": (ones, ONES),
    "zeros": (zeros, ZEROS),
    "domain": (domain, None),
}
