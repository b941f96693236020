"""The Python interface of the Opacus layer benchmarks, over the source of the suite's own cases.

    from opbench.layer_benchmarks import LayerFactory, run_layer_benchmark

    layer = LayerFactory.create(layer_name="linear", gsm_mode="hooks", batch_size=16,
                                input_shape=[], in_features=512, out_features=512)
    layer.forward_backward()

A layer made here lives in the calling process, to be looked at and tried; what is timed is timed in
a worker, by `run_layer_benchmark`.
"""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING, Any

from opbench.errors import UserError, unknown

if TYPE_CHECKING:
    from opbench.case import Case


#: Beginnings of warnings that no caller can do anything about. A wrapped layer has hooks for the
#: gradient of an input that needs none, as in the study; and Opacus takes the whole numbers that go
#: into an embedding for mixed precision.
EXPECTED = (
    "Full backward hook is firing when gradients are computed with respect to module outputs",
    "In CPU autocast, but the target dtype is not supported",
)


class LayerType:
    """The names that Opacus has for layers, which are those of the published study."""

    LINEAR = "linear"
    CONV = "conv"
    LAYERNORM = "layernorm"
    INSTANCENORM = "instancenorm"
    GROUPNORM = "groupnorm"
    EMBEDDING = "embedding"
    MHA = "mha"
    DPMHA = "dpmha"
    RNN = "rnn"
    DPRNN = "dprnn"
    GRU = "gru"
    DPGRU = "dpgru"
    LSTM = "lstm"
    DPLSTM = "dplstm"


class Layer:
    """One layer with one batch of input and labels, made by the set-up of its case."""

    def __init__(self, case: Case, random_seed: int | None) -> None:
        import torch

        self.case = case
        seed = torch.initial_seed() if random_seed is None else random_seed
        self._names: dict[str, Any] = {"seed": seed, "__name__": "layer"}
        self._execute(case.globals)
        self._execute(case.setup)

    def __repr__(self) -> str:
        from opbench.suites.layers.notes import built

        mode, batch = self.case.axes["mode"], self.case.axes["batch_size"]
        where = f"mode {mode}, batch size {batch}, {self.labels.device}"
        return f"<Layer {self.case.name}, {where}: {built(self.case)}>"

    @property
    def module(self) -> Any:
        return self._names["net"]

    @property
    def input_tensor(self) -> Any:
        """The input; the query of attention."""
        return self._names["x"]

    @property
    def labels(self) -> Any:
        """What the loss compares the output with."""
        return self._names["labels"]

    def forward_only(self) -> Any:
        """The output of one forward pass."""
        self._forget_forward_passes()
        self._execute(self._forward)
        return self._names.pop("y")

    def forward_backward(self) -> None:
        """One step; the gradients are there afterwards, and are let go by the next one."""
        self._forget_forward_passes()
        self._execute(self.case.stmt)

    def to(self, device: Any) -> dict[str, int]:
        """Move input, module and labels; bytes that each takes on a CUDA device, else 0."""
        import torch

        device = torch.device(device)
        stats: dict[str, int] = {}

        def account(name: str) -> None:
            held = torch.cuda.memory_allocated(device) if device.type == "cuda" else 0
            stats[name] = held - sum(stats.values())

        account("offset")
        for name, expression in self.case.components:
            if expression == "net":
                self.module.to(device)
            elif expression in self._names:
                self._names[expression] = self._names[expression].to(device)
            else:
                continue  # gradients: there are none yet
            account(name)
        return stats

    def _forget_forward_passes(self) -> None:
        """Those that nobody went backward from. Opacus' hooks count them: they would hold back
        per-sample gradients until all had gone backward; ghost clipping would refuse a second."""
        for module in self.module.modules():
            if hasattr(module, "activations"):
                module.activations = []
        for parameter in self.module.parameters():
            if hasattr(parameter, "_forward_counter"):
                parameter._forward_counter = 0

    def _execute(self, source: str) -> None:
        code = compile(source, f"<{self.case.id}>", "exec")  # what a warning or traceback names
        with warnings.catch_warnings():
            for text in EXPECTED:
                warnings.filterwarnings("ignore", re.escape(text), UserWarning)
            exec(code, self._names)

    @property
    def _forward(self) -> str:
        return next(line for line in self.case.stmt.splitlines() if line.startswith("y = "))


class LayerFactory:
    @staticmethod
    def create(
        layer_name: str,
        gsm_mode: str | None = None,
        *,
        batch_size: int = 64,
        random_seed: int | None = None,
        **config: Any,
    ) -> Layer:
        """A layer with its input, in a mode; without one, in that of its name: hooks of a
        `gsm_linear`, none of a `linear`. `config` as in `run_layer_benchmark`. Raises
        ValueError for an unknown layer, mode or key, and what the library raises for a combination
        that it cannot do."""
        case = layer_case(layer_name, batch_size, gsm_mode, config, "LayerFactory.create")
        if case.unsupported:
            raise UserError(f"LayerFactory.create: {case.unsupported}")
        return Layer(case, random_seed)


def layer_case(
    name: str,
    batch_size: int,
    mode: str | None,
    config: dict[str, Any],
    origin: str,
    **more: Any,
) -> Case:
    """The case of one layer; without a `config`, of the published sizes."""
    from opbench.define.expand import expand
    from opbench.suites.layers.config import checked, published
    from opbench.suites.layers.definition import layer_definition
    from opbench.suites.layers.names import BASELINE, MODES, SECTIONS, read_name

    layer, classic_mode = read_name(name)
    if mode and classic_mode not in (BASELINE, mode):
        raise UserError(f"{name} is {layer} in the mode {classic_mode}, not {mode}")
    mode = mode or classic_mode
    if mode not in MODES:
        raise UserError(unknown("mode", mode, MODES))
    if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1:
        raise UserError(f"batch_size must be a whole number from 1 up, not {batch_size!r}")
    section = published().section(layer)
    if config:
        content = {key: list(v) if isinstance(v, tuple) else v for key, v in config.items()}
        if layer == LayerType.LINEAR:
            content.setdefault("input_shape", [])  # vectors
        section = checked({SECTIONS[layer]: content}, origin).section(layer)
    if section is None:
        raise UserError(f"{origin}: {layer} has no published size; give the keys of its section")
    definition = layer_definition(
        layer, section, modes=(mode,), batch_sizes=(batch_size,), origin=origin
    )
    (case,) = expand([definition], **more)
    return case
