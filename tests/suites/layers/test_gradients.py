"""Per-sample gradients have the batch first and sum to the plain gradient, for every layer, layout
and mode that the library can do; and what it cannot do is refused with its own reason."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from tests.late import late
from tests.suites.layers.small import BATCH, case, run

torch = late("torch")

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True, scope="module")
def _installed():
    pytest.importorskip("opacus")  # here: whoever collects these tests need not import it


PLAIN = ("linear", "conv", "layernorm", "instancenorm", "groupnorm", "embedding")
DP = ("dpmha", "dprnn", "dpgru", "dplstm")
NN_ONLY = ("mha", "rnn", "gru", "lstm")

#: Layouts beside those of the published configuration.
VARIANTS = [
    *((layer, {}) for layer in (*PLAIN, *DP)),
    ("linear", {"input_shape": [3]}),
    ("linear", {"bias": False}),
    ("conv", {"input_shape": [9]}),
    ("conv", {"input_shape": [5, 4, 6], "stride": 2, "padding": 1, "groups": 2}),
    ("conv", {"padding": "same", "dilation": 2}),
    ("layernorm", {"input_shape": [3, 8]}),
    ("layernorm", {"input_shape": [3, 8], "D": 2}),
    ("instancenorm", {"input_shape": [4, 3]}),
    ("groupnorm", {"input_shape": [5]}),
    ("embedding", {"input_shape": [3]}),
    ("dpmha", {"batch_first": True}),
    ("dplstm", {"batch_first": True}),
    ("dplstm", {"bidirectional": True, "num_layers": 2, "bias": False}),
    ("dprnn", {"nonlinearity": "relu"}),
]


def plain_gradients(layer, config):
    names = run(case(layer, "baseline", **config))
    return {name: p.grad for name, p in names["net"].named_parameters()}


def per_sample(names):
    found = names["net"].named_parameters()
    return {name.removeprefix("_module."): p.grad_sample for name, p in found}


@pytest.mark.parametrize("mode", ["hooks", "functorch", "ew"])
@pytest.mark.parametrize(("layer", "config"), VARIANTS)
def test_per_sample_gradients_sum_to_the_plain_gradient(layer, config, mode):
    if mode == "ew" and not supports_ew(layer, config):
        pytest.skip("torch's expanded weights cannot do this; the reason has a test of its own")
    names = run(case(layer, mode, **config))
    plain = plain_gradients(layer, config)
    found = per_sample(names)
    assert found.keys() == plain.keys()
    for name, gradient in plain.items():
        assert found[name].shape == (BATCH, *gradient.shape)
        # The loss is a mean over the batch, each sample's gradient that of its own loss.
        torch.testing.assert_close(found[name].sum(0) / BATCH, gradient, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("layer", "config"), VARIANTS)
def test_ghost_clips_each_sample_by_its_own_norm(layer, config):
    """No per-sample gradients to see there; their norms, and the clipped sum, tell the same."""
    ghost = run(case(layer, "ghost", **config))
    gradients = per_sample(run(case(layer, "hooks", **config)))
    norms = sum(g.flatten(1).square().sum(1) for g in gradients.values()).sqrt()
    seen = ghost["net"].per_sample_gradient_norms
    assert seen.shape == (BATCH,)
    torch.testing.assert_close(seen, norms, rtol=1e-4, atol=1e-5)
    clip = (1.0 / (norms + 1e-6)).clamp(max=1.0)
    for name, p in ghost["net"].named_parameters():
        each = gradients[name.removeprefix("_module.")]
        clipped = torch.einsum("b,b...->...", clip, each)
        torch.testing.assert_close(p.grad, clipped, rtol=1e-4, atol=1e-5)


def supports_ew(layer, config):
    batch_first = layer in PLAIN or config.get("batch_first", False)
    one_dimensional = layer == "embedding" and not config.get("input_shape")
    return batch_first and not one_dimensional


@pytest.mark.parametrize("mode", ["hooks", "functorch", "ew", "ghost"])
@pytest.mark.parametrize("layer", NN_ONLY)
def test_layers_of_torch_nn_that_have_a_dp_version_are_refused(layer, mode):
    assert refusal(case(layer, mode))


def test_the_reason_is_the_library_s_own():
    assert "needs an input with a batch size" in refusal(case("embedding", "ew"))
    assert "no attribute 'detach'" in refusal(case("lstm", "hooks"))
    # Opacus raises this one without a word.
    assert "batch_first=False" in refusal(case("dplstm", "ew"))


def test_gradients_whose_batch_is_read_wrongly_are_refused():
    """The old fault: a sequence-first input in a wrapper that takes the first dimension for it."""
    right = case("dpmha", "hooks")
    assert "GradSampleModule(net, batch_first=False" in right.setup
    setup = right.setup.replace("net, batch_first=False", "net, batch_first=True")
    found = refusal(replace(right, setup=setup))
    assert "2 samples gave per-sample gradients of shape" in found


def refusal(case):
    with pytest.raises(Exception) as caught:
        run(case)
    assert type(caught.value).__name__ == "Unsupported"
    return str(caught.value)


@pytest.mark.parametrize("mode", ["baseline", "ghost"])
@pytest.mark.parametrize(("layer", "config"), [*VARIANTS, *((layer, {}) for layer in NN_ONLY)])
def test_no_two_samples_meet_in_the_loss(layer, config, mode):
    one = case(layer, "baseline", **config)
    loss_source = case(layer, mode if layer not in NN_ONLY else "baseline", **config).globals
    names = run(one)
    exec(loss_source, names)
    criterion, labels = names["criterion"], names["labels"]
    sequence_first = layer in (*DP, *NN_ONLY) and not config.get("batch_first", False)
    y = torch.randn(labels.shape)
    changed = y.clone()
    changed.transpose(0, 1 if sequence_first else 0)[0] *= 2.0
    gradients = []
    for each in (y, changed):
        each.requires_grad_()
        criterion(each, labels).sum().backward()
        gradients.append(each.grad.transpose(0, 1 if sequence_first else 0))
    assert torch.equal(gradients[0][1:], gradients[1][1:])
    assert not torch.equal(gradients[0][0], gradients[1][0])


@pytest.mark.parametrize("layer", [*PLAIN, *DP, *NN_ONLY])
def test_the_loss_is_the_cross_entropy_over_the_features(layer):
    """Uniform predictions, labels that sum to one at each position: the loss is log(features)."""
    names = run(case(layer))
    features = 1 if layer in ("conv", "instancenorm", "groupnorm") else -1
    labels = torch.softmax(names["labels"], features)
    loss = names["criterion"](torch.zeros_like(labels), labels)
    assert loss.item() == pytest.approx(math.log(labels.shape[features]), rel=1e-5)


@pytest.mark.parametrize("mode", ["baseline", "hooks", "functorch", "ew", "ghost"])
@pytest.mark.parametrize("stage", ["forward", "backward", "forward_backward"])
def test_nothing_accumulates_from_call_to_call(mode, stage):
    one = case("linear", mode, stage=stage)
    names = run(one)
    for _ in range(3):
        exec(one.before, names)
        exec(one.stmt, names)
    for p in names["net"].parameters():
        assert not isinstance(getattr(p, "grad_sample", None), list)
        assert getattr(p, "_forward_counter", 0) == 0
    for module in names["net"].modules():
        assert not getattr(module, "activations", None)
