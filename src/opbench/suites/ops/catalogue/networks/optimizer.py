"""One update of one weight by each optimizer, in place.

Repeated updates move the weight slowly and in one direction, so its values stay ordinary numbers
for as long as anybody measures. Where the same gradient over and over would lead elsewhere (its
variance becomes zero, or the weight grows by a factor), its sign changes before each call, untimed.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

from opbench.define.program import POSITIVE, ZEROS, uniform
from opbench.suites.ops.entry import FULL, Call, Input, Operator
from opbench.suites.ops.shapes import PLANE, op, sizes

WEIGHTS = {**PLANE, "skewed": (10000, 1)}
ABSENT = {
    "jax": "JAX has no optimizers (Optax does)",
    "onnxruntime": "ONNX Runtime has no kernels for training operators",
    "numpy": "NumPy has no optimizers",
}


#: Optimizers of torch's refuse to go uphill.
RATE = {"lr >= 0": "torch"}
#: The gradient changes sign.
TURNED = {"torch": "gradient.neg_()", "mxnet": "gradient *= -1"}


def step(optimizer: str, before: str = "") -> Call:
    """An optimizer of torch's, with the weight as its only parameter."""
    return Call(
        "opt.step()\ny = weight",
        setup=f"weight.requires_grad_()\nweight.grad = gradient\nopt = torch.optim.{optimizer}",
        before=before,
        preload=("torch._dynamo",),
        compilable=False,
        # `step` writes into a tensor that asks for gradients.
        compared="weight.detach()",
    )


def update(text: str, setup: str = "", before: str = "") -> Call:
    """The same arithmetic in torch's own operators, where torch has no such optimizer."""
    return Call(f"{text}\ny = weight", setup=setup, before=before, compilable=False, emulated=True)


def optimizer(
    name: str,
    state: tuple[str, ...] = (),
    options: Mapping[str, Any] | None = None,
    flops: float = 2.0,
    **more: Any,
) -> Operator:
    def like(v: Any) -> tuple[int, ...]:
        return tuple(v.weight)

    tensors: tuple[str | Input, ...] = (
        "weight",
        Input("gradient", shape=like),
        *(Input(each, ZEROS, shape=like) for each in state),
    )
    return op(
        name, "optimizer", tensors, {"weight": WEIGHTS}, grad=False, flops=flops, absent=ABSENT,
        lr=1e-3, **{"dtypes": FULL, "tolerance": 16.0, **(options or {}), **more},
    )  # fmt: skip


def mx(function: str, state: str = "", options: str = "") -> str:
    given = f", {state}" if state else ""
    return f"y = nd.{function}(weight, gradient{given}, lr={{lr}}{options}, out=weight)"


PHASES = "its two phases and the norms between them, as MXNet's own optimizer calls them"


def of_four(name: str) -> Operator:
    """Four weights in one call: of float16 with a copy in float32 (`mp`), with momentum (`mom`),
    with learning rates in arrays (`preloaded`)."""
    half, momentum, loaded = ("mp_" in name, "_mom" in name, "preloaded" in name)
    made = "weight.astype('float16')" if half else "weight.copy()"
    state = ["nd.zeros(weight.shape)"] * momentum + ["weight.copy()"] * half
    each = ", ".join(["weights[i]", "weights[i] * 0.01", *state])
    setup = f"weights = [{made} for i in range(4)]\n"
    setup += f"given = [x for i in range(4) for x in ({each})]"
    if loaded:
        setup += " + [nd.full((4,), {lr}), nd.zeros((4,))]"
    rates = "" if loaded else "lrs=({lr},) * 4, wds=(0.0,) * 4, "
    # Weights and states are read and written, gradients read.
    moved = 3 * (2 if half else 4) + 2 * 4 * len(state)
    return op(
        name, "optimizer", ("weight",), {"weight": WEIGHTS}, grad=False, lr=1e-3,
        dtypes=("float32",), flops=8.0, traffic=lambda v: 4.0 * prod(v.weight) * moved,
        parity="", absent=ABSENT, aliases=(f"{name}_update",),
        mxnet=Call(f"nd.{name}_update(*given, {rates}num_weights=4, out=weights)\n"
            "y = weights[0]", setup=setup),
    )  # fmt: skip


OPERATORS = (
    optimizer("sgd", aliases=("sgd_update",), classic="SGD",
        needs=RATE, torch=step("SGD([weight], lr={lr})"), mxnet=mx("sgd_update")),
    optimizer("sgd_mom", ("mom",), {"momentum": 0.9}, 4.0, aliases=("sgd_mom_update",),
        needs=RATE | {"momentum >= 0": "torch"},
        torch=step("SGD([weight], lr={lr}, momentum={momentum})"),
        mxnet=mx("sgd_mom_update", "mom", ", momentum={momentum}")),
    optimizer("nag_mom", ("mom",), {"momentum": 0.9}, 6.0, aliases=("nag_mom_update",),
        needs=RATE | {"momentum > 0": "torch"},
        torch=step("SGD([weight], lr={lr}, momentum={momentum}, nesterov=True)"),
        mxnet=mx("nag_mom_update", "mom", ", momentum={momentum}")),
    # torch corrects the bias of the first steps, MXNet's operator leaves that to its caller.
    optimizer("adam", ("mean", "var"), {"beta1": 0.9, "beta2": 0.999}, 12.0, parity="shape",
        aliases=("adam_update",),
        needs=RATE | {"0 <= beta1 < 1": "torch", "0 <= beta2 < 1": "torch"},
        torch=step("Adam([weight], lr={lr}, betas=({beta1}, {beta2}))"),
        mxnet=mx("adam_update", "mean, var", ", beta1={beta1}, beta2={beta2}")),
    # Epsilon stands outside of the root in torch, inside in MXNet.
    optimizer("rmsprop", ("n",), {"rho": 0.95}, 8.0, aliases=("rmsprop_update",), parity="shape",
        needs=RATE | {"rho >= 0": "torch"},
        torch=step("RMSprop([weight], lr={lr}, alpha={rho})"),
        mxnet=mx("rmsprop_update", "n", ", gamma1={rho}")),
    optimizer("rmspropalex", ("n", "g", "delta"), {"rho": 0.95, "momentum": 0.9}, 14.0,
        parity="shape", aliases=("rmspropalex_update",),
        needs=RATE | {"rho >= 0": "torch", "momentum >= 0": "torch"},
        torch=step("RMSprop([weight], lr={lr}, alpha={rho}, momentum={momentum}, centered=True)",
            before=TURNED["torch"]),
        mxnet=Call(mx("rmspropalex_update", "n, g, delta", ", gamma1={rho}, gamma2={momentum}"),
            before=TURNED["mxnet"])),
    optimizer("ftrl", ("z", "n"), {"lamda1": 0.01, "beta": 1.0}, 20.0, aliases=("ftrl_update",),
        tolerance=64.0,
        torch=update("s = (n + gradient * gradient).sqrt_().sub_(n.sqrt()).div_({lr})\n"
            "z.add_(gradient).sub_(s * weight)\n"
            "n.addcmul_(gradient, gradient)\n"
            "weight.copy_(torch.where(z.abs() <= {lamda1}, 0.0, "
            "-(z - z.sign() * {lamda1}) / (({beta} + n.sqrt()) / {lr})))"),
        mxnet=mx("ftrl_update", "z, n", ", lamda1={lamda1}, beta={beta}")),
    # The step number decides how the first averages are corrected: it stays that of one step.
    optimizer("ftml", ("d", "v", "z"), {"beta1": 0.6, "beta2": 0.999, "epsilon": 1e-8, "t": 1},
        16.0, aliases=("ftml_update",), tolerance=64.0,
        needs={"lr != 0": "torch"},
        torch=update("v.mul_({beta2}).addcmul_(gradient, gradient, value=1 - {beta2})\n"
            "e = (v / (1 - {beta2} ** {t})).sqrt_().add_({epsilon})"
            ".mul_((1 - {beta1} ** {t}) / {lr})\n"
            "z.mul_({beta1}).add_(gradient, alpha=1 - {beta1})"
            ".sub_((e - {beta1} * d) * weight)\n"
            "d.copy_(e)\n"
            "torch.div(z, d, out=weight).neg_()"),
        mxnet=mx("ftml_update", "d, v, z",
            ", beta1={beta1}, beta2={beta2}, epsilon={epsilon}, t={t}")),
    optimizer("signsgd", aliases=("signsgd_update",), flops=3.0,
        torch=update("weight.sub_(gradient.sign(), alpha={lr})"), mxnet=mx("signsgd_update")),
    optimizer("signum", ("mom",), {"momentum": 0.9}, 6.0, aliases=("signum_update",),
        torch=update("mom.mul_({momentum}).sub_(gradient, alpha=1 - {momentum})\n"
            "weight.add_(mom.sign(), alpha={lr})"),
        mxnet=mx("signum_update", "mom", ", momentum={momentum}")),
    # Layer-wise scaling: the step is as long as the weight, whatever the gradient's length.
    optimizer("lamb", ("mean", "var"), {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-6}, 22.0,
        tolerance=64.0, aliases=("lamb_update_phase1",),
        torch=update("mean.mul_({beta1}).add_(gradient, alpha=1 - {beta1})\n"
            "var.mul_({beta2}).addcmul_(gradient, gradient, value=1 - {beta2})\n"
            "u = (mean / (1 - {beta1})) / ((var / (1 - {beta2})).sqrt_().add_({epsilon}))\n"
            "weight.sub_(u.mul_({lr} * weight.norm() / u.norm()))", before=TURNED["torch"]),
        mxnet=Call("u = nd.lamb_update_phase1(weight, gradient, mean, var, beta1={beta1}, "
        "beta2={beta2}, epsilon={epsilon}, t=1, wd=0.0)\n"
        "y = nd.lamb_update_phase2(weight, u, nd.norm(weight), nd.norm(u), lr={lr}, "
        "out=weight)", before=TURNED["mxnet"], note=PHASES)),
    op("multi_sgd", "optimizer",
        tuple(Input(f"{kind}{i}", grad=False, shape=lambda v: v.weight)
            for i in range(4) for kind in ("weight", "gradient")), shapes={"weight": WEIGHTS},
        lr=1e-3, differentiable=False, dtypes=FULL, result=lambda v: (4 * v.weight[0], v.weight[1]),
        flops=2.0, absent=ABSENT, aliases=("multi_sgd_update", "multi_sgd(foreach)"),
        torch=Call("torch._foreach_add_(weights, gradients, alpha=-{lr})\ny = weight0",
            setup="weights = [weight0, weight1, weight2, weight3]\n"
            "gradients = [gradient0, gradient1, gradient2, gradient3]", compilable=False),
        mxnet=Call("nd.multi_sgd_update(*given, lrs=({lr},) * 4, wds=(0.0,) * 4, num_weights=4, "
            "out=weights)\ny = weight0",
            setup="weights = [weight0, weight1, weight2, weight3]\n"
            "given = [weight0, gradient0, weight1, gradient1, weight2, gradient2, "
            "weight3, gradient3]")),
    # Weights in half precision with a master copy in float32.
    *(
        optimizer(f"mp_{name}", state, flops=flops, parity="", dtypes=("float32",), mxnet=Call(
            f"y = nd.mp_{name}_update(half, small, {''.join(f'{each}, ' for each in state)}weight, "
            "lr={lr}, out=half)",
            setup="half, small = weight.astype('float16'), gradient.astype('float16')"))
        for name, state, flops in (("sgd", (), 3.0), ("sgd_mom", ("mom",), 5.0),
            ("nag_mom", ("mom",), 7.0))
    ),
    optimizer("mp_lamb", ("mean", "var"), flops=23.0, parity="", dtypes=("float32",),
        aliases=("mp_lamb_update_phase1", "mp_lamb_update_phase2"), mxnet=Call(
            "u = nd.mp_lamb_update_phase1(half, small, mean, var, weight, t=1, wd=0.0)\n"
            "y = nd.mp_lamb_update_phase2(half, u, nd.norm(weight), nd.norm(u), weight, lr={lr}, "
            "out=half)", setup="half, small = weight.astype('float16'), gradient.astype('float16')",
            before="small *= -1", note=PHASES)),
    *(of_four(name) for name in ("multi_sgd_mom", "multi_mp_sgd", "multi_mp_sgd_mom")),
    *(of_four(f"preloaded_multi_{kind}sgd{more}") for kind in ("", "mp_") for more in ("", "_mom")),
    # The learning rate of each layer, from the norms of its weight and gradient.
    op("multi_lars", "optimizer",
        (Input("lrs", POSITIVE), Input("weights", POSITIVE), Input("gradients", POSITIVE),
            Input("decays", uniform(0.0, 1e-3))),
        sizes((16,), (256,), (4096,)), grad=False, dtypes=FULL, eta=1e-3, epsilon=1e-8, flops=7.0,
        absent=ABSENT,
        torch=Call("w, g = weights.sqrt(), gradients.sqrt()\n"
            "y = lrs * {eta} * w / (g + decays * w + {epsilon})", emulated=True),
        mxnet=Call("nd.multi_lars(lrs, weights, gradients, decays, eta={eta}, eps={epsilon})",
            dtypes=("float32",))),
    optimizer("adamw", flops=14.0,
        needs=RATE, torch=step("AdamW([weight], lr={lr})")),
    optimizer("adagrad", flops=6.0,
        needs=RATE, torch=step("Adagrad([weight], lr={lr})")),
)  # fmt: skip
