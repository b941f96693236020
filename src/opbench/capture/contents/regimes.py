"""What of a tensor's contents decides how long a call takes, as plain data.

Integers and booleans steer the work (indices, masks), so they are kept exactly while that is short:
one by one, by a rule, or as runs. Otherwise their distribution is kept: range, order, how many are
distinct and how often the most frequent ones occur; of masks, the exact number of true ones and the
length of their runs. Floats are kept as a regime: range, mean, deviation, the shares of zeros, of
denormals and of masked-out elements, and whether they are sorted.
"""

from __future__ import annotations

import base64
from typing import Any

import torch

#: Integers, or runs of a mask, kept one by one: a batch of token ids, not an image of indices.
MOST_LISTED = 2048
#: Elements of a mask whose bits are kept: 44 kB of text.
MOST_PACKED = 1 << 18
#: Values below are a mask's minus infinity, whatever a program writes for it.
MASKED = -1e30
#: Elements that distinguish calls: few, as every call of a steered operator looks at them.
GLANCE = 1024

#: Operators whose time depends on the values of their arguments more than on the shapes.
STEERED = frozenset((
    "sort", "argsort", "msort", "topk", "kthvalue", "median", "mode", "searchsorted", "bucketize",
    "_unique", "_unique2", "unique_dim", "unique_consecutive", "nonzero", "masked_select", "index",
    "index_put", "index_put_", "_index_put_impl_", "index_select", "index_add", "index_add_",
    "gather", "scatter", "scatter_", "scatter_add", "scatter_add_", "embedding",
    "embedding_dense_backward", "_embedding_bag", "histc", "bincount",
))  # fmt: skip


def glance(tensor: torch.Tensor) -> Any:
    """What tells two calls of a steered operator apart, coarse enough for steps to agree."""
    if not tensor.is_cpu or tensor.layout is not torch.strided or tensor.numel() < 2:
        return None
    try:
        return glance_at(tensor)
    except RuntimeError:  # a tensor without data, or of a dtype that cannot be compared
        return None


def glance_at(tensor: torch.Tensor) -> Any:
    if tensor.dtype is torch.bool:
        flat = tensor.reshape(-1)
        count = int(flat.sum())
        changes = int((flat[1:] != flat[:-1]).sum())
        return round(count / flat.numel(), 1), (count // (changes // 2 + 1)).bit_length()
    row = first_row(tensor)[:GLANCE]
    if tensor.dtype.is_floating_point:
        return order_of(row)
    if tensor.dtype.is_complex:
        return None
    return order_of(row), (row.numel() // len(row.unique())).bit_length()


def first_row(tensor: torch.Tensor) -> torch.Tensor:
    while tensor.dim() > 1:
        tensor = tensor[0]
    return tensor.reshape(-1)


def order_of(row: torch.Tensor) -> int:
    """1 for ascending, -1 for descending, 0 for neither or all equal."""
    if row.numel() < 2 or bool(row[0] == row[-1]):
        return 0
    steps = row[1:] >= row[:-1]
    if bool(steps.all()):
        return 1
    return -1 if bool((row[1:] <= row[:-1]).all()) else 0


#: Of integers that were too many to copy: how many there are, the least and the greatest.
Whole = tuple[int, tuple[int, int]]


def values_of(
    sample: torch.Tensor,
    keep: bool,
    strides: tuple[int, ...] | None,
    row: torch.Tensor | None,
    whole: Whole | None = None,
) -> Any:
    """`sample`: all elements of integers and masks, some of floats, and of integers if there is a
    `whole`. `keep`: one by one. `row`: the beginning of the first row of floats."""
    sample = sample.cpu()
    if sample.dtype.is_floating_point or sample.dtype.is_complex:
        found = regime(sample, keep)
        known = keep and row is not None and not sample.dtype.is_complex
        order = order_of(row.cpu()) if known and row is not None else 0
        return (*found, *[0.0] * (7 - len(found)), order) if order and len(found) > 2 else found
    if sample.dtype is torch.bool:
        return mask(sample, keep, strides)
    return integers(sample.reshape(-1).to(torch.int64), keep, whole)


def mask(sample: torch.Tensor, keep: bool, strides: tuple[int, ...] | None) -> dict[str, Any]:
    flat = sample.reshape(-1)
    changes = (flat[1:] != flat[:-1]).nonzero().reshape(-1) + 1
    if keep or not len(changes):
        if flat.numel() <= MOST_LISTED and len(changes):
            return {"bits": "".join("1" if bit else "0" for bit in flat.tolist())}
        if len(changes) < MOST_LISTED:
            ends = torch.cat([changes, torch.tensor([flat.numel()])])
            runs = (ends - torch.cat([torch.tensor([0]), changes])).tolist()
            # The first run is one of false ones, if only of none.
            return {"runs": [0, *runs] if bool(flat[0]) else runs}
        if flat.numel() <= MOST_PACKED:
            return {"packed": packed(flat)}
    # An expanded dimension is one element in memory, and is counted once.
    for number, step in enumerate(strides or ()):
        if step == 0:
            sample = sample.narrow(number, 0, 1)
    flat = sample.reshape(-1)
    count = int(flat.sum())
    starts = int((flat[1:] & ~flat[:-1]).sum()) + int(flat[0])
    return {"count": count, "run": short(count / max(starts, 1))}


def packed(flat: torch.Tensor) -> str:
    """Eight elements to a byte, the first in the lowest bit, as base64."""
    padded = torch.nn.functional.pad(flat.to(torch.uint8), (0, -flat.numel() % 8))
    weights = torch.tensor([1, 2, 4, 8, 16, 32, 64, 128], dtype=torch.uint8)
    data = (padded.reshape(-1, 8) * weights).sum(1).to(torch.uint8)
    return base64.b64encode(bytes(data.tolist())).decode()


def integers(sample: torch.Tensor, keep: bool, whole: Whole | None = None) -> dict[str, Any]:
    low, high = whole[1] if whole else (int(sample.min()), int(sample.max()))
    if low == high:
        return {"all": low}
    if whole:
        found = distribution(sample, keep)
        if found.get("distinct", 1.0) < 0.5:
            # Each value of a sample that repeats itself has been seen: the rest brings no others.
            found["distinct"] = short(found["distinct"] * sample.numel() / whole[0], 6)
        return {**found, "lo": low, "hi": high}
    steps = sample[1:] - sample[:-1]
    if bool((steps == steps[0]).all()):
        return {"from": int(sample[0]), "by": int(steps[0])}
    if keep and sample.numel() <= MOST_LISTED:
        return {"is": sample.tolist()}
    below = sample < 0
    if low < 0 and bool((sample[below] == low).all()) and not bool(below.all()):
        # One negative value among indices is a mark (of padding, or of what to ignore), and
        # nothing between it and the least index is in range.
        share = round(float(below.double().mean()), 6)
        return {**distribution(sample[~below], keep), "marked": [low, share]}
    return distribution(sample, keep)


def distribution(sample: torch.Tensor, keep: bool) -> dict[str, Any]:
    """Range, order and skew of integers."""
    found: dict[str, Any] = {"lo": int(sample.min()), "hi": int(sample.max())}
    order = order_of(sample)
    if order:
        found["sorted"] = "up" if order > 0 else "down"
    if keep:
        times = sample.unique(return_counts=True)[1].sort(descending=True).values
        found["distinct"] = short(len(times) / sample.numel(), 6)
        if len(times) < sample.numel():
            found["heads"] = heads(times)
    return found


def heads(times: torch.Tensor) -> list[float]:
    """The share of all elements that are among the 1, 2, 4, 8, … most frequent ones."""
    sums = times.cumsum(0).double() / int(times.sum())
    ranks = [1 << power for power in range(len(times).bit_length()) if 1 << power <= len(times)]
    return [short(float(sums[rank - 1]), 4) for rank in ranks]


def regime(sample: torch.Tensor, keep: bool) -> tuple[float, ...]:
    if sample.dtype.is_complex:
        sample = torch.view_as_real(sample)
    tiny = torch.finfo(sample.dtype).tiny
    # As doubles: a denormal of the dtype is a plain number there.
    sample = sample.double().reshape(-1)
    finite = sample[torch.isfinite(sample) & (sample > MASKED) & (sample < -MASKED)]
    if not finite.numel():
        return (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
    low, high = (short(float(each)) for each in (finite.min(), finite.max()))
    if not keep:
        return (low, high, short((low + high) / 2), short((high - low) / 6))
    zeros = float((finite == 0).double().mean())
    denormal = float(((finite != 0) & (finite.abs() < tiny)).double().mean())
    masked = float((sample <= MASKED).double().sum()) / sample.numel()
    rest = finite[finite != 0]
    mean = float(rest.mean()) if rest.numel() else 0.0
    spread = float(rest.std()) if rest.numel() > 1 else 0.0
    found = [low, high, short(mean), short(spread)]
    found += [round(share, 3) for share in (zeros, denormal, masked)]
    while len(found) > 4 and found[-1] == 0:
        found.pop()
    return (low, high) if low == high and not masked else tuple(found)


def short(value: float, digits: int = 3) -> float:
    """Three digits are plenty for a regime."""
    return float(f"{value:.{digits}g}")
