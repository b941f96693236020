"""The clock of `torch.utils.benchmark`: `Timer(stmt).timeit(n).mean`, its own warm-up included."""

import sys

from ..session import Unsupported
from ..watch import Watch

DESCRIBE = {
    "unit": "s",
    "description": "wall-clock time of one call as torch.utils.benchmark.Timer reports it",
    "sampled": True,
}


def block(session, n):
    if "torch" not in sys.modules:
        raise Unsupported("torch's timer needs torch")
    if session.case["way"] != "repeatable":
        raise Unsupported("torch's timer would also time the preparation of this stage")
    import torch.utils.benchmark

    names = dict(session.module.__dict__)
    names.update(session.loop.gi_frame.f_locals)
    names = {name: value for name, value in names.items() if not name.startswith("_ob_")}
    timer = torch.utils.benchmark.Timer(
        session.case["stmt"], globals=names, num_threads=session.case["threads"]
    )
    with Watch(session.case.get("threads")) as watch:
        measurement = timer.timeit(n)
    return watch.sample(measurement.mean, n)
