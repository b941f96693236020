"""What was in the arguments: glimpsed while the program runs, worked out when it no longer waits.

Integers and booleans steer the work (indices, masks), so they are kept one by one while they are
few, and as a range or a density otherwise. Floats are kept as a regime: range, mean, deviation, and
the shares of zeros, of denormals and of masked-out elements.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from opbench.capture.call import Special, TensorSpec, contiguous

#: Whole numbers kept one by one: a batch of token ids, not an image of indices.
MOST_LISTED = 2048
#: Elements looked at to tell the regime of floats.
SAMPLE = 4096
#: Values below are a mask's minus infinity, whatever a program writes for it.
MASKED = -1e30

FORMATS = {
    torch.contiguous_format: "contiguous_format",
    torch.preserve_format: "preserve_format",
    torch.channels_last: "channels_last",
    torch.channels_last_3d: "channels_last_3d",
}


@dataclass
class Glimpse:
    """A tensor argument, before its values are worked out."""

    dtype: torch.dtype
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    device: str
    address: int
    offset: int
    #: A copy of its elements (whole numbers), or of a sample of them (floats).
    sample: torch.Tensor | None
    layout: torch.layout


def glimpse(args: Any, kwargs: dict[str, Any], reads: tuple[int, ...]) -> tuple[Any, Any]:
    addresses = iter(reads)

    def see(argument: Any) -> Any:
        if isinstance(argument, torch.Tensor):
            return glimpsed(argument, next(addresses))
        if isinstance(argument, (list, tuple)):
            return [see(each) for each in argument]
        return argument

    return [see(each) for each in args], {name: see(value) for name, value in kwargs.items()}


def glimpsed(tensor: torch.Tensor, address: int) -> Glimpse:
    strided = tensor.layout is torch.strided
    return Glimpse(
        tensor.dtype,
        tuple(tensor.shape),
        tuple(tensor.stride()) if strided else (),
        str(tensor.device),
        address,
        int(tensor.storage_offset()) if strided else 0,
        sampled(tensor) if strided and address else None,
        tensor.layout,
    )


def sampled(tensor: torch.Tensor) -> torch.Tensor | None:
    """A copy: the call may write to the original."""
    if tensor.numel() == 0 or tensor.device.type == "meta" or tensor.is_quantized:
        return None
    tensor = tensor.detach()
    if not (tensor.dtype.is_floating_point or tensor.dtype.is_complex):
        return tensor.clone()
    if tensor.numel() <= SAMPLE:
        return tensor.clone()
    # Walk through memory, whatever the order of the dimensions: no copy of the whole.
    extent = 1 + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride()))
    step = max(1, extent // SAMPLE) | 1  # odd: not always the same column
    count = (extent - 1) // step + 1
    return tensor.as_strided((count,), (step,), tensor.storage_offset()).clone()


class Describing:
    """Describes the arguments of one call; tensors that share memory are told so."""

    def __init__(self, args: Any, kwargs: dict[str, Any], keep: bool) -> None:
        self.keep = keep
        #: The tensors so far, in order.
        self.seen: list[Glimpse] = []
        places: dict[int, list[int]] = {}
        for each in glimpses([args, list(kwargs.values())]):
            places.setdefault(each.address, []).append(each.offset)
        #: Address → the offset that counts as 0, for memory that several arguments share.
        self.shared = {a: min(o) for a, o in places.items() if a and len(o) > 1}
        self.args = tuple(self.described(each) for each in args)
        self.kwargs = {name: self.described(value) for name, value in kwargs.items()}

    def described(self, argument: Any) -> Any:
        if isinstance(argument, Glimpse):
            return self.tensor(argument)
        if isinstance(argument, (list, tuple)):
            return [self.described(each) for each in argument]
        return plain(argument)

    def tensor(self, tensor: Glimpse) -> TensorSpec | Special:
        number = len(self.seen)
        self.seen.append(tensor)
        if tensor.layout is not torch.strided:
            return Special("other", f"tensor of layout {name_of(tensor.layout)}")
        alias, offset = None, 0
        if tensor.address in self.shared:
            offset = tensor.offset - self.shared[tensor.address]
            same = [i for i, o in enumerate(self.seen[:number]) if o.address == tensor.address]
            alias = same[0] if same else None
        strides: tuple[int, ...] | None = tensor.strides
        if strides == contiguous(tensor.shape):
            strides = None
        values = values_of(tensor, self.keep)
        dtype = name_of(tensor.dtype)
        return TensorSpec(dtype, tensor.shape, strides, offset, alias, tensor.device, values)


def glimpses(argument: Any) -> Iterator[Glimpse]:
    if isinstance(argument, Glimpse):
        yield argument
    elif isinstance(argument, (list, tuple)):
        for each in argument:
            yield from glimpses(each)


def plain(argument: Any) -> Any:
    """What is no tensor, as it is written to the file."""
    if argument is None or isinstance(argument, (bool, int, str)):
        return argument
    if isinstance(argument, float):
        finite = abs(argument) < float("inf")
        return argument if finite else Special("float", str(argument))
    if isinstance(argument, complex):
        return Special("complex", (argument.real, argument.imag))
    if isinstance(argument, torch.dtype):
        return Special("dtype", name_of(argument))
    if isinstance(argument, torch.device):
        return Special("device", str(argument))
    if isinstance(argument, torch.layout):
        return Special("layout", name_of(argument))
    if isinstance(argument, torch.memory_format):
        return Special("memory_format", FORMATS.get(argument, "preserve_format"))
    if isinstance(argument, torch.Generator):
        return Special("generator", argument.device.type)
    return Special("other", type(argument).__name__)


def name_of(value: Any) -> str:
    return str(value).rpartition(".")[2]


def values_of(tensor: Glimpse, keep: bool) -> Any:
    if tensor.sample is None:
        return None
    sample = tensor.sample.cpu()
    if tensor.dtype.is_floating_point or tensor.dtype.is_complex:
        return regime(sample, keep)
    if tensor.dtype is torch.bool:
        density = round(float(sample.float().mean()), 3)
        if not keep or sample.numel() > MOST_LISTED or density in (0.0, 1.0):
            return {"true": density}
        return {"bits": "".join("1" if bit else "0" for bit in sample.reshape(-1).tolist())}
    return whole_numbers(sample.reshape(-1).to(torch.int64), keep)


def whole_numbers(sample: torch.Tensor, keep: bool) -> dict[str, Any]:
    low, high = int(sample.min()), int(sample.max())
    if low == high:
        return {"all": low}
    steps = sample[1:] - sample[:-1]
    if bool((steps == steps[0]).all()):
        return {"from": int(sample[0]), "by": int(steps[0])}
    if keep and sample.numel() <= MOST_LISTED:
        return {"is": sample.tolist()}
    found: dict[str, Any] = {"lo": low, "hi": high}
    if bool((steps >= 0).all()):
        found["sorted"] = "up"
    elif bool((steps <= 0).all()):
        found["sorted"] = "down"
    if keep:
        found["distinct"] = round(len(sample.unique()) / sample.numel(), 3)
    return found


def regime(sample: torch.Tensor, keep: bool) -> tuple[float, ...] | None:
    if sample.dtype.is_complex:
        sample = torch.view_as_real(sample)
    tiny = torch.finfo(sample.dtype).tiny
    # As doubles: a denormal of the dtype is a plain number there.
    sample = sample.double().reshape(-1)
    finite = sample[torch.isfinite(sample) & (sample > MASKED) & (sample < -MASKED)]
    total = sample.numel()
    if not finite.numel():
        return (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
    low, high = (short(float(each)) for each in (finite.min(), finite.max()))
    if not keep:
        middle, spread = (low + high) / 2, (high - low) / 6
        return (low, high, short(middle), short(spread))
    zeros = float((finite == 0).double().mean())
    denormal = float(((finite != 0) & (finite.abs() < tiny)).double().mean())
    masked = float((sample <= MASKED).double().sum()) / total
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
