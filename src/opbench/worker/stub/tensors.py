"""Tensors and arrays as source: an expression that makes one like it.

The same shape, strides, dtype and device. Values are drawn anew, of the same kind: sign and order
of magnitude of real numbers, the range of whole ones. Small tensors keep their values.
"""

from __future__ import annotations

import math
import sys

#: Elements that are written down one by one; more would be a page of numbers.
KEPT = 16


def tensor(value):
    """(source, module it needs) for a torch tensor or a numpy array; None for anything else."""
    torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
    if torch is not None and isinstance(value, torch.Tensor):
        return torch_tensor(value, torch), "torch"
    if numpy is not None and type(value) is numpy.ndarray:
        return numpy_array(value), "numpy"
    return None


def torch_tensor(value, torch):
    plain = value.detach()
    if plain.layout is not torch.strided or plain.is_quantized or plain.is_meta:
        raise ValueError("a tensor that is not dense")
    shape, steps, device = list(plain.shape), list(plain.stride()), str(plain.device)
    if plain.numel() <= KEPT and bool(torch.isfinite(plain.to(torch.complex128).abs()).all()):
        text = f"torch.tensor({plain.tolist()!r}, dtype={plain.dtype}, device={device!r})"
    else:
        # A dimension of stride 0 is one element seen many times.
        sizes = [size if step else 1 for size, step in zip(shape, steps)]
        text = torch_values(plain, sizes, device, torch)
        if not plain.is_contiguous():
            where = f"dtype={plain.dtype}, device={device!r}"
            text = f"torch.empty_strided({sizes}, {steps}, {where}).copy_({text})"
        text += f".expand({shape})" if sizes != shape else ""
    if isinstance(value, torch.nn.Parameter):
        return f"torch.nn.Parameter({text}, requires_grad={value.requires_grad})"
    return text + (".requires_grad_()" if value.requires_grad else "")


def torch_values(plain, sizes, device, torch):
    if plain.dtype is torch.bool:
        return f"(torch.rand({sizes}, device={device!r}) < {plain.double().mean().item():.2g})"
    if not plain.dtype.is_floating_point and not plain.dtype.is_complex:
        bounds = f"{int(plain.min())}, {int(plain.max()) + 1}"
        return f"torch.randint({bounds}, {sizes}, device={device!r}).to({plain.dtype})"
    real = (torch.view_as_real(plain) if plain.dtype.is_complex else plain).double()
    finite = real[torch.isfinite(real)]
    low, high, spread = (
        (float(finite.min()), float(finite.max()), float(finite.std(correction=0)))
        if finite.numel()
        else (0.0, 0.0, 0.0)
    )
    if low == high:
        return f"torch.full({sizes}, {low!r}, dtype={plain.dtype}, device={device!r})"
    draw, scale = drawn(low, high, spread)
    kind = f", dtype={plain.dtype}" if plain.dtype.is_complex else ""
    scaled = f".mul_({scale:g})" if scale != 1 else ""
    return f"torch.{draw}({sizes}, device={device!r}{kind}){scaled}.to({plain.dtype})"


def drawn(low, high, spread):
    """(distribution, scale): coarse, so that two draws of the same kind are the same source."""
    draw, size = ("rand", high) if low >= 0 else ("randn", spread)
    return draw, 10.0 ** round(math.log10(size))


def numpy_array(value):
    kind, dtype, shape = value.dtype.kind, str(value.dtype), list(value.shape)
    if kind not in "biuf":
        raise ValueError(f"an array of {dtype}")
    if value.size <= KEPT and "n" not in f"{value.tolist()!r}":  # neither nan nor inf
        return f"numpy.array({value.tolist()!r}, dtype={dtype!r})"
    low, high = float(value.min()), float(value.max())
    if kind == "b":
        text = f"numpy.random.rand(*{shape}) < {float(value.mean()):.2g}"
    elif kind in "iu":
        text = f"numpy.random.randint({int(low)}, {int(high) + 1}, {shape})"
    elif low == high:
        text = f"numpy.full({shape}, {low!r})"
    else:
        draw, scale = drawn(low, high, float(value.std()))
        text = f"numpy.random.{draw}(*{shape})" + (f" * {scale:g}" if scale != 1 else "")
    order = ", order='F'" if value.flags.f_contiguous and not value.flags.c_contiguous else ""
    return f"numpy.asarray({text}, dtype={dtype!r}{order})"
