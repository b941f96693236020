"""The source of one training step of a user's model, as it is and in every private way.

A private step is what `opacus.PrivacyEngine` sets up, put together from the same parts: the model
(its layers replaced by DP versions where Opacus asks for that) wrapped for a mode, and an optimizer
that clips, adds noise and steps. `split` is what `BatchMemoryManager` makes of a step: two physical
batches, the optimizer skipping its step after the first.
"""

from __future__ import annotations

from dataclasses import dataclass

from opbench.define.program import lines
from opbench.suites.layers.model.parts_source import WATCH
from opbench.suites.layers.names import BASELINE
from opbench.suites.layers.source import REFUSALS, UNSUPPORTED, indented

#: Physical batches of a split step.
PHYSICAL = 2
FLAT, PER_LAYER = "flat", "per_layer"


@dataclass(frozen=True)
class Variant:
    """One way to take a step, and its name on the axis `mode`."""

    mode: str
    clipping: str = FLAT
    split: bool = False

    @property
    def name(self) -> str:
        clipping = [] if self.clipping == FLAT else [self.clipping]
        return "+".join([self.mode, *clipping, *(["split"] if self.split else [])])

    @property
    def private(self) -> bool:
        return self.mode != BASELINE


COMMON = '''\
def made(found, batch_size, device):
    """Model, inputs, labels and loss of what the user's function returns."""
    if not isinstance(found, tuple) or len(found) not in (3, 4):
        what = f"a tuple of {len(found)}" if isinstance(found, tuple) else type(found).__name__
        raise TypeError(
            "must be a function of batch_size that returns (model, inputs, labels), or "
            f"(model, inputs, labels, criterion), and returns {what}"
        )
    model, inputs, labels, *criterion = found
    named = inputs if isinstance(inputs, Mapping) else {}  # a tokenizer's are no dict
    inputs = inputs if isinstance(inputs, (tuple, list)) else () if named else (inputs,)
    criterion = criterion[0] if criterion else torch.nn.CrossEntropyLoss()
    every = [*(("inputs", each) for each in inputs), *named.items(), ("labels", labels)]
    for name, tensor in every:
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(
                f"{name} must be a tensor, a tuple of tensors or a dict of them, not "
                + type(tensor).__name__
            )
        if tensor.shape[:1] != (batch_size,):
            raise ValueError(
                f"{name} for batch_size={batch_size} have the shape {tuple(tensor.shape)}: the "
                "first side must be the batch"
            )
    if not any(p.requires_grad for p in model.parameters()):
        raise ValueError("the model has no parameters that require gradients")
    inputs = tuple(tensor.to(device) for tensor in inputs)
    named = {name: tensor.to(device) for name, tensor in named.items()}
    return model.to(device).train(), inputs, named, labels.to(device), criterion


def physical(inputs, named, labels, samples):
    """The batch in parts of so many samples."""
    for first in range(0, len(labels), samples):
        part = slice(first, first + samples)
        keywords = {name: tensor[part] for name, tensor in named.items()}
        yield [tensor[part] for tensor in inputs], keywords, labels[part]'''

PRIVATE = '''\
def private(model, mode, clipping, criterion, batch_size):
    """The model wrapped, its optimizer and its loss, as PrivacyEngine makes them."""
    kinds = {name: type(part).__name__ for name, part in model.named_modules()}
    model = ModuleValidator.fix(model)
    for name, part in model.named_modules():
        kind = type(part).__name__.removeprefix("DP")
        if kinds.get(name, kind).removeprefix("DP") != kind:
            part.replaces = kinds[name]
    norm = 1.0
    if mode == "ghost":
        if clipping != "flat":
            raise Unsupported("opacus has ghost clipping with flat clipping only")
        net = GradSampleModuleFastGradientClipping(
            model, batch_first=True, loss_reduction="mean", max_grad_norm=norm,
            use_ghost_clipping=True,
        )
    elif mode == "ew":
        net = GradSampleModuleExpandedWeights(model, batch_first=True, loss_reduction="mean")
    else:
        net = GradSampleModule(
            model, batch_first=True, loss_reduction="mean", force_functorch=mode == "functorch"
        )
    parameters = [p for p in net.parameters() if p.requires_grad]
    if clipping == "per_layer":
        norm = [norm / len(parameters) ** 0.5] * len(parameters)
    kind = get_optimizer_class(clipping, distributed=False, grad_sample_mode=mode)
    optimizer = kind(
        torch.optim.SGD(parameters, lr=1e-3),
        noise_multiplier=1.0, max_grad_norm=norm, expected_batch_size=batch_size,
    )
    if mode == "ghost":
        criterion = DPLossFastGradientClipping(net, optimizer, criterion, "mean")
    return net, optimizer, criterion


def refuse_further_inputs(net):
    """For a module without a formula of its own, Opacus calls the module once more, with its first
    positional input alone: the gradients by sample would fail, or be wrong. Ends the check."""

    def check(name, module, args, kwargs):
        given = [f"{key}={type(each).__name__}" for key, each in kwargs.items() if each is not None]
        if len(args) != 1 or given:
            call = ", ".join([*(type(each).__name__ for each in args), *given])
            raise Unsupported(
                "opacus passes only the first positional input to a module with parameters of its "
                f"own, and {name or 'the model'} is called as {type(module).__name__}({call}): "
                "move these parameters into a submodule that takes one tensor"
            )

    handles = [
        module.register_forward_pre_hook(partial(check, name), with_kwargs=True)
        for name, module in getattr(net, "_module", net).named_modules()
        if hasattr(module, "ft_compute_sample_grad")
    ]
    return lambda: [handle.remove() for handle in handles]'''

IMPORTS = """\
from functools import partial

from opacus.grad_sample import (
    GradSampleModule,
    GradSampleModuleExpandedWeights,
    GradSampleModuleFastGradientClipping,
)
from opacus.optimizers import get_optimizer_class
from opacus.utils.fast_gradient_clipping_utils import DPLossFastGradientClipping
from opacus.validators import ModuleValidator"""


def globals_text(variant: Variant, import_line: str) -> str:
    imports = lines(
        "import time\nfrom collections.abc import Mapping",
        import_line,
        IMPORTS if variant.private else "",
    )
    private = [PRIVATE] if variant.private else []
    return "\n\n\n".join([imports, UNSUPPORTED, COMMON, WATCH, *private])


def setup_text(variant: Variant, function: str, batch: int, device: str) -> str:
    make = (
        f'net, optimizer, criterion = private(net, "{variant.mode}", "{variant.clipping}", '
        f"criterion, {batch})"
        if variant.private
        else "optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)"
    )
    chunks = f"chunks = list(physical(inputs, named, labels, {-(-batch // PHYSICAL)}))"
    full = variant.mode in ("hooks", "functorch", "ghost")
    first = lines(
        make,
        chunks if variant.split else "",
        "# one step shows whether the library can do this" if variant.private else "",
        "end_check = refuse_further_inputs(net)" if variant.private else "",
        step_text(variant),
        "end_check()" if variant.private else "",
    )
    refusable = (
        "try:",
        indented(first),
        "except torch.cuda.OutOfMemoryError:\n    raise" if device != "cpu" else "",
        f"except ({', '.join(REFUSALS)}) as error:",
        "    raise Unsupported(str(error) or type(error).__name__) from error",
    )
    return lines(
        "torch.manual_seed(seed)",
        f"found = {function}(batch_size={batch})",
        f'net, inputs, named, labels, criterion = made(found, {batch}, "{device}")',
        *(refusable if variant.private else (first,)),
        "def watch_parts():",
        f"    return watch(net, optimizer, {device != 'cpu'}, {full})",
    )


def step_text(variant: Variant) -> str:
    if not variant.split:
        return lines(
            "optimizer.zero_grad()",
            "y = net(*inputs, **named)",
            "loss = criterion(y, labels)",
            "loss.backward()",
            "optimizer.step()",
            "del y, loss",
        )
    if variant.private:
        return lines(
            "for number, (part, keywords, target) in enumerate(chunks, 1):",
            "    optimizer.signal_skip_step(number < len(chunks))",
            "    optimizer.zero_grad()",
            "    y = net(*part, **keywords)",
            "    loss = criterion(y, target)",
            "    loss.backward()",
            "    optimizer.step()",
            "del y, loss",
        )
    return lines(
        "optimizer.zero_grad()",
        "for part, keywords, target in chunks:",
        "    y = net(*part, **keywords)",
        "    loss = criterion(y, target) / len(chunks)",
        "    loss.backward()",
        "optimizer.step()",
        "del y, loss",
    )


#: What a memory measurement reports one by one.
COMPONENTS = (
    ("inputs", "[*inputs, *named.values(), labels]"),
    ("parameters", "net"),
    ("gradients", "[p.grad for p in net.parameters()]"),
    (
        "per_sample_gradients",
        '[getattr(p, "grad_sample", None) for p in net.parameters()]',
    ),
)
