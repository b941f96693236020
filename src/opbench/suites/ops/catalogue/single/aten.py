"""Operators of ATen that no other entry has alone: those that torch tags as core, and their like.

A row is a name and a call of torch; a line that is indented goes on with it. The names in the call
are inputs, made at the sizes of `KINDS`; `n` is the first of `data`'s sides, `half` half of it. A
`[0]` at the end is where a backward pass starts: the call returns all of its results, so that no
compiler leaves one out.
Operators that end in `_backward` are the ones that autograd calls, on their own.
"""

from __future__ import annotations

import re
from math import prod
from typing import Any

from opbench.define.program import PERMUTATION, POSITIVE, SIGNS, integers, uniform
from opbench.suites.ops.entry import (
    ALL,
    ANALYTIC,
    ANY,
    COMPLEX,
    FRAMEWORKS,
    INDEX,
    NUMBERS,
    Call,
    Input,
    Operator,
    Shape,
    Values,
)
from opbench.suites.ops.shapes import PLANE, op, sizes

PICTURES = sizes((2, 4, 16, 16), (16, 16, 64, 64), (32, 32, 128, 128))
LINES = sizes((64,), (1024,), (4096,), (10,))
MATRICES = sizes((2, 16, 16), (32, 128, 128), (32, 256, 256))
VECTORS = sizes((64, 3), (65536, 3), (4194304, 3))
#: Inputs by name: shape by size class, or what it follows from; domain; dtype (empty for that of
#: the case).
KINDS: dict[str, tuple[Any, Any, str]] = {
    "data": (PLANE, uniform(-1.0, 1.0), ""),
    "other": (PLANE, uniform(-1.0, 1.0), ""),
    "positive": (PLANE, POSITIVE, ""),
    "chance": (PLANE, uniform(0.05, 0.95), ""),
    "target": (PLANE, uniform(0.05, 0.95), ""),
    "sign": (PLANE, SIGNS, ""),
    "top": (lambda v: (v.data[0] // 2, *v.data[1:]), uniform(-1.0, 1.0), ""),
    "mask": (PLANE, integers(0, 2), "bool"),
    "place": (PLANE, PERMUTATION, INDEX),
    "row": (LINES, POSITIVE, ""),
    "column": (LINES, POSITIVE, ""),
    "edges": (LINES, uniform(-1.0, 1.0), ""),
    "rows": (sizes((32, 16), (512, 64), (2048, 64)), uniform(-1.0, 1.0), ""),
    "points": (sizes((16, 16), (256, 64), (1024, 64)), uniform(-1.0, 1.0), ""),
    "pairs": (sizes((64, 32, 2), (1024, 512, 2), (4096, 2048, 2)), uniform(-1.0, 1.0), ""),
    "vectors": (VECTORS, uniform(-1.0, 1.0), ""),
    "axes": (VECTORS, uniform(-1.0, 1.0), ""),
    "sums": (MATRICES, uniform(-1.0, 1.0), ""),
    "left": (MATRICES, uniform(-1.0, 1.0), ""),
    "right": (MATRICES, uniform(-1.0, 1.0), ""),
    "signals": (sizes((2, 4, 64), (16, 16, 1024), (32, 32, 4096)), uniform(-1.0, 1.0), ""),
    "images": (PICTURES, uniform(-1.0, 1.0), ""),
    "maps": (PICTURES, uniform(-1.0, 1.0), ""),
    "volumes": (sizes((1, 2, 8, 8, 8), (4, 8, 16, 32, 32)), uniform(-1.0, 1.0), ""),
    "bags": (sizes((8, 4), (512, 16), (4096, 16)), lambda v: integers(0, v.table[0]), INDEX),
    "table": (sizes((64, 16), (20000, 64), (20000, 256)), uniform(-1.0, 1.0), ""),
    "tokens": (sizes((32,), (4096,), (32768,)), integers(0, 20000), INDEX),
    "above": (sizes((32, 16), (4096, 64), (32768, 256)), uniform(-1.0, 1.0), ""),
    "kernel": (sizes((4, 4, 3, 3), (16, 16, 3, 3), (32, 32, 3, 3)), uniform(-0.2, 0.2), ""),
    "channel": (sizes((4,), (16,), (32,)), POSITIVE, ""),
}  # fmt: skip
#: Inputs that losses compare with: nobody asks for their gradient.
COMPARED = ("target", "sign")
#: What their sides have to do with each other, where shapes alone do not say it.
SIDES = {
    "baddbmm": {"sums": "b m n", "left": "b m k", "right": "b k n"},
    "mv": {"data": "m n", "row": "n"},
    "select_scatter": {"data": "m n", "row": "n"},
    "index_put": {"data": "m n", "row": "n"},
    "cdist": {"rows": "m k", "points": "n k"},
    "cdist_l1": {"rows": "m k", "points": "n k"},
    "einsum": {"rows": "m k", "points": "n k"},
    "dot_product": {"row": "n", "column": "n"},
    "embedding_backward": {"above": "count width", "tokens": "count"},
    "convolution_backward": {"maps": "b o h w", "images": "b c h w", "kernel": "o c r s"},
    "native_batch_norm_legit": {"images": "b c h w", "channel": "c"},
    "batch_norm_no_training": {"images": "b c h w", "channel": "c"},
    "group_norm_backward": {"maps": "b c h w", "images": "b c h w", "channel": "c"},
}

#: What they need of their parameters, where shapes of as many sides are not enough.
CONDITIONS: dict[str, tuple[str, ...]] = {
    "adaptive_avg_pool1d": ("signals[2] >= 1",),
    "adaptive_avg_pool2d": ("min(images[2:]) >= 1",),
    "adaptive_avg_pool3d": ("min(volumes[1:]) >= 1",),
    "adaptive_max_pool2d": ("min(images[1:]) >= 1",),
    "avg_pool3d": ("volumes[1] >= 1", "min(volumes[2:]) >= 2"),
    "max_pool2d_with_indices": ("images[1] >= 1", "min(images[2:]) >= 2"),
    "max_pool3d_with_indices": ("volumes[1] >= 1", "min(volumes[2:]) >= 2"),
    "reflection_pad1d": ("signals[1] >= 1", "signals[2] >= 3"),
    "reflection_pad2d": ("images[1] >= 1", "min(images[2:]) >= 3"),
    "reflection_pad3d": ("volumes[1] >= 1", "min(volumes[2:]) >= 3"),
    "replication_pad2d": ("min(images[1:]) >= 1",),
    "replication_pad3d": ("min(volumes[1:]) >= 1",),
    "circular_pad": ("min(images[2:]) >= 2",),
    "scatter_reduce": ("reduce in ('sum', 'prod', 'mean', 'amax', 'amin')",),
    "chunk": ("chunks >= 1",),
    "cdist": ("p >= 0",),
    "channel_shuffle": ("images[1] % groups == 0",),
    "upsample_bicubic2d": ("min(images[1:]) >= 1",),
    "pdist": ("points[0] >= 1",),
    "fft_rfft": ("min(data) >= 1",),
    "fft_irfft": ("data[0] >= 1", "data[1] >= 2"),
    "fft_fft2": ("min(data) >= 1",),
    "embedding_bag": ("bags[1] >= 1", "mode in ('mean', 'sum', 'max')"),
    "masked_softmax": ("data[dim] >= 1", "mask[dim] >= 1"),
    "select_scatter": ("data[0] >= 4",),
    "select": ("data[0] >= 4",),
    "as_strided": ("prod(data) >= 4 * (data[0] // 2) - 2",),
    "view_as_complex": ("pairs[2] == 2",),
    "unfold": ("data[0] >= 2",),
    "lp_pool2d": ("images[1] >= 1", "min(images[2:]) >= 2"),
    "cross_product": ("vectors[-1] == axes[-1] == 3",),
    "kthvalue": ("1 <= k <= data[dim]",),
    "item": ("min(data) >= 1",),
    "index_put": ("data[0] >= 1",),
    "index_fill": ("data[0] >= 1",),
    "native_batch_norm_legit": ("min(images) >= 1",),
    "adaptive_avg_pool2d_backward": ("min(maps[1:]) >= 1",),
    "avg_pool2d_backward": ("images[1] >= 1", "min(images[2:]) >= 2"),
    "max_pool2d_backward": ("images[1] >= 1", "min(images[2:]) >= 2"),
    "convolution_backward": ("maps[1] >= 1", "min(images[2:]) >= 1", "kernel[2:] == (3, 3)"),
    "group_norm_backward": ("min(images[:2]) >= 1",),
}
#: What their gradient needs besides.
IN_BACKWARD = {
    "adaptive_avg_pool1d": "min(signals[1:]) >= 1",
    "adaptive_avg_pool2d": "min(images[1:]) >= 1",
    "channel_shuffle": "images[1] >= groups",
    "unbind": "signals[0] >= 1",
    "native_dropout": "prod(data) >= 1",
}

TABLE = """
adaptive_avg_pool1d      F.adaptive_avg_pool1d(signals, 8)
adaptive_avg_pool2d      F.adaptive_avg_pool2d(images, 8)
adaptive_avg_pool3d      F.adaptive_avg_pool3d(volumes, 4)
adaptive_max_pool2d      F.adaptive_max_pool2d(images, 8)
avg_pool3d               F.avg_pool3d(volumes, 2)
max_pool2d_with_indices  F.max_pool2d(images, 2, return_indices=True)[0]
max_pool3d_with_indices  F.max_pool3d(volumes, 2, return_indices=True)[0]
reflection_pad1d         F.pad(signals, (2, 2), "reflect")
reflection_pad2d         F.pad(images, (2, 2, 2, 2), "reflect")
reflection_pad3d         F.pad(volumes, (2, 2, 2, 2, 2, 2), "reflect")
replication_pad2d        F.pad(images, (2, 2, 2, 2), "replicate")
replication_pad3d        F.pad(volumes, (2, 2, 2, 2, 2, 2), "replicate")
circular_pad             F.pad(images, (2, 2, 2, 2), "circular")
channel_shuffle          F.channel_shuffle(images, {groups})
upsample_bicubic2d       F.interpolate(images, scale_factor=2, mode="bicubic")
cdist                    torch.cdist(rows, points, {p})
cdist_l1                 torch.cdist(rows, points, 1.0)
pdist                    torch.pdist(points)
fft_rfft                 torch.fft.rfft(data)
fft_irfft                torch.fft.irfft(data)
fft_fft2                 torch.fft.fft2(data)
embedding_bag            F.embedding_bag(bags, table, mode={mode})
gather                   torch.gather(data, 1, place)
scatter                  torch.scatter(data, 1, place, other)
scatter_add              torch.scatter_add(data, 1, place, other)
scatter_reduce           torch.scatter_reduce(data, 1, place, other, {reduce})
masked_scatter           torch.masked_scatter(data, mask, other)
masked_select            torch.masked_select(data, mask)
masked_softmax           torch._masked_softmax(data, mask, {dim}, 2)
select_scatter           torch.select_scatter(data, row, 0, 3)
slice_scatter            torch.slice_scatter(data, top, 0, 0, half)
select                   torch.select(data, 0, 3)
as_strided               torch.as_strided(data, (half, 2), (4, 2))
alias                    torch.ops.aten.alias(data)
view                     data.view(-1)
view_as_real             torch.view_as_real(data)
view_as_complex          torch.view_as_complex(pairs)
narrow                   torch.narrow(data, 0, 0, half)
unfold                   data.unfold(0, 2, 2)
unbind                   torch.unbind(signals)[0]
chunk                    torch.chunk(data, {chunks})[0]
split_with_sizes         torch.split(data, parts)[0]
movedim                  torch.movedim(images, 1, 3)
channels_last            images.contiguous(memory_format=torch.channels_last)
repeat_torch             data.repeat(2, 2)
rot90                    torch.rot90(data)
triu                     torch.triu(data)
trace                    torch.trace(data)
outer                    torch.outer(row, column)
mv                       torch.mv(data, row)
dot_product              torch.dot(row, column)
baddbmm                  torch.baddbmm(sums, left, right)
einsum                   torch.einsum("ij,kj->ik", rows, points)
hardtanh                 F.hardtanh(data)
celu                     F.celu(data)
gelu_tanh                F.gelu(data, approximate="tanh")
rrelu                    F.rrelu(data, training=True)
tanhshrink               F.tanhshrink(data)
lp_pool2d                F.lp_pool2d(images, 2, 2)
binary_cross_entropy     F.binary_cross_entropy(chance, target)
poisson_nll_loss         F.poisson_nll_loss(data, target)
margin_ranking_loss      F.margin_ranking_loss(data, other, sign)
triplet_margin_loss      F.triplet_margin_loss(data, other, positive)
cross_product            torch.linalg.cross(vectors, axes)
qr                       torch.linalg.qr(points)[0]
pinv                     torch.linalg.pinv(points)
matrix_norm              torch.linalg.matrix_norm(data)
cummax                   torch.cummax(data, {dim})[0]
logcumsumexp             torch.logcumsumexp(data, {dim})
diff                     torch.diff(data)
kthvalue                 torch.kthvalue(data, {k}, {dim})[0]
native_dropout           torch.native_dropout(data, 0.5, True)[0]
"""

#: The same for what has no gradient.
WITHOUT_GRADIENT = """
contiguous                turned.contiguous()
empty                     torch.empty(shape, {options})
empty_strided             torch.empty_strided(shape, strides, {options})
empty_like                torch.empty_like(data)
full_like                 torch.full_like(data, 1.5)
scalar_tensor             torch.scalar_tensor(1.5, {options})
eye                       torch.eye(count, {options})
linspace                  torch.linspace(0.0, 1.0, count, {options})
randperm                  torch.randperm(count, {options})
rand_like                 torch.rand_like(data)
bernoulli                 torch.bernoulli(chance)
fill                      torch.fill(data, 0.5)
copy                      torch.ops.aten.copy(data, other)
resize_                   data.resize_(shape)
item                      corner.item()
unique                    torch.unique(place)
histc                     torch.histc(data, {bins})
bucketize                 torch.bucketize(data, edges)
allclose                  torch.allclose(data, twin)
isclose                   torch.isclose(data, other)
msort                     torch.msort(data)
nonzero_static            torch.nonzero_static(mask, size=count)
index_put                 data.index_put((chosen,), row)
index_fill                torch.index_fill(data, 0, chosen, 0.5)
sym_size                  torch.ops.aten.sym_size.int(data, 0)
sym_stride                torch.ops.aten.sym_stride.int(data, 0)
sym_numel                 torch.ops.aten.sym_numel(data)
sym_storage_offset        torch.ops.aten.sym_storage_offset(data)
sym_is_contiguous         torch.ops.aten.sym_is_contiguous(data)
native_batch_norm_legit   aten._native_batch_norm_legit(images, channel, channel, True, 0.1, 1e-5)
batch_norm_no_training    aten._native_batch_norm_legit_no_training(
    images, channel, channel, channel, channel, 0.1, 1e-5)
adaptive_avg_pool2d_backward  aten._adaptive_avg_pool2d_backward(few, maps)
avg_pool2d_backward       aten.avg_pool2d_backward(
    pooled, images, [2, 2], [2, 2], [0, 0], False, True, None)
max_pool2d_backward       aten.max_pool2d_with_indices_backward(
    pooled, images, [2, 2], [2, 2], [0, 0], [1, 1], False, found)
convolution_backward      aten.convolution_backward(
    maps, images, kernel, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [True, True, False])
embedding_backward        aten.embedding_dense_backward(above, tokens, 20000, -1, False)
group_norm_backward       aten.native_group_norm_backward(
    maps, images, means, rstds, channel, batch, channels, area, 2, [True, True, True])
layer_norm_backward       aten.native_layer_norm_backward(
    other, data, width, mean, rstd, None, None, [True, False, False])
"""
#: Options of a row, at their usual values: `{mode}` in the call.
OPTIONS: dict[str, dict[str, Any]] = {
    "channel_shuffle": {"groups": 2},
    "embedding_bag": {"mode": "mean"},
    "scatter_reduce": {"reduce": "amax"},
    "masked_softmax": {"dim": 1},
    "chunk": {"chunks": 2},
    "cummax": {"dim": 1},
    "logcumsumexp": {"dim": 1},
    "kthvalue": {"k": 2, "dim": 1},
    "cdist": {"p": 2.0},
    "histc": {"bins": 100},
}
#: What a row needs besides its inputs.
SETUPS = {
    "split_with_sizes": "parts = [n // 4, n - n // 4]",
    "item": "corner = data[0, 0]",
    "contiguous": "turned = data.t()",
    "empty": "shape = data.shape",
    "empty_strided": "shape, strides = data.shape, data.stride()",
    "eye": "count = row.shape[0]",
    "linspace": "count = data.numel()",
    "randperm": "count = place.shape[0]",
    "resize_": "shape = data.shape",
    "nonzero_static": "count = mask.shape[0]",
    "allclose": "twin = data.clone()",
    "bucketize": "edges = edges.sort()[0]",
    "index_put": "chosen = tokens % n",
    "index_fill": "chosen = tokens[:8] % n",
    "adaptive_avg_pool2d_backward": "few = maps[:, :, :8, :8].contiguous()",
    "avg_pool2d_backward": "pooled = F.avg_pool2d(images, 2)",
    "max_pool2d_backward": "pooled, found = F.max_pool2d(images, 2, return_indices=True)",
    "group_norm_backward": "means = torch.zeros(images.shape[0], 2).to(images)\n"
    "rstds, area = torch.ones_like(means), images[0, 0].numel()\n"
    "batch, channels = images.shape[:2]",
    "layer_norm_backward": "mean = torch.zeros(data.shape[0], 1).to(data)\n"
    "rstd, width = torch.ones_like(mean), data.shape[1:]",
}
#: The others are for floats alone.
TAKEN = {
    ALL: "masked_select select as_strided alias view narrow unfold unbind chunk split_with_sizes "
    "movedim contiguous channels_last repeat_torch circular_pad select_scatter slice_scatter "
    "empty empty_strided empty_like full_like eye fill copy resize_ item",
    NUMBERS: "gather scatter scatter_add masked_scatter rot90 triu trace diff outer mv dot_product "
    "baddbmm einsum cross_product channel_shuffle reflection_pad1d reflection_pad2d "
    "reflection_pad3d replication_pad2d replication_pad3d index_put index_fill",
    (COMPLEX,): "fft_irfft view_as_real",
    ANALYTIC: "fft_fft2 qr pinv matrix_norm logcumsumexp",
    ANY: "scatter_reduce cummax kthvalue msort max_pool2d_with_indices max_pool3d_with_indices",
}
#: Said of the other frameworks, which may have the like.
TORCH_ONLY = "the catalogue has this entry in torch only"
FIRST = "backward goes from the first of its results alone"
NOTES = {
    "resize_": "to the shape that it has",
    **dict.fromkeys(("chunk", "split_with_sizes", "unbind"), FIRST),
}
DTYPES = {name: dtypes for dtypes, names in TAKEN.items() for name in names.split()}


#: Element by element: of tensors of any number of sides.
ELEMENTWISE = {
    "hardtanh", "celu", "gelu_tanh", "rrelu", "tanhshrink", "isclose", "allclose", "full_like",
    "rand_like", "empty_like", "fill", "copy", "bernoulli", "native_dropout", "poisson_nll_loss",
    "binary_cross_entropy", "alias", "view", "histc",
}  # fmt: skip


def row(line: str, grad: bool) -> Operator:
    name, call = line.split(maxsplit=1)
    text, first = call.removesuffix("[0]"), "y[0]" if call.endswith("[0]") else "y"
    used = f"{call} {SETUPS.get(name, '')}"
    words = dict.fromkeys(re.findall(r"\b[a-z]+\b", used))
    named = [word for word in words if word in KINDS and not re.search(rf"[.\"]{word}\b", used)]
    counted = bool(re.search(r"\b(n|half)\b", used))
    if counted and "data" not in named:
        named.append("data")
    setup = "\n".join(filter(None, (
        "n, half = data.shape[0], data.shape[0] // 2" if counted else "",
        "aten = torch.ops.aten" if call.startswith("aten.") else "",
        SETUPS.get(name, ""),
    )))  # fmt: skip
    inputs = tuple(
        Input(
            each,
            domain,
            dtype,
            grad=grad and not dtype and each not in COMPARED,
            shape=shape if callable(shape) else None,
        )
        for each in named
        for shape, domain, dtype in [KINDS[each]]
    )
    # Where every input has a dtype of its own, that is the one which is computed with.
    own = {each.dtype for each in inputs} or {""}
    dtypes = DTYPES.get(name, ("float32", "float64", "bfloat16"))
    return op(
        name, "aten", inputs, {each.name: KINDS[each.name][0] for each in inputs if not each.shape},
        grad=grad, dtypes=dtypes if "" in own else tuple(own), flops=None,
        result=None if name in ELEMENTWISE else result_of,
        sides=SIDES.get(name, {}), needs=needs(name), parity="",
        torch=Call(text, setup=setup, output=first, compilable=grad, note=NOTES.get(name, "")),
        absent=dict.fromkeys(set(FRAMEWORKS) - {"torch", "torch_compile"}, TORCH_ONLY),
        **OPTIONS.get(name, {}),
    )  # fmt: skip


def needs(name: str) -> dict[str, str]:
    found = dict.fromkeys(CONDITIONS.get(name, ()), "")
    return found | ({IN_BACKWARD[name]: "backward"} if name in IN_BACKWARD else {})


def result_of(v: Values) -> Shape:
    """For scaling alone: about as much as it is given."""
    shapes = (shape for shape in vars(v).values() if isinstance(shape, tuple))
    return max(shapes, key=prod, default=())


OPERATORS = tuple(
    row(line, grad)
    for text, grad in ((TABLE, True), (WITHOUT_GRADIENT, False))
    for line in re.sub(r"\n +", "", text).strip().splitlines()
)
