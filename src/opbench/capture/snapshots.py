"""The arguments of an operator: copied while the program waits, described when it no longer does.

Integers and booleans steer the work (indices, masks), so they are kept one by one while they are
few, and as a range or a density otherwise. Floats are kept as a regime: range, mean, deviation, and
the shares of zeros, of denormals and of masked-out elements.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch

from opbench.capture.describing import describe, describe_tensor
from opbench.capture.values import Arguments, Opaque, TensorSpec

#: Integers kept one by one: a batch of token ids, not an image of indices.
MOST_LISTED = 2048
#: Elements looked at to tell the regime of floats.
SAMPLE = 4096
#: Values below are a mask's minus infinity, whatever a program writes for it.
MASKED = -1e30


@dataclass
class TensorSnapshot:
    """A tensor argument, before its values are worked out."""

    spec: TensorSpec
    address: int
    offset: int
    #: A copy of its elements (integers), or of a sample of them (floats).
    sample: torch.Tensor | None


def take_snapshots(args: Any, kwargs: dict[str, Any], reads: tuple[int, ...]) -> tuple[Any, Any]:
    """The arguments with a snapshot for each tensor, whose addresses are `reads`."""
    addresses = iter(reads)

    def copied(argument: Any) -> Any:
        if isinstance(argument, torch.Tensor):
            return snapshot(argument, next(addresses))
        if isinstance(argument, (list, tuple)):
            return [copied(each) for each in argument]
        return argument

    return [copied(each) for each in args], {name: copied(v) for name, v in kwargs.items()}


def snapshot(tensor: torch.Tensor, address: int) -> TensorSnapshot:
    strided = tensor.layout is torch.strided
    offset = int(tensor.storage_offset()) if strided else 0
    sample = sampled(tensor) if strided and address else None
    return TensorSnapshot(describe_tensor(tensor), address, offset, sample)


def sampled(tensor: torch.Tensor) -> torch.Tensor | None:
    """A copy: the call may write to the original."""
    if tensor.numel() == 0 or tensor.is_meta or tensor.is_quantized:
        return None
    tensor = tensor.detach()
    floating = tensor.dtype.is_floating_point or tensor.dtype.is_complex
    if not floating or tensor.numel() <= SAMPLE:
        return tensor.clone()
    # Walk through memory, whatever the order of the dimensions: no copy of the whole.
    extent = 1 + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride()))
    step = max(1, extent // SAMPLE) | 1  # odd: not always the same column
    count = (extent - 1) // step + 1
    return tensor.as_strided((count,), (step,), tensor.storage_offset()).clone()


def described_arguments(args: Any, kwargs: dict[str, Any], keep: bool) -> Arguments:
    """The arguments of one call; tensors that share memory say so. `keep`: values one by one."""
    offsets: dict[int, list[int]] = {}
    for tensor in snapshots_in([args, list(kwargs.values())]):
        offsets.setdefault(tensor.address, []).append(tensor.offset)
    #: Address → the offset that counts as 0, for memory that several arguments share.
    shared = {a: min(found) for a, found in offsets.items() if a and len(found) > 1}
    addresses: list[int] = []

    def described(argument: Any) -> Any:
        if isinstance(argument, list):
            return [described(each) for each in argument]
        if not isinstance(argument, TensorSnapshot):
            return describe(argument)
        address, spec = argument.address, argument.spec
        alias = addresses.index(address) if address in shared and address in addresses else None
        addresses.append(address)
        if spec.layout:
            return Opaque(f"tensor of layout {spec.layout}")
        offset = argument.offset - shared.get(address, argument.offset)
        return replace(spec, offset=offset, alias=alias, values=values_of(argument.sample, keep))

    return Arguments(tuple(map(described, args)), {n: described(v) for n, v in kwargs.items()})


def snapshots_in(argument: Any) -> Iterator[TensorSnapshot]:
    if isinstance(argument, TensorSnapshot):
        yield argument
    elif isinstance(argument, list):
        for each in argument:
            yield from snapshots_in(each)


def values_of(sample: torch.Tensor | None, keep: bool) -> Any:
    if sample is None:
        return None
    sample = sample.cpu()
    if sample.dtype.is_floating_point or sample.dtype.is_complex:
        return regime(sample, keep)
    if sample.dtype is torch.bool:
        density = round(float(sample.float().mean()), 3)
        if not keep or sample.numel() > MOST_LISTED or density in (0.0, 1.0):
            return {"true": density}
        return {"bits": "".join("1" if bit else "0" for bit in sample.reshape(-1).tolist())}
    return integers(sample.reshape(-1).to(torch.int64), keep)


def integers(sample: torch.Tensor, keep: bool) -> dict[str, Any]:
    low, high = int(sample.min()), int(sample.max())
    if low == high:
        return {"all": low}
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
        return {"lo": int(sample[~below].min()), "hi": high, "marked": [low, share]}
    found: dict[str, Any] = {"lo": low, "hi": high}
    if bool((steps >= 0).all()):
        found["sorted"] = "up"
    elif bool((steps <= 0).all()):
        found["sorted"] = "down"
    if keep:
        found["distinct"] = round(len(sample.unique()) / sample.numel(), 3)
    return found


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


def short(value: float) -> float:
    """Three digits are plenty for a regime."""
    return float(f"{value:.3g}")
