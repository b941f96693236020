"""Random draws, and densities of distributions.

Draws of two frameworks are never equal: before timing, their shape, mean and spread are compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opbench.define.program import POSITIVE, SIMPLEX, Domain, integers, uniform
from opbench.suites.ops.entry import FULL, Call, Input, Operator
from opbench.suites.ops.shapes import (
    PLANE,
    op,
    sizes,
    unary,
)

#: Each call of JAX draws with the key it is given: always the same numbers, for the same work.
KEY = "key"
LOGARITHMS = "takes logarithms of probabilities: they are part of the time"


def draw(name: str, dtype: str = "", **more: Any) -> Operator:
    return op(
        f"random_{name}", "random", (), {"shape": PLANE}, grad=False, flops=None,
        dtypes=(dtype,) if dtype else FULL, result=lambda v: v.shape, parity="statistics", **more,
    )  # fmt: skip


def density(
    name: str, torch: str, jax: str, sample: Domain, parameters: Mapping[str, Domain], **more: Any
) -> Operator:
    """The density of `sample` under distributions whose parameters have one value for each row."""
    wide = {each: f"{each}[:, None]" for each in parameters}
    rows = tuple(
        Input(each, domain, grad=False, shape=lambda v: v.sample[:1])
        for each, domain in parameters.items()
    )
    return op(
        f"random_pdf_{name}", "random", (Input("sample", sample), *rows),
        {size: shape for size, shape in PLANE.items() if size != "large"}, flops=30.0, dtypes=FULL,
        needs={"len(sample) == 2": ""},
        tolerance=8.0, torch=Call(
            f"torch.distributions.{torch.format(**wide)}.log_prob(sample).exp()", emulated=True),
        jax=f"jax.scipy.stats.{jax.format(**wide)}",
        mxnet=f"nd.random_pdf_{name}(sample, {', '.join(parameters)})", **more,
    )  # fmt: skip


SPREAD: dict[str, Domain] = {"mu": uniform(-1.0, 1.0), "sigma": POSITIVE}
COUNTS: dict[str, Domain] = {"k": integers(1, 5), "p": uniform(0.3, 0.7)}
SAMPLED: list[tuple[str, dict[str, Domain], dict[str, Any]]] = [
    ("normal", SPREAD, {"torch": Call("torch.normal(centre, width)",
        setup="centre, width = mu[:, None].expand(-1, {shape}), sigma[:, None]")}),
    ("uniform", {"low": uniform(-1.0, 0.0), "high": POSITIVE}, {}),
    ("exponential", {"lam": POSITIVE}, {}),
    ("gamma", {"alpha": uniform(1.0, 3.0), "beta": POSITIVE}, {}),
    ("poisson", {"lam": uniform(1.0, 6.0)},
        {"torch": Call("torch.poisson(rates)", setup="rates = lam[:, None].expand(-1, {shape})")}),
    ("negative_binomial", COUNTS, {}),
    ("generalized_negative_binomial", {"mu": POSITIVE, "alpha": uniform(0.3, 0.7)}, {}),
]  # fmt: skip

OPERATORS = (
    draw("uniform", needs={"len(shape) >= 1": "onnxruntime"},
        torch="torch.rand({shape}, {options})",
        jax=f"jax.random.uniform({KEY}, {{shape}}, {{options}})",
        onnx='RandomUniform(shape={shape}, dtype={dtype})',
        mxnet="nd.random.uniform(0, 1, {shape}, {options})",
        numpy="rng.random({shape}, {options})"),
    draw("normal", needs={"len(shape) >= 1": "onnxruntime"},
        torch="torch.randn({shape}, {options})",
        jax=f"jax.random.normal({KEY}, {{shape}}, {{options}})",
        onnx='RandomNormal(shape={shape}, dtype={dtype})',
        mxnet="nd.random.normal(0, 1, {shape}, {options})",
        numpy="rng.standard_normal({shape}, {options})"),
    draw("randint", dtype="int32", low=0, high=1000, needs={"low < high": ""},
        torch="torch.randint({low}, {high}, {shape}, dtype=torch.int32, device={device})",
        jax=f"jax.random.randint({KEY}, {{shape}}, {{low}}, {{high}}, dtype='int32')",
        mxnet="nd.random.randint({low}, {high}, {shape}, dtype='int32')",
        numpy="rng.integers({low}, {high}, {shape}, dtype='int32')"),
    draw("exponential",
        torch="torch.empty({shape}, {options}).exponential_()",
        jax=f"jax.random.exponential({KEY}, {{shape}}, {{options}})",
        mxnet="nd.random.exponential(1.0, {shape}, {options})",
        numpy="rng.standard_exponential({shape}, {options})"),
    draw("gamma", alpha=2.0, needs={"alpha >= 0": "numpy"},
        torch=Call("torch._standard_gamma(concentration)",
            setup="concentration = torch.full({shape}, {alpha}, {options})"),
        jax=f"jax.random.gamma({KEY}, {{alpha}}, {{shape}}, {{options}})",
        mxnet="nd.random.gamma({alpha}, 1.0, {shape}, {options})",
        numpy="rng.standard_gamma({alpha}, {shape}, {options})"),
    draw("poisson", lam=4.0, needs={"lam >= 0": "", "lam <= 9e18": "numpy"},
        torch=Call("torch.poisson(rate)", setup="rate = torch.full({shape}, {lam}, {options})"),
        jax=Call(f"jax.random.poisson({KEY}, {{lam}}, {{shape}})", note="draws int32"),
        mxnet="nd.random.poisson({lam}, {shape}, {options})",
        numpy=Call("rng.poisson({lam}, {shape})", note="draws int64")),
    # A draw of the rate, then one of a Poisson distribution of that rate.
    draw("negative_binomial", k=4, p=0.5,
        needs={"k >= 1": "numpy", "0 < p <= 1": "numpy"},
        torch=Call("distribution.sample()",
            setup="distribution = torch.distributions.NegativeBinomial("
            "torch.full({shape}, {k}, {options}), probs=1 - {p}, validate_args=False)",
            compilable=False), mxnet="nd.random.negative_binomial({k}, {p}, {shape}, {options})",
        numpy=Call("rng.negative_binomial({k}, {p}, {shape})", note="draws int64")),
    draw("gen_negative_binomial", mu=2.0, alpha=0.5,
        mxnet="nd.random.generalized_negative_binomial({mu}, {alpha}, {shape}, {options})"),
    op("sample_multinomial", "random", (Input("data", SIMPLEX, grad=False),),
        shapes={**PLANE, "large": (4096, 1024)}, shape=16, differentiable=False, dtypes=FULL,
        needs={"data[1] >= 1": "", "shape >= 1": "torch onnxruntime",
            "data[0] >= 1": "onnxruntime"},
        result=lambda v: (v.data[0], v.shape), result_dtype="int64", flops=None,
        parity="statistics",
        absent={"numpy": "NumPy draws counts of one distribution, not samples of many"},
        aliases=("multinomial",),
        torch="torch.multinomial(data, {shape}, replacement=True)",
        jax=Call(f"jax.random.categorical({KEY}, jnp.log(data)[:, None, :], axis=-1, "
            "shape=(data.shape[0], {shape}))", note=LOGARITHMS),
        onnx=Call("l = Log(data)\ny = Multinomial(l, sample_size={shape})", note=LOGARITHMS),
        mxnet="nd.random.multinomial(data, shape={shape})"),
    # A distribution for each row, whose parameters are tensors.
    *(
        op(f"sample_{name}", "random",
            tuple(Input(each, domain, shape=lambda v: v.rows) for each, domain in given.items()),
            {"rows": sizes((64,), (1024,), (4096,))}, shape=64, grad=False, dtypes=FULL,
            flops=None, parity="statistics", result=lambda v: (*v.rows, v.shape),
            needs={"len(rows) == 1": "torch"},
            mxnet=f"nd.sample_{name}({', '.join(given)}, shape={{shape}})", **more)
        for name, given, more in SAMPLED
    ),
    unary("shuffle", "random", flops=0.0, needs={"len(data) >= 1": ""}, parity="statistics",
        torch=Call("data[torch.randperm(data.shape[0], device=data.device)]", emulated=True),
        jax=f"jax.random.permutation({KEY}, data)",
        mxnet=Call("nd.random.shuffle(data)", differentiable=False), numpy="rng.permutation(data)"),
    op("random_pdf_dirichlet", "random",
        (Input("sample", SIMPLEX),
            Input("alpha", uniform(1.0, 3.0), grad=False, shape=lambda v: v.sample[-1:])),
        shapes={"sample": sizes((64, 3), (16384, 8), skewed=(10000, 2))},
        result=lambda v: v.sample[:1], flops=lambda v: 30.0 * v.sample[0] * v.sample[1],
        dtypes=FULL, tolerance=8.0,
        torch=Call("torch.distributions.Dirichlet(alpha, validate_args=False)"
            ".log_prob(sample).exp()", emulated=True),
        jax="jax.scipy.stats.dirichlet.pdf(sample.T, alpha)",
        mxnet=Call("nd.random_pdf_dirichlet(samples, alphas)",
            setup="samples, alphas = sample.expand_dims(0), alpha.expand_dims(0)", compared="y[0]",
            differentiable=False)),
    density("exponential", "Exponential({lam}, validate_args=False)",
        "expon.pdf(sample, scale=1 / {lam})", POSITIVE, {"lam": POSITIVE}),
    # MXNet 1.9 calls scale what others call rate.
    density("gamma", "Gamma({alpha}, {beta}, validate_args=False)",
        "gamma.pdf(sample, {alpha}, scale=1 / {beta})", POSITIVE,
        {"alpha": uniform(1.0, 3.0), "beta": POSITIVE}),
    density("normal", "Normal({mu}, {sigma}, validate_args=False)",
        "norm.pdf(sample, {mu}, {sigma})", uniform(-2.0, 2.0),
        {"mu": uniform(-1.0, 1.0), "sigma": POSITIVE}),
    density("poisson", "Poisson({lam}, validate_args=False)", "poisson.pmf(sample, {lam})",
        integers(0, 10), {"lam": uniform(1.0, 6.0)}, differentiable=False),
    density("uniform", "Uniform({low}, {high}, validate_args=False)",
        "uniform.pdf(sample, {low}, {high} - {low})", uniform(0.1, 0.9),
        {"low": uniform(-1.0, 0.0), "high": uniform(1.0, 2.0)}, differentiable=False),
    density("negative_binomial", "NegativeBinomial({k}, probs=1 - {p}, validate_args=False)",
        "nbinom.pmf(sample, {k}, {p})", integers(0, 10),
        {"k": uniform(1.0, 5.0), "p": uniform(0.3, 0.7)}, differentiable=False),
    # By its mean and how much wider it is than a Poisson distribution.
    density("generalized_negative_binomial",
        "NegativeBinomial(1 / {alpha}, probs=1 - 1 / (1 + {mu} * {alpha}), validate_args=False)",
        "nbinom.pmf(sample, 1 / {alpha}, 1 / (1 + {mu} * {alpha}))", integers(0, 10),
        {"mu": POSITIVE, "alpha": uniform(0.3, 0.7)}, differentiable=False),
)  # fmt: skip
