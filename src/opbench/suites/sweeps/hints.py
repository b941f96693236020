"""What a failed sweep most likely lacks: the two keys that few models need, and those always."""

from __future__ import annotations

from collections.abc import Iterable

from opbench.case import Case
from opbench.result import Result

#: What torch says of the output of a model that is no tensor, and of indices that are no integers.
NO_TENSOR = "must be Tensor, not"
NO_INDICES = ("scalar types: Long, Int", "tensors used as indices must be")


def hints(results: Iterable[tuple[Case, Result]]) -> list[str]:
    """One line for each sweep and key."""
    found: dict[str, None] = {}
    for case, result in results:
        if case.suite != "sweep" or result.ok:
            continue
        if NO_TENSOR in result.reason and "`grad = " in result.reason:
            found[
                f"{case.name}: the model returns more than one tensor; say where the backward pass "
                'starts: output = "y[0]"'
            ] = None
        if any(text in result.reason for text in NO_INDICES):
            found[
                f"{case.name}: an input holds indices; say how large they may be: "
                'input_values = ["integers:100"] (or a dim instead of 100; one for each input)'
            ] = None
    return list(found)
