"""The Python interface of the Opacus layer benchmarks: what its own tests check, held here."""

from __future__ import annotations

import pickle
import traceback
import warnings
from inspect import signature

import pytest
from opbench.layer_benchmarks import (
    LayerFactory,
    LayerType,
    get_layer_set,
    get_path,
    load_results,
    run_layer_benchmark,
    save_results,
)
from tests.late import late
from tests.suites.layers.small import BATCH, CONFIG

from opbench.errors import UserError
from opbench.suites.layers.names import SECTIONS, STUDY

torch = late("torch")

pytestmark = pytest.mark.usefixtures("kept_workers")


@pytest.fixture(autouse=True, scope="module")
def _installed():
    pytest.importorskip("opacus")  # here: whoever collects these tests need not import it


NAMES = [value for key, value in vars(LayerType).items() if not key.startswith("_")]


def create(layer, mode="baseline", **more):
    return LayerFactory.create(
        layer_name=layer, gsm_mode=mode, batch_size=BATCH, **{**CONFIG[SECTIONS[layer]], **more}
    )


def test_the_layer_types_are_the_layers_of_the_study():
    assert tuple(NAMES) == STUDY


@pytest.mark.parametrize("layer", NAMES)
def test_every_layer_is_made_and_goes_forward_and_backward(layer):
    made = create(layer, random_seed=3)
    before = made.forward_only()
    assert before.requires_grad
    made.forward_backward()
    assert all(p.grad is not None for p in made.module.parameters())
    # The same seed makes the same layer and input.
    assert torch.equal(create(layer, random_seed=3).forward_only(), before)
    assert not torch.equal(create(layer, random_seed=4).forward_only(), before)


@pytest.mark.parametrize("layer", ["linear", "conv", "embedding", "dpmha", "dplstm"])
def test_a_wrapped_layer_has_gradients_by_sample(layer):
    from opacus import GradSampleModule

    made = create(layer, "hooks")
    assert isinstance(made.module, GradSampleModule)
    made.forward_backward()
    assert {p.grad_sample.shape[0] for p in made.module.parameters()} == {BATCH}


def test_a_layer_shows_what_it_is_and_what_goes_in():
    made = create("mha")
    assert repr(made) == (
        "<Layer mha, mode baseline, batch size 4, cpu: "
        "torch.nn.MultiheadAttention(embed_dim=8, num_heads=2) on 3×4×8>"
    )
    assert made.input_tensor.shape == made.labels.shape == made.forward_only().shape
    assert create("embedding").input_tensor.dtype == torch.int64


@pytest.mark.parametrize(
    ("layer", "mode"), [("linear", "hooks"), ("linear", "ghost"), ("embedding", "functorch")]
)
def test_what_opacus_causes_torch_to_warn_of_is_not_shown(layer, mode):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        create(layer, mode).forward_backward()


def test_a_traceback_names_the_case():
    made = create("linear")
    made.module.register_forward_hook(lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError) as caught:
        made.forward_backward()
    files = [frame.filename for frame in traceback.extract_tb(caught.tb)]
    assert "<layers/linear[mode=baseline,batch_size=4]/forward_backward>" in files


@pytest.mark.parametrize("mode", ["baseline", "hooks", "functorch", "ew", "ghost"])
def test_a_step_is_the_same_after_forward_passes_alone(mode):
    def gradients(passes):
        made = create("linear", mode, random_seed=1)
        for _ in range(passes):
            made.forward_only()
        made.forward_backward()
        return [
            getattr(p, name)
            for p in made.module.parameters()
            for name in ("grad", "grad_sample")
            if getattr(p, name, None) is not None
        ]

    alone, after = gradients(0), gradients(2)
    assert len(alone) == len(after) > 0
    assert all(torch.equal(one, other) for one, other in zip(alone, after))


def test_every_mode_wraps_in_its_own_way():
    kinds = {mode: type(create("linear", mode).module).__name__
             for mode in ("baseline", "hooks", "functorch", "ew", "ghost")}  # fmt: skip
    assert kinds == {
        "baseline": "Linear",
        "hooks": "GradSampleModule",
        "functorch": "GradSampleModule",
        "ew": "GradSampleModuleExpandedWeights",
        "ghost": "GradSampleModuleFastGradientClipping",
    }


@pytest.mark.parametrize(("nn", "dp"), [("mha", "dpmha"), ("rnn", "dprnn"), ("lstm", "dplstm")])
def test_a_dp_layer_gives_what_the_torch_layer_gives(nn, dp):
    first, second = create(nn, random_seed=1), create(dp, random_seed=1)
    assert first.forward_only().shape == second.forward_only().shape
    if dp != "dpmha":  # its parameters have other names
        state = {name.replace("weight_ih_l0", "weight_ih_l0"): value
                 for name, value in first.module.state_dict().items()}  # fmt: skip
        second.module.load_state_dict(state)
        assert torch.allclose(first.forward_only(), second.forward_only(), atol=1e-5)


def test_on_the_cpu_moving_takes_no_cuda_memory():
    assert create("lstm").to("cpu") == dict.fromkeys(
        ("offset", "input_tensor", "h_0", "c_0", "layer", "labels"), 0
    )


@pytest.mark.cuda
def test_on_cuda_every_byte_is_accounted_for():
    made = create("lstm")
    stats = made.to("cuda")
    assert sum(stats.values()) == torch.cuda.memory_allocated()
    assert all(stats[name] > 0 for name in ("input_tensor", "h_0", "c_0", "layer", "labels"))
    made.forward_backward()


@pytest.mark.parametrize(("name", "wrapped"), [("linear", False), ("gsm_linear", True)])
def test_the_mode_is_that_of_the_name_unless_it_is_given(name, wrapped):
    made = LayerFactory.create(name, batch_size=BATCH, **CONFIG["linear"])
    made.forward_backward()
    assert all(hasattr(p, "grad_sample") == wrapped for p in made.module.parameters())


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: create("linear", "spooky"), "unknown mode 'spooky'"),
        (lambda: LayerFactory.create("liner"), "unknown layer 'liner'"),
        (
            lambda: LayerFactory.create("rnn", **CONFIG["rnn_base"], proj_size=2),
            r"LayerFactory\.create: rnn takes no proj_size",
        ),
        (lambda: LayerFactory.create("gsm_linear", "ew"), "is linear in the mode hooks, not ew"),
        (lambda: create("linear", in_features=0), r"linear\.in_features: expected a whole number"),
        (
            lambda: LayerFactory.create("linear", input_shape=[], in_features=4),
            r"LayerFactory\.create: linear\.out_features: required key is missing",
        ),
        (
            lambda: LayerFactory.create("instancenorm", num_features=4, input_shape=[8]),
            "LayerFactory.create: instancenorm: affine is not given",
        ),
        (lambda: run_layer_benchmark(num_repeats=2), "name the layer, once"),
        (lambda: run_layer_benchmark("linear", mode="ew", gsm_mode="hooks"), "the same thing"),
        (lambda: run_layer_benchmark("linear", create_layer=print), "ob.layer_pair"),
    ],
)
def test_mistakes_are_value_errors_in_one_line(call, said):
    with pytest.raises(UserError, match=said):
        call()


def test_the_keywords_of_opacus_measure_the_same():
    runtime, memory = run_layer_benchmark(
        num_repeats=3, num_runs=1, layer_name="linear", gsm_mode="hooks", batch_size=BATCH,
        random_seed=0, device="cpu", **CONFIG["linear"],
    )  # fmt: skip
    assert runtime > 0
    assert memory["layer"] == (5 * 7 + 7) * 4
    assert memory["max_memory"] > sum(memory[name] for name in ("layer", "labels"))


def test_a_layer_has_the_published_size_where_none_is_given():
    assert LayerFactory.create("linear", batch_size=BATCH).module.out_features == 512


def test_layers_share_a_config_by_their_constructors():
    assert [
        get_layer_set(name) for name in ("gsm_dplstm", "dpgru", "rnn", "gsm_conv", "dpmha")
    ] == [*("rnn_base", "rnn_base", "rnn_base", "conv", "mha")]


def test_files_have_the_names_that_opacus_gives_them():
    utils = pytest.importorskip("benchmarks.utils")
    keys = {"layer": "linear", "batch_size": 16, "num_runs": 2, "num_repeats": 3,
            "gsm_mode": "hooks", "random_seed": 7, "forward_only": True, "root": "raw/",
            "suffix": "x"}  # fmt: skip
    for left_out in ((), ("root",), ("suffix", "root"), ("random_seed", "forward_only", "root")):
        given = {name: value for name, value in keys.items() if name not in left_out}
        assert get_path(**given) == utils.get_path(**given)
    for root in ("raw", "", "./", "/tmp/raw/", "raw//"):
        assert get_path(**{**keys, "root": root}) == utils.get_path(**{**keys, "root": root})
    given = ("gsm_linear", 16, 2, 3, "hooks", 7, True, "raw/", "_x")
    assert get_path(*given) == utils.get_path(*given)
    assert get_path("gsm_linear", 16, 2, 3) == (
        "./results/raw/gsm_linear_bs_16_runs_2_repeats_3_seed_None.pkl"
    )


def test_functions_for_files_take_their_arguments_in_the_order_of_opacus():
    utils = pytest.importorskip("benchmarks.utils")
    for ours, theirs in ((get_path, utils.get_path), (save_results, utils.save_results)):
        assert [*signature(ours).parameters] == [*signature(theirs).parameters]


def test_results_are_written_and_read_back(tmp_path):
    results = [{"runtime": 0.5, "memory_stats": {"max_memory": 3}}] * 2
    where = {"root": f"{tmp_path}/raw_", "suffix": "x"}
    save_results("linear", 16, 2, 3, "hooks", results, {"in_features": 4}, **where)
    (path,) = tmp_path.iterdir()
    assert str(path) == get_path("linear", 16, 2, 3, "hooks", **where)
    assert load_results(path) == pickle.loads(path.read_bytes())
    assert load_results(path)["results"] == results
    path.write_bytes(pickle.dumps({"results": print}))
    with pytest.raises(ValueError, match="would build an object"):
        load_results(path)


@pytest.mark.parametrize(("layer", "own"), [("lstm", "dplstm"), ("gru", "dpgru"), ("mha", "dpmha")])
def test_a_layer_that_opacus_does_not_take_is_named_with_its_version(layer, own):
    with pytest.raises(Exception, match=f"Opacus does not take torch.nn.* hooks, .*, {own}: "):
        create(layer, "hooks")
