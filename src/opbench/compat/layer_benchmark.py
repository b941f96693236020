"""`opbench.run_layer_benchmark(...)`: one layer at one batch size, from Python.

    runtime, memory = opbench.run_layer_benchmark("gsm_linear", batch_size=32)
    opbench.run_layer_benchmark("lstm", 16, seq_len=64, input_size=8, hidden_size=8)

With the keywords of Opacus' function it does the same:

    run_layer_benchmark(num_repeats=20, layer_name="linear", batch_size=64, gsm_mode="hooks",
                        input_shape=[], in_features=512, out_features=512)

Measured in a worker, as everything else is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from opbench.compat.layer_factory import layer_case
from opbench.errors import UserError


class LayerBenchmark(NamedTuple):
    """Seconds per step, and bytes by component with the peak as `max_memory`."""

    runtime: float
    memory_stats: dict[str, int]


def run_layer_benchmark(
    layer: str = "",
    batch_size: int = 64,
    *,
    mode: str | None = None,
    num_repeats: int = 20,
    num_runs: int = 3,
    forward_only: bool = False,
    random_seed: int | None = None,
    device: str | None = None,
    threads: int = 1,
    clock: str = "opbench",
    layer_name: str = "",
    gsm_mode: str | None = None,
    **config: Any,
) -> LayerBenchmark:
    """Measure a single layer. `layer` is a layer or a classic name (`gsm_linear`), `mode` one of
    baseline, hooks, functorch, ew, ghost; `config` are keys of the layer's section in a config
    file, complete; without any, the layer has its published size. `layer_name` and `gsm_mode` are
    the same under the names that Opacus has for them. `device` is the GPU where there is one.

    Raises `RuntimeError` with the reason when the layer could not be measured.
    """
    from opbench.api.run import execute, uninterrupted
    from opbench.machine.gpu import default_device
    from opbench.suites.layers.pickles import memory_stats
    from opbench.suites.layers.suite import SUITE

    if bool(layer) == bool(layer_name):
        raise UserError("run_layer_benchmark: name the layer, once")
    if mode and gsm_mode and mode != gsm_mode:
        raise UserError(f"mode is {mode} and gsm_mode is {gsm_mode}; they are the same thing")
    if "create_layer" in config:
        raise UserError(
            "create_layer makes a layer in this process, and it is measured in another: register "
            "it in a file with ob.layer_pair, and run that"
        )
    name, device = layer or layer_name, device or default_device()
    case = layer_case(
        name,
        batch_size,
        mode or gsm_mode,
        config,
        "run_layer_benchmark",
        stages=("forward" if forward_only else "forward_backward",),
        device=device,
        threads=threads,
        seed=random_seed or 0,
    )
    options = {
        **SUITE.options,
        "baseline": None,  # one mode has nothing to be compared with
        "num_runs": num_runs,
        "num_repeats": num_repeats,
        "clock": clock,
        "device": device,
        "save": False,
    }
    run = uninterrupted(execute(options, cases=[case]))
    results = {result.metric: result for _, result in run}
    for result in results.values():
        if not result.ok:
            raise RuntimeError(f"{name} at batch size {batch_size}: {result.outcome_text}")
    time = next(result for result in results.values() if result.unit == "s")
    stats: Mapping[str, int] = memory_stats(results["memory"]) or {}
    return LayerBenchmark(float(time.estimate or 0.0), dict(stats))
