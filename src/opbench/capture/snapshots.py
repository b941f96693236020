"""The arguments of an operator: copied while the program waits, described when it no longer does.

What of their contents is kept is for `regimes` to say.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import torch

from opbench.capture.contents.regimes import first_row, values_of
from opbench.capture.describing import NESTED, describe, describe_tensor, name_of
from opbench.capture.values import Arguments, Opaque, StorageSpec, TensorSpec

#: Elements looked at to tell the regime of floats.
SAMPLE = 4096
#: Integers copied whole; of more (what cuDNN keeps for a backward pass is gigabytes of bytes), so
#: many are copied, and their bounds.
MOST_INTEGERS = 1 << 22
#: Integers whose bounds torch can find; masks are always copied whole.
BOUNDED = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
#: Sparse layout → how to ask for its parts.
SPARSE: dict[torch.layout, Any] = {
    torch.sparse_coo: lambda t: (t._indices(), t._values()),
    torch.sparse_csr: lambda t: (t.crow_indices(), t.col_indices(), t.values()),
    torch.sparse_bsr: lambda t: (t.crow_indices(), t.col_indices(), t.values()),
    torch.sparse_csc: lambda t: (t.ccol_indices(), t.row_indices(), t.values()),
    torch.sparse_bsc: lambda t: (t.ccol_indices(), t.row_indices(), t.values()),
}


@dataclass
class TensorSnapshot:
    """A tensor argument, before its values are worked out."""

    spec: TensorSpec
    address: int
    offset: int
    #: A copy of its elements (integers), or of a sample of them (floats, very many integers).
    sample: torch.Tensor | None
    #: The beginning of its first row (floats): whether that is sorted.
    row: torch.Tensor | None = None
    #: Least and greatest, of integers of which there is only a sample.
    bounds: tuple[torch.Tensor, torch.Tensor] | None = None
    #: Of a sparse tensor: its indices and values.
    parts: tuple[TensorSnapshot, ...] = ()
    coalesced: bool = False


def take_snapshots(
    args: Any, kwargs: dict[str, Any], reads: tuple[int, ...], ordered: bool
) -> tuple[Any, Any]:
    """The arguments with a snapshot for each tensor, whose addresses are `reads`. `ordered`: the
    order of their elements matters."""
    addresses = iter(reads)

    def copied(argument: Any) -> Any:
        if isinstance(argument, torch.Tensor):
            place = next(addresses)
            return unrecordable(argument) or snapshot(argument, place, ordered)
        if isinstance(argument, (list, tuple)):
            return [copied(each) for each in argument]
        if isinstance(argument, (torch.UntypedStorage, torch.TypedStorage)):
            return StorageSpec(argument.nbytes())  # not the memory itself, which would stay
        return argument

    return [copied(each) for each in args], {name: copied(v) for name, v in kwargs.items()}


def unrecordable(tensor: torch.Tensor) -> Opaque | None:
    """What stands for a tensor of which no equal one could be created."""
    if tensor.is_quantized:
        return Opaque(f"quantized tensor ({name_of(tensor.dtype)})")
    return NESTED if tensor.is_nested else None


def snapshot(tensor: torch.Tensor, address: int, ordered: bool) -> TensorSnapshot:
    if tensor.layout in SPARSE:
        parts = tuple(snapshot(part, 1, ordered) for part in SPARSE[tensor.layout](tensor))
        coalesced = tensor.layout is torch.sparse_coo and tensor.is_coalesced()
        return TensorSnapshot(
            describe_tensor(tensor), address, 0, None, parts=parts, coalesced=coalesced
        )
    strided = tensor.layout is torch.strided
    offset = int(tensor.storage_offset()) if strided else 0
    sample = sampled(tensor) if strided and address else None
    row = None
    if ordered and sample is not None and tensor.dtype.is_floating_point and tensor.dim():
        row = first_row(tensor.detach())[:SAMPLE].clone()
    bounds = None
    if sample is not None and tensor.dtype in BOUNDED and sample.numel() < tensor.numel():
        least, most = torch.aminmax(tensor.detach())
        bounds = least, most
    return TensorSnapshot(describe_tensor(tensor), address, offset, sample, row, bounds)


def sampled(tensor: torch.Tensor) -> torch.Tensor | None:
    """A copy: the call may write to the original."""
    if tensor.numel() == 0 or tensor.is_meta:
        return None
    tensor = tensor.detach()
    floating = tensor.dtype.is_floating_point or tensor.dtype.is_complex
    most = SAMPLE if floating else MOST_INTEGERS
    if tensor.numel() <= most or (not floating and tensor.dtype not in BOUNDED):
        return tensor.clone()
    # Walk through memory, whatever the order of the dimensions: no copy of the whole.
    extent = 1 + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride()))
    step = max(1, extent // most) | 1  # odd: not always the same column
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

    def contents(tensor: TensorSnapshot) -> Any:
        if tensor.sample is None:
            return None
        bounds = tensor.bounds and (int(tensor.bounds[0]), int(tensor.bounds[1]))
        whole = (prod(tensor.spec.shape), bounds) if bounds else None
        return values_of(tensor.sample, keep, tensor.spec.strides, tensor.row, whole)

    def described(argument: Any) -> Any:
        if isinstance(argument, list):
            return [described(each) for each in argument]
        if not isinstance(argument, TensorSnapshot):
            return describe(argument)
        address, spec = argument.address, argument.spec
        alias = addresses.index(address) if address in shared and address in addresses else None
        addresses.append(address)
        if argument.parts:
            parts = tuple(replace(each.spec, values=contents(each)) for each in argument.parts)
            return replace(spec, parts=parts, coalesced=argument.coalesced)
        if spec.layout:
            return Opaque(f"tensor of layout {spec.layout}")
        offset = argument.offset - shared.get(address, argument.offset)
        return replace(spec, offset=offset, alias=alias, values=contents(argument))

    return Arguments(tuple(map(described, args)), {n: described(v) for n, v in kwargs.items()})


def snapshots_in(argument: Any) -> Iterator[TensorSnapshot]:
    if isinstance(argument, TensorSnapshot):
        yield argument
    elif isinstance(argument, list):
        for each in argument:
            yield from snapshots_in(each)
