"""`opbench.run_layer_benchmark(...)`: one layer at one batch size, from Python.

    runtime, memory = opbench.run_layer_benchmark("gsm_linear", batch_size=32)
    opbench.run_layer_benchmark("lstm", 16, seq_len=64, input_size=8, hidden_size=8)

Measured in a worker, as everything else is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from opbench.errors import UserError, unknown


class LayerBenchmark(NamedTuple):
    """Seconds per step, and bytes by component with the peak as `max_memory`."""

    runtime: float
    memory_stats: dict[str, int]


def run_layer_benchmark(
    layer: str,
    batch_size: int = 64,
    *,
    mode: str | None = None,
    num_repeats: int = 20,
    num_runs: int = 3,
    forward_only: bool = False,
    random_seed: int = 0,
    device: str = "cpu",
    threads: int = 1,
    clock: str = "opbench",
    **config: Any,
) -> LayerBenchmark:
    """Measure a single layer. `layer` is a layer or a classic name (`gsm_linear`), `mode` one of
    baseline, hooks, functorch, ew, ghost; `config` are keys of the layer's section in a config
    file, which override the published configuration.

    Raises `RuntimeError` with the reason when the layer could not be measured.
    """
    from opbench.api.run import execute
    from opbench.define.expand import expand
    from opbench.suites.layers.config import checked, published
    from opbench.suites.layers.definition import layer_definition
    from opbench.suites.layers.names import MODES, SECTIONS, read_name
    from opbench.suites.layers.pickles import memory_stats
    from opbench.suites.layers.suite import SUITE

    name, classic_mode = read_name(layer)
    mode = mode or classic_mode
    if mode not in MODES:
        raise UserError(unknown("mode", mode, MODES))
    if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1:
        raise UserError(f"batch_size must be a whole number from 1 up, not {batch_size!r}")
    given = published().section(name).model_dump(mode="json", exclude_unset=True)
    section = checked({SECTIONS[name]: {**given, **config}}, "run_layer_benchmark").section(name)
    stage = "forward" if forward_only else "forward_backward"
    cases = expand(
        [layer_definition(name, section, modes=(mode,), batch_sizes=(batch_size,))],
        stages=(stage,),
        device=device,
        threads=threads,
        seed=random_seed,
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
    run = execute(options, cases=cases)
    results = {result.metric: result for _, result in run}
    for result in results.values():
        if not result.ok:
            raise RuntimeError(f"{layer} at batch size {batch_size}: {result.outcome_text}")
    time = next(result for result in results.values() if result.unit == "s")
    stats: Mapping[str, int] = memory_stats(results["memory"]) or {}
    return LayerBenchmark(float(time.estimate or 0.0), dict(stats))
