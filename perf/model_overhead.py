"""Whether the parts of a DP-SGD step explain what it costs: three models, every mode.

`opbench layers --model` attributes the difference between a private and the non-private step to
layers, clipping, noise and optimizer. Here it does so for a CNN, an LSTM and a transformer; the sum
of the parts should be within 10 % of the difference of steps without marks, with which they took
turns (`explained`; the first column is of other moments).
"""

from __future__ import annotations

import os
from pathlib import Path

from opbench.api.run import execute
from opbench.define.expand import expand
from opbench.suites.layers.model.definition import model_definition
from opbench.suites.layers.model.overhead import overheads, steps

TITLE = "Layers: the overhead of a model, explained by its parts"
CODE = ("suites/layers", "worker/metrics")

FILE = Path(__file__).parent.parent / "docs" / "examples" / "my_model.py"
MODELS = ("cnn", "lstm", "transformer")
BATCH = 32
WITHIN = 0.1


def measure(quick: bool = False) -> str:
    rows = ["| model | step | difference | sum of parts | explained | |"]
    rows.append("| :-- | :-- | --: | --: | --: | :-- |")
    for model in MODELS:
        where = os.path.relpath(f"{FILE}:{model}")
        definition = model_definition(where, ("hooks", "functorch", "ew", "ghost"), (BATCH,))
        cases = [case for case in expand([definition]) if "split" not in str(case.axes["mode"])]
        options = {
            "metrics": ("time", "parts"),
            "baseline": "mode=baseline",
            "timeout": 300.0,
            "max_time_per_case": 1.0 if quick else 10.0,
            "save": False,
        }
        for pair in overheads(steps(execute(options, cases=cases).results)):
            if pair.explained is None or pair.measured is None:
                reasons = "; ".join(dict.fromkeys(pair.step.failed.values()))
                rows.append(f"| {model} | {pair.step.mode} | | | {reasons} | |")
                continue
            verdict = "within 10 %" if abs(pair.explained - 1) <= WITHIN else "**missed**"
            rows.append(
                f"| {model} | {pair.step.mode} | {pair.measured * 1e3:.2f} ms "
                f"| {sum(pair.differences.values()) * 1e3:.2f} ms "
                f"| {pair.explained * 100:.0f} % | {verdict} |"
            )
    return "\n".join(rows)


if __name__ == "__main__":
    print(measure())
