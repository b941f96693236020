"""Source that creates the tensors of a replayed call, filled as they were captured."""

TENSOR = '''\
def tensor(shape, dtype, strides=None, values=None, device="cpu", offset=0, within=None):
    """A tensor that lies in memory, and is filled, as the captured one."""
    if within is None:
        last = sum((n - 1) * s for n, s in zip(shape, strides)) if strides else 0
        size = math.prod(shape) if strides is None else offset + last + 1
        within = torch.empty(size if math.prod(shape) else 0, dtype=dtype, device=device)
    if strides is None:
        strides = torch.empty(shape, device="meta").stride()
    fill(within, values)
    made = within.as_strided(shape, strides, offset)
    place(made, values)
    return made


def fill(flat, values):
    """Values decide time: keep range, sign, and the share of zeros, denormals and masked-out
    elements (lowest, highest, mean, deviation, zeros, denormals, masked, order)."""
    if not flat.numel():
        return
    if flat.dtype.is_floating_point or flat.dtype.is_complex:
        known = (*(values or (-3, 3, 0, 1)), 0, 0, 0, 0, 0)
        low, high, mean, spread, zeros, tiny, masked = known[:7]
        real = torch.view_as_real(flat) if flat.dtype.is_complex else flat
        wide = torch.empty(real.shape, device=flat.device)
        if low == high:
            wide.fill_(low)
        else:
            wide.normal_(mean, spread)
            if low >= 0:
                wide.abs_()
            wide.clamp_(low, high)
        for share, value in (
            (zeros, 0.0),
            (tiny, 1e-39 if real.dtype != torch.float16 else 1e-7),
            (masked, torch.finfo(real.dtype).min),
        ):
            if share:
                wide[torch.rand(real.shape, device=flat.device) < share] = value
        real.copy_(wide)
    elif values and "true" in values:
        flat.copy_(torch.rand(flat.shape, device=flat.device) < values["true"])
    elif values and "lo" in values:
        found = drawn(flat.numel(), values)
        if "marked" in values:
            mark, share = values["marked"]
            found[torch.rand(flat.shape) < share] = mark
        flat.copy_(found)
    else:
        flat.fill_(values.get("all", 0) if values else 0)


def drawn(n, values):
    """n integers, in the range, order and skew of the captured ones."""
    low, high = values["lo"], values["hi"] + 1
    distinct = min(max(1, round(values.get("distinct", 0) * n)), high - low)
    if "heads" in values:
        # Shares of the 1, 2, 4, 8, ... most frequent ones; those in between are equally frequent.
        ranks = [0, *(min(2**power, distinct) for power in range(len(values["heads"]))), distinct]
        sums = torch.tensor([0.0, *values["heads"], 1.0], dtype=torch.float64) * n
        each = torch.cat([
            ((after - before) / max(last - first, 1)).repeat(last - first)
            for first, last, before, after in zip(ranks, ranks[1:], sums, sums[1:])
        ])
        middles = torch.arange(n, dtype=torch.float64) + 0.5
        rank = torch.searchsorted(each.cumsum(0), middles).clamp_(max=distinct - 1)
        found = different(distinct, low, high)[rank][torch.randperm(n)]
    elif distinct == n:
        found = different(n, low, high)
    else:
        found = torch.randint(low, max(high, low + 1), (n,))
    if values.get("sorted"):
        found = found.sort().values
        found[0], found[-1] = values["lo"], values["hi"]  # offsets begin and end where they did
        found = found.flip(0) if values["sorted"] == "down" else found
    return found


def different(n, low, high):
    """n different integers."""
    if high - low <= max(1 << 24, 4 * n):
        return torch.randperm(high - low)[:n] + low
    return torch.randint(low, high, (2 * n,)).unique()[torch.randperm(n)]


def mask(n, values):
    """n booleans: as many true ones as captured, in runs as long as captured."""
    count = min(values["count"], n)
    runs = max(1, min(round(count / max(values["run"], 1)), count, n - count + 1))
    cuts = torch.randperm(max(count - 1, 1))[: runs - 1].sort().values + 1
    true = torch.diff(torch.cat([torch.tensor([0]), cuts, torch.tensor([count])]))
    gaps = torch.randperm(n - count + 1)[:runs].sort().values
    false = torch.diff(torch.cat([torch.tensor([0]), gaps, torch.tensor([n - count])]))
    lengths = torch.stack([false[:-1], true], 1).reshape(-1)
    return alternating(torch.cat([lengths, false[-1:]]))


def alternating(lengths):
    """Runs of false and true ones in turn, the first of false ones."""
    return (torch.arange(len(lengths)) % 2 == 1).repeat_interleave(lengths)


def unpacked(text, n):
    data = torch.frombuffer(bytearray(base64.b64decode(text)), dtype=torch.uint8)
    return (data[:, None] >> torch.arange(8)).bitwise_and(1).reshape(-1)[:n].bool()


def sparse(layout, shape, parts, coalesced):
    """A sparse tensor of the captured pattern."""
    if layout == "sparse_coo":
        made = torch.sparse_coo_tensor(*parts, shape, check_invariants=False)
        return made._coalesced_(coalesced)
    made = getattr(torch, f"{layout}_tensor")
    return made(*parts, shape, check_invariants=False)


def place(made, values):
    """What the elements of a tensor have to be one by one, or in their order."""
    if not made.numel():
        return
    # An expanded dimension is one element in memory.
    once = tuple(slice(0, 1) if step == 0 else slice(None) for step in made.stride())
    if not isinstance(values, dict):
        if len(values or ()) > 7 and values[7] and made.dim():
            there = made[once]
            there.copy_(there.sort(descending=values[7] < 0).values)
        return
    if "count" in values:
        there = made[once]
        there.copy_(mask(there.numel(), values).view(there.shape))
        return
    if "is" in values:
        listed = torch.tensor(values["is"], dtype=torch.int64)
    elif "bits" in values:
        listed = torch.tensor([bit == "1" for bit in values["bits"]])
    elif "runs" in values:
        listed = alternating(torch.tensor(values["runs"]))
    elif "packed" in values:
        listed = unpacked(values["packed"], made.numel())
    elif "from" in values:
        listed = values["from"] + values["by"] * torch.arange(made.numel())
    else:
        return
    listed = listed.view(made.shape)
    made[once].copy_(listed[once])
'''
