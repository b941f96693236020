"""A user's own layers and modes, next to the built-in ones."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.late import late

from opbench.api.request import build
from opbench.define.bench import BenchError
from opbench.define.targets import resolve
from opbench.errors import UserError
from opbench.suites.layers.factors import LayerRow
from opbench.suites.layers.names import MODES

ROOT = Path(__file__).parents[3]
FILE = ROOT / "docs" / "examples" / "my_layers.py"
torch = late("torch")


@pytest.fixture(scope="module")
def cases():
    pytest.importorskip("opacus")
    request, options = build({"targets": ("layers", str(FILE)), "axes": {"batch_size": [4]}})
    assert options.baseline == "mode=baseline"
    return {case.id.removeprefix("layers/"): case for case in request.cases}


def run(case):
    """Set-up and one step in this process."""
    sys.path.insert(0, case.module.root) if case.module else None
    names = {"seed": 0, "__name__": "case"}
    try:
        exec(case.globals, names)
        exec(case.setup, names)
        exec(case.stmt, names)
    finally:
        if case.module:
            sys.path.remove(case.module.root)
    return names


def test_pairs_and_modes_stand_with_the_built_in_ones(cases):
    modes = (*MODES, "vmapped")
    wanted = {
        *(f"rmsnorm{nn}[mode={m},batch_size=4]" for nn in ("", "_nn") for m in modes),
        *(f"lora{nn}[rank={r},mode={m},batch_size=4]" for nn in ("", "_nn") for r in (4, 16)
          for m in modes),
        *(f"linear[mode={m},batch_size=4]" for m in modes),
    }  # fmt: skip
    assert {f"{name}/forward_backward" for name in wanted} <= set(cases)


def test_arguments_go_to_the_side_that_takes_them(cases):
    own = cases["lora[rank=4,mode=baseline,batch_size=4]/forward_backward"]
    other = cases["lora_nn[rank=4,mode=baseline,batch_size=4]/forward_backward"]
    assert "net = LoRALinear(in_features=64, out_features=64, rank=4)" in own.setup
    assert "net = torch.nn.Linear(in_features=64, out_features=64)" in other.setup


@pytest.mark.parametrize("layer", ["lora[rank=4,", "lora_nn[rank=4,", "rmsnorm[", "linear["])
def test_the_gradients_of_every_mode_are_those_of_hooks(cases, layer):
    found = {}
    for mode in ("hooks", "functorch", "vmapped"):
        if layer == "linear[" and mode == "hooks":
            continue  # 512 × 512: one comparison is enough
        names = run(cases[f"{layer}mode={mode},batch_size=4]/forward_backward"])
        trained = [p for p in names["net"].parameters() if p.requires_grad]
        found[mode] = [p.grad_sample for p in trained]
        assert {grad.shape[0] for grad in found[mode]} == {4}
        for p in trained:
            assert torch.allclose(p.grad_sample.mean(0) * 4, p.grad * 4, atol=1e-4) or (
                torch.allclose(p.grad_sample.sum(0), p.grad, atol=1e-4)
            )
    for gradients in zip(*found.values()):
        scale = [g / g.norm() for g in gradients]
        assert all(torch.allclose(scale[0], each, atol=1e-4) for each in scale[1:])


def test_the_family_of_a_pair_is_its_name():
    def row(layer, mode="hooks"):
        return LayerRow(layer, mode, 4, "forward_backward", "cpu", "time", "s")

    assert (row("lora").family, row("lora").variant) == ("lora", "own hooks")
    assert (row("lora_nn").family, row("lora_nn", "baseline").variant) == ("lora", "baseline")
    assert row("lora").stands_in
    assert not row("lora_nn").stands_in


def test_the_page_shows_the_file():
    assert FILE.read_text() in (ROOT / "docs" / "layers.md").read_text()


WRONG = {
    "ob.layer_pair(nn.Linear)": "needs the layer and its counterpart",
    "ob.layer_pair(nn.Linear, nn.Linear, input_shape=(4,), in_features=4)":
        "the argument out_features of Linear has no value; add out_features=…",
    "ob.layer_pair(nn.Linear, nn.Linear, input_shape=('n',), in_features=4, out_features=4)":
        "input_shape names 'n', which is no argument; add n=…",
    "ob.layer_pair(nn.Linear, nn.Linear, input_shape=(-4,), in_features=4, out_features=4)":
        "input_shape must be the sizes of one sample",
    "ob.layer_pair(nn.ReLU, nn.ReLU, input_shape=4, output=('y', 'y', 'y'))":
        "output is one expression, or one for each side",
    "ob.layer_pair(nn.ReLU, nn.ReLU, input_shape=4, output=('y', 'x[0]'))":
        "output 'x[0]' is not an expression over y",
    "ob.layer_pair(nn.Linear, nn.Linear, input_shape=4, in_features=4, out_features=4, k=1)":
        "neither constructor takes the argument k",
    "ob.layer_pair(nn.ReLU, nn.ReLU, input_shpe=4)":
        "takes the argument input_shpe; did you mean input_shape=?",
    "ob.layer_pair(nn.ReLU, nn.ReLU, input_shape=4, inplce=True)":
        "takes the argument inplce; did you mean inplace=?",
    "ob.layer_pair(nn.Linear, nn.Linear, input_shape=4, in_feature=4, out_features=4)":
        "the argument in_features of Linear has no value; add in_features=… instead of in_feature",
    "ob.layer_pair(nn.ReLU, counterprt=nn.ReLU, input_shape=4)":
        "counterprt= is not an option; ob.layer_pair needs the layer and its counterpart",
    "ob.layer_pair(lambda: 1, nn.ReLU, input_shape=4)": "a lambda has no name to import it by",
    "ob.grad_sample_mode(print)": "a mode is a function of one module",
}  # fmt: skip


@pytest.mark.parametrize("line", WRONG)
def test_mistakes_are_one_line(line):
    import opbench

    with pytest.raises(BenchError) as caught:
        eval(line, {"ob": opbench, "nn": torch.nn, "__name__": "mine"})
    assert WRONG[line] in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_name_that_is_taken_is_refused_with_its_place(tmp_path):
    path = tmp_path / "mine.py"
    pair = "ob.layer_pair(nn.Linear, nn.Linear, input_shape=4, in_features=4, out_features=4)"
    path.write_text(f"import opbench as ob\nfrom torch import nn\n\n{pair}\n")
    with pytest.raises(UserError) as caught:
        resolve([str(path)])
    said = "mine.py line 4: the name linear is taken, opbench has one; use name="
    assert said in str(caught.value)


def test_a_mode_without_layers_says_what_to_run(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "import opbench as ob\n\n@ob.grad_sample_mode\ndef plain(module):\n    return module\n"
    )
    with pytest.raises(UserError, match="name the suite too: opbench run layers"):
        build({"targets": (str(path),)})
    request, _ = build({"targets": ("layers", str(path)), "axes": {"layer": ["linear@plain"]}})
    assert {case.axes["mode"] for case in request.cases} == {"plain"}


LAYER_FILE = """
import torch
from torch import nn
import opbench as ob

class Pair(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.inner = nn.Linear(in_features, out_features)

    def forward(self, x):
        return self.inner(x), x

class Total(Pair):
    def forward(self, x):
        return self.inner(x).sum()

sizes = dict(input_shape=4, in_features=4, out_features=3)
ob.layer_pair(Pair, nn.Linear, **sizes)
ob.layer_pair(Pair, nn.Linear, name="first", output="y[0]", **sizes)
ob.layer_pair(Pair, nn.Linear, name="each", output=("y[0]", "y"), **sizes)
ob.layer_pair(Total, nn.Linear, **sizes)
ob.layer_pair(nn.GELU, nn.ReLU, name="bare", input_shape=4)
"""


@pytest.fixture(scope="module")
def own_pairs(tmp_path_factory):
    """The case of each layer: the file, which imports torch, is read once for all."""
    file = tmp_path_factory.mktemp("pairs") / "pairs.py"
    file.write_text(LAYER_FILE)
    axes = {"mode": ["baseline"], "batch_size": [16]}
    request, _ = build({"targets": ("layers", str(file)), "axes": axes})
    return {case.name: case for case in request.cases}


@pytest.mark.parametrize(
    ("layer", "said"),
    [
        ("pair", r'gives a tuple: name what .* output="y\[0\]"'),
        ("first", ""),
        ("first_nn", r'\[0\] of its tensor is a sample.* output=\("y\[0\]", "y"\)'),
        ("each", ""),
        ("each_nn", ""),
        ("total", r"its output has the shape \(\), for a batch of 16"),
        ("bare", "nothing to train: use --stage forward"),
    ],
)
def test_an_output_is_one_tensor_with_the_batch_first(own_pairs, layer, said):
    if said:
        with pytest.raises(TypeError, match=said):
            run(own_pairs[layer])
    else:
        assert run(own_pairs[layer])["labels"].shape == (16, 3)


MODE_FILE = """
import torch
from opacus.grad_sample import GradSampleModule
import opbench as ob

def changed(module, change):
    class Changed(GradSampleModule):
        def capture_backprops_hook(self, *args, **keywords):
            super().capture_backprops_hook(*args, **keywords)
            for p in self.parameters():
                p.grad_sample = change(p.grad_sample)

    return Changed(module)

@ob.grad_sample_mode
def right(module):
    return changed(module, lambda g: g)

@ob.grad_sample_mode
def mean(module):
    return changed(module, lambda g: g / len(g))

@ob.grad_sample_mode
def zeros(module):
    return changed(module, torch.zeros_like)

@ob.grad_sample_mode
def alike(module):
    return changed(module, lambda g: g.mean(0, keepdim=True).expand_as(g))

@ob.grad_sample_mode
def larger(module):
    return changed(module, lambda g: 1.01 * g)

@ob.grad_sample_mode
def flat(module):
    return changed(module, lambda g: g.flatten(1))

@ob.grad_sample_mode
def forgotten(module):
    return module

class Hidden(torch.nn.Module):
    def __init__(self, module):
        super().__init__()
        self.call = module.forward

    def forward(self, x):
        return self.call(x)

@ob.grad_sample_mode
def hidden(module):
    return Hidden(module)

@ob.grad_sample_mode(per_sample=False)
def nothing(module):
    pass

@ob.grad_sample_mode
def broken(module):
    return module.missing

@ob.grad_sample_mode
def refusing(module):
    raise NotImplementedError
"""


@pytest.fixture(scope="module")
def own_modes(tmp_path_factory):
    """The case of each mode: the file, which imports Opacus, is read once for all."""
    pytest.importorskip("opacus")
    file = tmp_path_factory.mktemp("modes") / "modes.py"
    pair = "ob.layer_pair(torch.nn.Linear, torch.nn.Linear, name='own', input_shape=4, "
    file.write_text(f"{MODE_FILE}\n{pair} in_features=4, out_features=4)\n")
    axes = {"layer": ["own"], "batch_size": [4]}
    request, _ = build({"targets": ("layers", str(file)), "axes": axes})
    return {case.axes["mode"]: case for case in request.cases}


NOT_THOSE = "per-sample gradients of _module.weight are not those of each sample"


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        ("right", ""),
        ("mean", ""),
        ("zeros", NOT_THOSE),
        ("alike", NOT_THOSE),
        ("larger", NOT_THOSE),
        ("flat", r"2 samples gave per-sample gradients of shape \(2, 16\)"),
        ("forgotten", "the mode leaves no grad_sample on weight"),
        ("hidden", "of 2 trained parameters, the mode's module has 0"),
        ("nothing", "the mode returns a NoneType, not a module"),
    ],
)
def test_gradients_of_an_own_mode_are_those_of_each_sample(own_modes, mode, said):
    if not said:
        run(own_modes[mode])
        return
    with pytest.raises(Exception, match=said) as caught:
        run(own_modes[mode])
    assert type(caught.value).__name__ == "WrongMode"


@pytest.mark.parametrize(
    ("mode", "error", "said"),
    [
        ("broken", "AttributeError", "no attribute 'missing'"),
        ("refusing", "Unsupported", "refusing raises NotImplementedError"),
    ],
)
def test_an_own_mode_that_raises_has_failed_unless_it_refuses(own_modes, mode, error, said):
    with pytest.raises(Exception, match=said) as caught:
        run(own_modes[mode])
    assert type(caught.value).__name__ == error


@pytest.mark.slow
def test_they_are_measured_and_reported(tmp_path):
    import opbench

    pytest.importorskip("opacus")
    run = opbench.run(
        "layers", FILE, axes={"batch_size": [4], "mode": ["baseline", "hooks", "vmapped"],
                              "layer": ["rmsnorm", "rmsnorm_nn"]},
        num_runs=2, num_repeats=3, store=str(tmp_path / "r.db"),
    )  # fmt: skip
    assert not run.failures
    memory = next(r for c, r in run if r.metric == "memory" and c.name == "rmsnorm"
                  and c.axes["mode"] == "vmapped")  # fmt: skip
    assert memory.detail["components"]["per_sample_gradients"] == 4 * 64 * 4
    assert "time, × the torch.nn layer" in repr(run)
