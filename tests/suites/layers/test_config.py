"""Layer configs: what they mean, and one line for everything that is wrong with one."""

from __future__ import annotations

import json

import pytest
from tests.suites.layers.small import CONFIG

from opbench.define.expand import expand
from opbench.define.targets import resolve
from opbench.errors import UserError
from opbench.suites.layers.config import load, published
from opbench.suites.layers.config.model import Sections
from opbench.suites.layers.names import LAYERS, SECTIONS, STUDY


def write(tmp_path, content):
    path = tmp_path / "sizes.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def changed(section, **keys):
    merged = {**CONFIG[section], **keys}
    return {section: {key: value for key, value in merged.items() if value is not None}}


def test_the_published_configuration_has_the_layers_of_the_study():
    assert published().layers == STUDY


def test_a_file_may_hold_some_of_the_layers(tmp_path):
    found = load(write(tmp_path, {"rnn_base": CONFIG["rnn_base"]}))
    assert found.layers == ("rnn", "dprnn", "gru", "dpgru", "lstm", "dplstm")


def test_the_older_keys_are_understood(tmp_path):
    path = write(tmp_path, {"num_warmups": 2, "benchmark": "torch", "linear": CONFIG["linear"]})
    found = resolve([str(path)])
    assert [definition.warmups for definition in found.definitions] == [2]
    assert found.suggested["clock"] == "torch"


def test_batch_sizes_of_a_config_replace_those_of_the_suite(tmp_path):
    path = write(tmp_path, {"batch_sizes": [2, 4, 2], "linear": CONFIG["linear"]})
    (definition,) = resolve([str(path)]).definitions
    assert definition.axes["batch_size"].values == (2, 4)


def test_a_config_may_be_toml(tmp_path):
    path = tmp_path / "sizes.toml"
    path.write_text("[linear]\ninput_shape = []\nin_features = 3\nout_features = 5\n")
    (definition,) = resolve([str(path)]).definitions
    assert definition.section.arguments() == {"in_features": 3, "out_features": 5}


def test_a_config_is_a_target_like_any_other(tmp_path):
    found = resolve([str(write(tmp_path, CONFIG))])
    of_config = [layer for layer in LAYERS if SECTIONS[layer] in CONFIG]
    assert [definition.name for definition in found.definitions] == of_config
    assert found.suggested["baseline"] == "mode=baseline"


#: One of each form that files have had, after the list of forms; sizes are our own.
LINEAR = CONFIG["linear"]
FORMS = {
    "by section": {"linear": LINEAR, "mha": CONFIG["mha"]},
    "by section with settings": {
        "linear": LINEAR,
        "batch_sizes": [2, 4],
        "num_runs": 3,
        "num_repeats": 5,
    },
    "list of comparisons": {
        "layers": [{"comparison": ["linear", "gsm_linear"], "config": LINEAR}],
        "num_warmups": 10,
        "batch_sizes": [2, 4],
        "num_repeats": 5,
        "num_runs": 3,
        "benchmark": "torch",
    },
    "list without settings": {"layers": [{"comparison": ["linear"], "config": LINEAR}]},
    "nested comparisons": {
        "layers": [
            {
                "comparison": [["rnn", "dprnn"], ["lstm", "dplstm", "gsm_dplstm"]],
                "config": CONFIG["rnn_base"],
            }
        ]
    },
    "batch size inside": {
        "layers": [
            {"comparison": ["linear", "dplinear"], "config": {**LINEAR, "batch_size": 32}},
            {"comparison": [["conv", "dpconv"]], "config": {**CONFIG["conv"], "D": 2, "N": 8}},
            {"comparison": [["layernorm"]], "config": {"input_shape": [8], "D": 1, "N": 16}},
            {
                "comparison": ["lstm", "dplstm"],
                "config": {**CONFIG["rnn_base"], "bidirectional": True, "num_layers": 2, "N": 4},
            },
        ]
    },
    "benchmarks": {
        "layers": [{"comparison": ["linear"], "config": LINEAR}],
        "benchmarks": ["python", "torch"],
    },
    "models": {"models": [{"comparison": [["linear", "dplinear"]], "config": {**LINEAR, "N": 8}}]},
}


def cases_of(path):
    found = resolve([str(path)])
    return {
        (case.name, case.axes["mode"], case.axes["batch_size"])
        for case in expand(found.definitions)
    }, found.suggested


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_the_file_loads(tmp_path, form):
    cases, _ = cases_of(write(tmp_path, FORMS[form]))
    assert cases


def test_settings_in_the_file_are_those_of_the_run(tmp_path):
    cases, suggested = cases_of(write(tmp_path, FORMS["list of comparisons"]))
    assert cases == {("linear", mode, n) for mode in ("baseline", "hooks") for n in (2, 4)}
    assert (suggested["num_runs"], suggested["num_repeats"]) == (3, 5)
    assert suggested["clock"] == "torch"


def test_several_comparisons_in_one_entry(tmp_path):
    cases, _ = cases_of(write(tmp_path, FORMS["nested comparisons"]))
    assert {(layer, mode) for layer, mode, _ in cases} == {
        *(("rnn", "baseline"), ("dprnn", "baseline"), ("lstm", "baseline")),
        *(("dplstm", "baseline"), ("dplstm", "hooks")),
    }


def test_a_batch_size_inside_a_config_is_that_layer_s(tmp_path):
    cases, _ = cases_of(write(tmp_path, FORMS["batch size inside"]))
    assert {("linear", "hooks", 32), ("conv", "hooks", 8), ("layernorm", "baseline", 16)} <= cases
    assert {size for layer, _, size in cases if layer in ("lstm", "dplstm")} == {4}
    found = load(write(tmp_path, FORMS["batch size inside"])).section("lstm")
    assert (found.bidirectional, found.num_layers) == (True, 2)


def test_several_timers_are_several_metrics(tmp_path):
    _, suggested = cases_of(write(tmp_path, FORMS["benchmarks"]))
    assert suggested["metrics"] == ("time_python", "time_torch", "memory")


def test_a_layer_in_two_sizes_is_two_series(tmp_path):
    entries = [
        {"comparison": ["linear", "gsm_linear"], "config": {**LINEAR, "in_features": n}}
        for n in (3, 9)
    ]
    path = write(tmp_path, {"layers": entries, "batch_sizes": [2]})
    cases = expand(resolve([str(path)]).definitions)
    assert [case.axes.get("config") for case in cases] == [1, 1, 2, 2]
    assert "in_features=9" in cases[3].setup
    assert load(path).section("linear", 2).in_features == 9


def test_the_command_line_overrides_the_file(tmp_path):
    from opbench.api.request import build

    path = write(tmp_path, FORMS["list of comparisons"])
    _, options = build({"targets": (str(path),), "num_runs": 7})
    assert (options.num_runs, options.num_repeats) == (7, 5)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"linear": {},}', "line 1, column 15: not valid JSON"),
        ('{\n // sizes\n "linear": {}}', "line 2, column 2: not valid JSON"),
        ({"layers": []}, "layers: expected a list of comparisons"),
        ({"layers": [{"comparison": ["linear"]}]}, "layers[0]: config is missing, the sizes of"),
        ({"layers": [{"config": LINEAR}]}, "layers[0]: comparison is missing, a list of layers"),
        ({"layers": [["linear"]]}, "layers[0]: expected an object with the keys comparison and"),
        (
            {"layers": [{"comparison": ["linear"], "config": LINEAR, "confg": 1}]},
            "layers[0]: unknown key 'confg'; did you mean config",
        ),
        (
            {"layers": [{"comparison": ["liner"], "config": LINEAR}]},
            "layers[0].comparison: unknown layer 'liner'; did you mean linear",
        ),
        (
            {"layers": [{"comparison": ["linear"], "config": {**LINEAR, "N": 4, "batch_size": 8}}]},
            "layers[0].config: batch_size and N differ",
        ),
        (
            {"layers": [{"comparison": ["conv"], "config": {**CONFIG["conv"], "D": 3}}]},
            "layers[0].config.D: 3 is not the rank of input_shape",
        ),
        (
            {"layers": [{"comparison": ["linear"], "config": {"input_shape": []}}]},
            "layers[0].config: linear.in_features: required key is missing",
        ),
        ({"layers": [], "models": []}, "layers and models name the same list; keep one"),
    ],
)
def test_what_is_wrong_with_a_list_is_one_line(tmp_path, content, said):
    path = write(tmp_path, content)
    with pytest.raises(UserError) as caught:
        load(path)
    assert str(caught.value).startswith(str(path))
    assert said in str(caught.value)


def test_a_norm_without_parameters_is_refused_unless_it_only_goes_forward(tmp_path):
    path = write(tmp_path, {"instancenorm": {"input_shape": [6], "num_features": 4}})
    definitions = resolve([str(path)]).definitions
    with pytest.raises(UserError, match="instancenorm: affine is not given, so the layer has no"):
        expand(definitions)
    assert expand(definitions, stages=["forward"])
    path = write(tmp_path, changed("layernorm", elementwise_affine=False))
    with pytest.raises(UserError, match="layernorm: elementwise_affine is false"):
        expand(resolve([str(path)]).definitions)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"lineaar": {}}, "unknown key 'lineaar'; did you mean linear?"),
        (changed("linear", in_features=None), "linear.in_features: required key is missing"),
        (changed("linear", in_features=-3), "linear.in_features: expected a whole number from 1"),
        (changed("linear", in_features=0), "linear.in_features: expected a whole number from 1"),
        (changed("linear", in_features=True), "linear.in_features: expected a whole number"),
        (changed("linear", in_feature=3), "linear: unknown key 'in_feature'; did you mean in_feat"),
        (changed("linear", input_shape=5), "linear.input_shape: expected a list of sizes"),
        (changed("linear", bias="yes"), "linear.bias: expected true or false, found 'yes'"),
        (changed("linear", device="cuda"), "linear.device: not allowed in a config file; use"),
        (changed("conv", kernel_size=64), "conv.kernel_size: a kernel that spans 64×64 does not"),
        (changed("conv", kernel_size=[3]), "conv.kernel_size: 3 has another rank than input_shape"),
        (changed("conv", groups=3), "conv.groups: 3 does not divide in_channels 4"),
        (changed("conv", input_shape=[]), "conv.input_shape: one to three sizes decide"),
        (changed("conv", padding="full"), "conv.padding: expected a number, 'same' or 'valid'"),
        (changed("conv", padding="same", stride=2), "conv.padding: 'same' needs stride 1"),
        (changed("layernorm", D=2), "layernorm.D: 2 is more than input_shape has dimensions"),
        (changed("groupnorm", num_groups=3), "groupnorm.num_groups: 3 does not divide 8"),
        (changed("embedding", padding_idx=20), "embedding.padding_idx: 20 is outside"),
        (changed("mha", num_heads=3), "mha.num_heads: 3 does not divide embed_dim 8"),
        (changed("rnn_base", dropout=2), "rnn_base.dropout: expected a number from 0 to 1"),
        (changed("rnn_base", proj_size=6), "rnn_base.proj_size: 6 is not below hidden_size 6"),
        (changed("rnn_base", nonlinearity="gelu"), "rnn_base.nonlinearity: expected 'tanh' or"),
        ({"benchmark": "sundial", **changed("linear")}, "benchmark: expected 'python', 'cuda' or"),
        ({"benchmarks": [], **changed("linear")}, "benchmarks: expected a list of timers such as"),
        ({"lstm": CONFIG["rnn_base"]}, "unknown section 'lstm'; write rnn_base"),
        ({"gsm_linear": CONFIG["linear"]}, "unknown section 'gsm_linear'; write linear"),
        ({"dplinear": CONFIG["linear"]}, "unknown section 'dplinear'; write linear"),
        ({"num_warmups": -1, **changed("linear")}, "num_warmups: expected a whole number from 0"),
        (changed("linear", input_shape=[[3]]), "expected a whole number from 1 up, found [3]"),
        ({"linear": [1]}, "linear: expected an object, found [1]"),
        ({"batch_sizes": 4, **changed("linear")}, "batch_sizes: expected a list of sizes such as"),
        ({"batch_sizes": [0], **changed("linear")}, "batch_sizes: expected a whole number from 1"),
        ({}, "no layer; choose from: linear, conv"),
        ([], "expected an object with a key for each layer"),
        ('{"linear": ', "line 1, column 12: not valid JSON"),
        ('{"linear": {}, "linear": {}}', "key 'linear' is given twice"),
    ],
)
def test_what_is_wrong_is_said_in_one_line_with_file_and_key(tmp_path, content, said):
    path = write(tmp_path, content)
    with pytest.raises(UserError) as caught:
        load(path)
    text = str(caught.value)
    assert text.startswith(str(path))
    assert said in text
    assert "\n" not in text


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"layers": []}, "layers: expected a list of comparisons, found []"),
        ({"layers": [{"config": LINEAR}]}, "layers[0]: comparison is missing"),
        ({"gsm_linear": LINEAR}, "unknown section 'gsm_linear'; write linear"),
        ({"lineaar": LINEAR}, "unknown key 'lineaar'; did you mean linear?"),
        ({"layernrom": {"D": 1}}, "unknown key 'layernrom'; did you mean layernorm?"),
        ({"benchmark": "torch", "lstm": CONFIG["rnn_base"]}, "unknown section 'lstm'; write"),
        # A run file with a mistake is none of these.
        ({"runs": {}, "benchmark": [{"name": "a", "stmt": "1"}]}, "unknown key 'runs'; did you"),
    ],
)
def test_a_target_that_is_nearly_a_config_is_told_as_one(tmp_path, content, said):
    with pytest.raises(UserError) as caught:
        resolve([str(write(tmp_path, content))])
    assert said in str(caught.value)


def test_a_key_of_a_shared_section_that_a_layer_cannot_take(tmp_path):
    """As torch.nn has it: projections are of LSTM alone, `relu` of RNN alone."""
    path = write(tmp_path, {**changed("rnn_base", proj_size=2), "batch_sizes": [2]})
    reasons = {case.name: case.unsupported for case in expand(resolve([str(path)]).definitions)}
    assert "rnn takes no proj_size; lstm and dplstm do" in reasons["rnn"]
    assert "dpgru takes no proj_size; lstm and dplstm do" in reasons["dpgru"]
    assert "proj_size" not in reasons["lstm"] + reasons["dplstm"]
    path = write(tmp_path, {**changed("rnn_base", nonlinearity="relu"), "batch_sizes": [2]})
    reasons = {case.name: case.unsupported for case in expand(resolve([str(path)]).definitions)}
    assert "gru takes no nonlinearity; rnn and dprnn do" in reasons["gru"]
    assert "nonlinearity" not in reasons["rnn"]
    # What is so without the key may be said to all of them.
    usual = changed("rnn_base", nonlinearity="tanh", proj_size=0)
    assert load(write(tmp_path, usual)).layers
    assert not any("takes no" in c.unsupported for c in expand(resolve([str(path)]).definitions)
                   if c.name in ("rnn", "dprnn"))  # fmt: skip


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(UserError, match="file not found"):
        load(tmp_path / "none.json")


def test_every_constructor_argument_of_torch_is_a_key():
    """Read from torch itself, so that an argument torch gains is noticed here."""
    torch = pytest.importorskip("torch")
    import inspect

    kinds = {
        "linear": torch.nn.Linear,
        "conv": torch.nn.Conv2d,
        "layernorm": torch.nn.LayerNorm,
        "instancenorm": torch.nn.InstanceNorm1d,
        "groupnorm": torch.nn.GroupNorm,
        "embedding": torch.nn.Embedding,
        "mha": torch.nn.MultiheadAttention,
        "rnn_base": torch.nn.modules.rnn.RNNBase,
    }
    #: Made from others (`normalized_shape`), refused by name (`device`), or no number.
    apart = {"self", "normalized_shape", "device", "_weight", "_freeze", "mode"}
    for section, kind in kinds.items():
        model = next(
            part for part in Sections.model_fields[section].annotation.__args__ if part is not None
        )
        arguments = set(inspect.signature(kind.__init__).parameters) - apart
        assert arguments <= set(model.model_fields), section
