"""Bytes the framework allocates during one call, from its own allocator, not from RSS.

The value is what one call needs at its peak above what it is given, in every framework: results,
gradients, what is saved for the backward pass, room to work in. Nothing of the call before counts
against it: old results are released, and gradients that a framework keeps from call to call (MXNet)
count as made. The detail has the rest: the
bytes of each component (inputs, layer, gradients, …), the level after each line of the statement
and its peak, hence after forward and after backward, and `max_memory`, the peak of everything.

The case runs here line by line in a namespace of its own, from a fresh setup, so that every byte
allocated since then is accounted for.
"""

import gc
import importlib
import sys
import time

from ..memory.ledger import Cuda, Events, Traced, largest_rise
from ..memory.lines import Lines
from ..session import Unsupported

DESCRIBE = {
    "unit": "bytes",
    "description": "peak bytes of one call: results, gradients, saved tensors, scratch space",
    "sampled": False,
}

#: Frameworks with a module of their own in `worker/memory`.
ACCOUNTS = ("jax", "mxnet")

#: Lazily created state (caches, an optimizer's averages, grown lists) exists after this many calls.
SETTLING_CALLS = 2
#: The account of one call repeats to the byte; a second call shows that it does.
REPEATS = 2
#: A call of many thousand allocations is slow to record: it is recorded once, after one other.
SLOW_CALL = 0.1


def measure(session, _options):
    framework = session.case["framework"]
    if framework in ACCOUNTS:
        package = __package__.rpartition(".")[0] + ".memory."
        return importlib.import_module(package + framework).measure(session)
    if framework == "onnxruntime":
        raise Unsupported("onnxruntime does not report what it allocates")
    torch = sys.modules.get("torch")
    on_cuda = torch is not None and session.case["device"].startswith("cuda")
    kind = Traced if torch is None else Cuda if on_cuda else Events
    if on_cuda:
        # Libraries keep workspaces from their first call on: part of the offset in every case.
        session.run("calls", 1)
    session.loop.close()
    gc.collect()
    case = Lines(session)
    with kind(torch) as ledger:
        with ledger.piece("setup"):
            case.run(case.setup)
        with ledger.piece("settling"):
            began = time.perf_counter()
            case.call()
            slow = time.perf_counter() - began > SLOW_CALL
            for _ in range(0 if slow else SETTLING_CALLS - 1):
                case.call()
        repeats = 1 if slow else REPEATS
        for _ in range(repeats):
            gc.collect()
            with ledger.piece("before"):
                case.release()
                case.run(case.before)
            for line in case.statement:
                with ledger.piece(line.text):
                    case.run([line])
        components = {
            name: storages_of(case.evaluate(expression), torch)
            for name, expression in session.case.get("components") or ()
        }
    recorded = ledger.pieces()
    per_call = 1 + len(case.statement)  # `before`, then the lines
    rounds = [recorded[2 + i * per_call : 2 + (i + 1) * per_call] for i in range(repeats)]
    peaks = [largest_rise(pieces[1:]) for pieces in rounds]
    detail = account(rounds[-1], case.statement, ledger)
    detail["components"] = by_component(components, ledger, rounds[-1][-1].end, torch, on_cuda)
    if on_cuda:
        detail["requested"] = {name: sum(found.values()) for name, found in components.items()}
        detail["reserved"] = max(piece.reserved for piece in rounds[-1])
    return {"results": {"memory": {"samples": peaks, "detail": detail}}}


def account(pieces, statement, ledger):
    """The level after each line of one call, and its peak."""
    before, lines = pieces[0], pieces[1:]
    stages = {"before": lines[0].start}
    backward = next((i for i, line in enumerate(statement) if line.goes_backward), None)
    if backward is None:
        last = max((i for i, line in enumerate(statement) if not line.deletes), default=0)
        stages["after_forward"] = lines[last].end
    else:
        stages["after_forward"] = lines[backward - 1].end if backward else before.end
        stages["after_backward"] = lines[backward].end
    return {
        "source": ledger.source,
        "left_after": lines[-1].end - lines[0].start,
        "max_memory": max(piece.high for piece in lines),
        "stages": stages,
        "lines": [
            {"source": line.name, "held": line.end, "peak": line.high} for line in lines[:40]
        ],
    }


def by_component(components, ledger, held, torch, on_cuda):
    """Bytes of each component, and of everything else: together, all that is held."""
    sizes = block_sizes(torch) if on_cuda else {}
    found = {
        name: sum(sizes.get(address, size) for address, size in storages.items())
        for name, storages in components.items()
    }
    # Two components may share a storage; it is held once.
    every = {a: size for storages in components.values() for a, size in storages.items()}
    known = sum(sizes.get(a, size) for a, size in every.items())
    return {"offset": ledger.offset, **found, "other": max(0, held - ledger.offset - known)}


def block_sizes(torch):
    """What the caching allocator reserved at each address: it rounds requests up."""
    sizes = {}
    for segment in torch.cuda.memory_snapshot():
        address = segment["address"]
        for block in segment["blocks"]:
            sizes[address] = block["size"]
            address += block["size"]
    return sizes


def storages_of(value, torch):
    """Address and bytes of the distinct storages behind tensors, modules or containers of them."""
    storages = {}
    todo = [value]
    while todo:
        item = todo.pop()
        if torch is not None and isinstance(item, torch.Tensor):
            storage = item.untyped_storage()
            if storage.nbytes():
                storages[storage.data_ptr()] = storage.nbytes()
        elif torch is not None and isinstance(item, torch.nn.Module):
            todo.extend(item.parameters())
            todo.extend(item.buffers())
        elif isinstance(item, dict):
            todo.extend(item.values())
        elif isinstance(item, (list, tuple, set)):
            todo.extend(item)
        elif hasattr(item, "nbytes"):
            storages[id(item)] = int(item.nbytes)
    return storages
