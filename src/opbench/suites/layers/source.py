"""The source of one step of one layer in one mode, as a person would write it for a bug report.

A step is forward, cross-entropy against random labels, backward, with the gradients of the last
step let go first, so that nothing accumulates: `grad_sample` would become a list that grows.

Modes differ in how the layer is wrapped. Whether the library can do a combination is found out by
doing it, on two samples, in the set-up; what it raises is given as the reason in its own words.
Ghost clipping has no per-sample gradients to show: its `backward` is two passes, the first for the
norms and the second for the clipped sum, and both belong to the step.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from opbench.case import UserModule
from opbench.define.program import Program, Tensor, lines
from opbench.suites.layers.shapes import Shaped

#: torch 2.13: the first backward pass imports sympy (0.5 s) unless something else has.
LATE = ("torch.fx.experimental.symbolic_shapes", "torch.autograd.profiler")
#: Dotted, so that a worker without Opacus starts all the same: plain torch.nn layers need none.
OPACUS = (
    "opacus.grad_sample",
    "opacus.layers",
    "opacus.optimizers",
    "opacus.utils.fast_gradient_clipping_utils",
)
#: The first `vmap` of a process imports the compiler (0.6 s).
FUNCTORCH = ("torch._dynamo", "torch._functorch.predispatch", "torch._inductor.utils")
EXPANDED = ("torch.nn.utils._per_sample_grad",)

UNSUPPORTED = '''\
class Unsupported(Exception):
    """What the library cannot do, in its own words."""'''

#: What the library can do is the same in the next run of a layer, whose set-up runs again. A step
#: of a recurrent layer on two samples takes almost as long as one on all.
TRIED = "TRIED = []  # filled by the first set-up"

#: How a user's own mode says that it does not take a layer. Any other error of it is a failure.
REFUSAL = "NotImplementedError"
#: What opacus 1.6 and torch's expanded weights raise for what they cannot do.
REFUSALS = (REFUSAL, "RuntimeError", "TypeError", "ValueError", "AttributeError")

#: For a user's own mode, of which nobody else has checked what it computes.
WRONG_MODE = '''\
class WrongMode(Exception):
    """What is wrong with a mode."""'''
BY_SAMPLE = '''\
def gradients(net, loss, samples):
    """Of each trained parameter, for each sample alone; empty for a layer that draws numbers, which
    no two calls agree on."""
    trained = [p for p in net.parameters() if p.requires_grad]
    once, again = (
        [torch.autograd.grad(loss(i), trained, allow_unused=True) for i in range(samples)]
        for _ in range(2)
    )
    pairs = (pair for both in zip(once, again) for pair in zip(*both))
    same = all(a is b or torch.allclose(a, b) for a, b in pairs)
    return list(zip(*once)) if same else [()] * len(trained)


def check_gradients(net, plain, samples):
    """Gradients by sample are those of each sample alone, or (for the mean of the losses) their
    share of a batch."""
    trained = [(name, p) for name, p in net.named_parameters() if p.requires_grad]
    if len(trained) != len(plain):
        raise WrongMode(f"of {len(plain)} trained parameters, the mode's module has {len(trained)}")
    for (name, p), alone in zip(trained, plain):
        found = getattr(p, "grad_sample", None)
        if found is None:
            raise WrongMode(f"the mode leaves no grad_sample on {name}")
        if found.shape != (samples, *p.shape):
            raise WrongMode(
                f"{samples} samples gave per-sample gradients of shape {tuple(found.shape)}"
            )
        if not alone or any(each is None for each in alone):
            continue
        each = torch.stack(alone)
        size = float(each.abs().max())
        if not any(torch.allclose(n * found, each, 1e-3, 1e-3 * size) for n in (1, samples)):
            raise WrongMode(f"per-sample gradients of {name} are not those of each sample")'''

CLEAR = "net.zero_grad(set_to_none=True)"
BACKWARD = "loss.backward()"


@dataclass(frozen=True)
class Wrapper:
    """How a mode wraps a layer."""

    imports: tuple[str, ...]
    constructor: str
    options: str = ""
    preload: tuple[str, ...] = ()
    #: Whether parameters have their gradients by sample afterwards.
    per_sample: bool = True
    #: A user's own mode: the file it is in. Its options are all it is given besides the module.
    user: UserModule | None = None


GRAD_SAMPLE = ("from opacus.grad_sample import GradSampleModule",)
WRAPPERS = {
    "hooks": Wrapper(GRAD_SAMPLE, "GradSampleModule"),
    "functorch": Wrapper(GRAD_SAMPLE, "GradSampleModule", ", force_functorch=True", FUNCTORCH),
    "ew": Wrapper(
        ("from opacus.grad_sample import GradSampleModuleExpandedWeights",),
        "GradSampleModuleExpandedWeights",
        preload=EXPANDED,
    ),
    "ghost": Wrapper(
        (
            "from opacus.grad_sample import GradSampleModuleFastGradientClipping",
            "from opacus.optimizers import DPOptimizerFastGradientClipping",
            "from opacus.utils.fast_gradient_clipping_utils import DPTensorFastGradientClipping",
        ),
        "GradSampleModuleFastGradientClipping",
        ", max_grad_norm=1.0, use_ghost_clipping=True",
        per_sample=False,
    ),
}
#: Layers of torch.nn with a version in `opacus.layers`, and the name of that here.
TAKEN_OVER = {
    "torch.nn.MultiheadAttention": "dpmha",
    "torch.nn.RNN": "dprnn",
    "torch.nn.GRU": "dpgru",
    "torch.nn.LSTM": "dplstm",
}


def program(
    layer: Shaped,
    mode: str,
    stage: str,
    *,
    batch: int,
    device: str = "cpu",
    warmups: int = 0,
    wrapper: Wrapper | None = None,
) -> Program:
    """One stage of a step. The statement is complete: it clears, and it goes backward itself.

    `wrapper` is that of a user's own mode."""
    wrapper = wrapper or WRAPPERS.get(mode)
    labels = (Tensor("labels", layer.output, layer.dtype),) if layer.output else ()
    forward = f"y = net{layer.called()}"
    loss = loss_text(mode, "y", "labels")
    before = ""
    if stage == "forward":
        statement = lines(forward, "del y")
    elif stage == "backward":
        before, statement = lines(CLEAR, forward, loss), BACKWARD
    else:
        statement = lines(CLEAR, forward, loss, BACKWARD, "del y, loss")
    # As the classic runner does it: nothing is kept for a backward pass that will not come.
    evaluation = "net.eval()" if stage == "forward" else ""
    step = lines(before, statement)
    warm = f"for _ in range({warmups}):\n{indented(step)}" if warmups else ""
    moved = "".join(
        f".to({target})"
        for target, needed in (
            (f"torch.{layer.dtype}", layer.dtype != "float32"),
            (f'"{device}"', device != "cpu"),
        )
        if needed
    )
    return Program(
        forward=statement,
        before=before,
        inputs=(*layer.inputs, *labels),
        globals=globals_text(layer, mode, wrapper),
        setup=lines(
            f"net = {layer.constructor}{moved}",
            "" if layer.output else labels_text(layer, stage),
            wrapping(layer, mode, wrapper, device, batch) if wrapper else "",
            evaluation,
            warm,
        ),
        module="net",
        components=components(layer),
        preload=preload(layer, wrapper),
        user=layer.user or (wrapper.user if wrapper else None),
    )


def globals_text(layer: Shaped, mode: str, wrapper: Wrapper | None) -> str:
    imports = ["import torch.nn.functional as F"]
    if wrapper:
        imports += wrapper.imports
    imports += [line for line in layer.imports if line not in imports]
    if layer.dp:
        imports.append(f"from opacus.layers import {layer.kind}")
    parts = ["\n".join(imports), criterion_text(layer, per_sample=mode == "ghost")]
    if wrapper:
        own = [WRONG_MODE] if wrapper.user else []
        own += [BY_SAMPLE] if is_checked(wrapper) else []
        parts.insert(1, "\n\n\n".join([UNSUPPORTED, *own, TRIED]))
    return "\n\n\n".join(parts)


def criterion_text(layer: Shaped, *, per_sample: bool) -> str:
    """The loss: the classes are the features, so no two samples meet in one softmax."""
    if layer.output is None:
        return unknown_rank_text(layer, per_sample=per_sample)
    flat = layer.features_last and len(layer.output) > 2
    y, labels = (f"{n}.flatten(0, -2)" if flat else n for n in ("y", "labels"))
    if not per_sample:
        return f"def criterion(y, labels):\n    return F.cross_entropy({y}, {labels})"
    text = f'F.cross_entropy({y}, {labels}, reduction="none")'
    if flat:
        text += ".view(y.shape[:-1])"
    if len(layer.output) > 2:
        text += ".mean(0)" if layer.batch_dim else ".flatten(1).mean(1)"
    return f"def criterion(y, labels):\n    # one loss for each sample\n    return {text}"


def unknown_rank_text(layer: Shaped, *, per_sample: bool) -> str:
    """The same for a layer of which only the layer itself knows how many dimensions it gives."""
    y, labels = (f"{n}.flatten(0, -2)" if layer.features_last else n for n in ("y", "labels"))
    if not per_sample:
        return f"def criterion(y, labels):\n    return F.cross_entropy({y}, {labels})"
    text = f'F.cross_entropy({y}, {labels}, reduction="none").view(len(y), -1).mean(1)'
    return f"def criterion(y, labels):\n    # one loss for each sample\n    return {text}"


def labels_text(layer: Shaped, stage: str) -> str:
    """Labels of the shape that a layer of a user gives, which is checked first."""
    hint = 'name what of it is the output, as in ob.layer_pair(…, output=\\"y[0]\\")'
    trained = lines(
        "if not any(p.requires_grad for p in net.parameters()):",
        '    raise TypeError("the layer has nothing to train: use --stage forward")',
    )
    sample = lines(
        "if isinstance(y, torch.Tensor):",
        f'    raise TypeError("{layer.pick} of its tensor is a sample, not its output: give that '
        'of each side, as in ob.layer_pair(…, output=(\\"y[0]\\", \\"y\\"))")',
    )
    return lines(
        "" if stage == "forward" else trained,
        f"y = net{replace(layer, pick='').called()}",
        sample if re.match(r"\[\s*-?\d+\s*\]", layer.pick) else "",
        f"y = y{layer.pick}" if layer.pick else "",
        "if not isinstance(y, torch.Tensor):",
        f'    raise TypeError(f"the layer gives a {{type(y).__name__}}: {hint}")',
        "if y.shape[:1] != x.shape[:1]:",
        '    raise TypeError(f"its output has the shape {tuple(y.shape)}, for a batch of {len(x)}: '
        'the batch must come first")',
        "labels = torch.randn_like(y.detach())",
        "del y",
    )


def loss_text(mode: str, y: str, labels: str) -> str:
    value = f"criterion({y}, {labels})"
    if mode == "ghost":
        value = f'DPTensorFastGradientClipping(net, optimizer, {value}, "mean")'
    return f"loss = {value}"


def wrapping(layer: Shaped, mode: str, wrapper: Wrapper, device: str, batch: int) -> str:
    """The layer wrapped, and tried on two samples."""
    part, some = ":2", min(batch, 2)
    first = layer.batch_dim == 0
    tried = f"labels[{':, ' * layer.batch_dim}{part}]"
    common = "" if wrapper.user else ', batch_first={first}, loss_reduction="mean"'
    options = f"{common}{wrapper.options}".format(first=first)
    steps = []
    if is_checked(wrapper):
        alone = (
            f"criterion(net{layer.called('i : i + 1')}, labels[{':, ' * layer.batch_dim}i : i + 1])"
        )
        steps += [
            "if not TRIED:",
            f"    plain = gradients(net, lambda i: {alone}, {some})",
        ]
    steps.append(f"net = {wrapper.constructor}(net{options})")
    if wrapper.user:
        steps += [
            "if not isinstance(net, torch.nn.Module):",
            '    raise WrongMode(f"the mode returns a {type(net).__name__}, not a module")',
        ]
    if mode == "ghost":
        steps += [
            "optimizer = DPOptimizerFastGradientClipping(",
            "    torch.optim.SGD(net.parameters(), lr=0.1),",
            f"    noise_multiplier=1.0, max_grad_norm=1.0, expected_batch_size={batch},",
            ")",
        ]
    trial = [
        "# one step on two samples shows whether the library can do this",
        f"y = net{layer.called(part)}",
        loss_text(mode, "y", tried),
        BACKWARD,
    ]
    if is_checked(wrapper):
        trial.append(f"check_gradients(net, plain, {some})")
    elif wrapper.per_sample:
        # A user's own layer may have frozen parameters.
        trained = "[p for p in net.parameters() if p.requires_grad]"
        trial += [
            f"for p in {trained if layer.user else 'net.parameters()'}:",
            f"    if p.grad_sample.shape[0] != {some}:",
            f'        raise Unsupported(f"{some} samples gave per-sample gradients of shape '
            '{tuple(p.grad_sample.shape)}")',
        ]
    trial += [CLEAR, "del y, loss", "TRIED.append(True)"]
    steps += ["if not TRIED:", indented("\n".join(trial))]
    called = f"{wrapper.constructor}(batch_first={first})"
    called = wrapper.constructor if wrapper.user else called
    refusals = (REFUSAL,) if wrapper.user else REFUSALS
    return lines(
        "try:",
        indented("\n".join(steps)),
        # Running out of memory does not make the combination unsupported.
        "except torch.cuda.OutOfMemoryError:\n    raise" if device != "cpu" else "",
        f"except ({', '.join(refusals)}) as error:",
        f"    called = '{called} raises {REFUSAL}'",
        f"    raise Unsupported({refusal_text(layer, mode)}) from error",
    )


def refusal_text(layer: Shaped, mode: str) -> str:
    """What the library raised is the reason. Where it breaks inside a layer that it has a version
    of its own for, the reason begins with that."""
    raised = "str(error) or called"
    theirs = TAKEN_OVER.get(layer.kind)
    # Expanded weights do take some of these, and name themselves where they do not.
    if theirs is None or mode not in WRAPPERS or (mode == "ew" and layer.batch_dim == 0):
        return raised
    said = f"Opacus does not take {layer.kind} in mode {mode}, only its own version, {theirs}"
    return f'"{said}: " + ({raised})'


def is_checked(wrapper: Wrapper) -> bool:
    """Whether the gradients by sample are compared with those of each sample alone."""
    return wrapper.user is not None and wrapper.per_sample


def components(layer: Shaped) -> tuple[tuple[str, str], ...]:
    """What a memory measurement reports one by one, under the names of the classic runner."""
    inputs = (("input_tensor" if t.name == "x" else t.name, t.name) for t in layer.inputs)
    return (
        *inputs,
        ("layer", "net"),
        ("labels", "labels"),
        ("gradients", "[p.grad for p in net.parameters()]"),
        ("per_sample_gradients", '[getattr(p, "grad_sample", None) for p in net.parameters()]'),
    )


def preload(layer: Shaped, wrapper: Wrapper | None) -> tuple[str, ...]:
    if wrapper is None:
        return (*LATE, *OPACUS) if layer.dp else LATE
    return (*LATE, *OPACUS, *wrapper.preload)


def indented(text: str) -> str:
    return "\n".join(f"    {line}" if line else line for line in text.split("\n"))
