"""A new layer is one file: added to a copy of the code, it is a layer and no part of the study."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.suites.layers.small import CONFIG

from grown import copied, python
from opbench.suites.layers.config import published
from opbench.suites.layers.names import CLASSIC, LAYERS

SECTION = '''
"""A root-mean-square norm over the last dimension."""

from __future__ import annotations

from opbench.suites.layers.sections.rules import Flag, Positive, Shape, Size
from opbench.suites.layers.sections.section import Section
from opbench.suites.layers.shapes import Shaped


class SquareNorm(Section):
    AFFINE = "elementwise_affine"
    LAYERS = ("squarenorm", "dplinear")  # the second as if it were a DP version
    normalized_shape: Size
    eps: Positive | None = None
    elementwise_affine: Flag = True
    input_shape: Shape

    def shaped(self, layer: str, batch: int) -> Shaped:
        shape = (batch, *self.input_shape, self.normalized_shape)
        return self.of_one("torch.nn.RMSNorm", shape, shape)


SECTION = SquareNorm
'''
SIZES = {"normalized_shape": 8, "input_shape": [3]}

#: What the copy says of itself: its lists, the study, and a config that has the layer.
ASKED = """
import json
from opbench.compat.layer_factory import LayerFactory, LayerType
from opbench.define.targets import resolve
from opbench.errors import UserError
from opbench.suites.layers.command import layers_in_modes
from opbench.suites.layers.config import load, published
from opbench.suites.layers.names import CLASSIC, LAYERS

config = load("sizes.json")
try:
    LayerFactory.create("squarenorm")
except UserError as error:
    refused = str(error)
print(json.dumps({
    "layers": LAYERS,
    "classic": CLASSIC,
    "types": [value for key, value in vars(LayerType).items() if key.isupper()],
    "published": published().layers,
    "default": layers_in_modes([], [], published(), ""),
    "suite": [definition.name for definition in resolve(["layers"]).definitions],
    "of config": layers_in_modes([], [], config, ""),
    "named": layers_in_modes(["squarenorm"], ["ghost"], config, ""),
    "choices": resolve(["sizes.json"]).definitions[-2].axes["layer"].choices,
    "refused": refused,
}))
"""

STEP = f"""
from opbench.compat.layer_factory import LayerFactory
layer = LayerFactory.create("squarenorm", "hooks", batch_size=4, **{SIZES})
layer.forward_backward()
print([list(parameter.grad_sample.shape) for parameter in layer.module.parameters()])
"""


@pytest.fixture(scope="module")
def grown(tmp_path_factory) -> Path:
    """A folder with the copy, the section added to it and to the recurrent layers, and a config."""
    root = tmp_path_factory.mktemp("grown")
    sections = copied(root) / "suites" / "layers" / "sections"
    (sections / "squarenorm.py").write_text(SECTION)
    shared = (sections / "rnn_base.py").read_text()
    assert shared.count('LAYERS = ("rnn", ') == 1
    (sections / "rnn_base.py").write_text(
        shared.replace('LAYERS = ("rnn", ', 'LAYERS = ("irnn", "rnn", ')
    )
    sizes = {"linear": CONFIG["linear"], "squarenorm": SIZES}
    (root / "sizes.json").write_text(json.dumps(sizes))
    return root


@pytest.fixture(scope="module")
def said(grown):
    return json.loads(python(grown, "-c", ASKED))


def test_it_is_a_layer(said):
    """One of a section of its own, with a DP version of a layer of the study, and one of a section
    that others share."""
    assert {*said["layers"]} - {*LAYERS} == {"squarenorm", "dplinear", "irnn"}
    assert said["layers"][: len(LAYERS)] == list(LAYERS)
    assert said["choices"] == ["squarenorm"]


def test_it_has_no_classic_name_and_is_no_part_of_the_study(said):
    assert said["classic"] == list(CLASSIC)
    study = list(published().layers)
    assert said["published"] == said["suite"] == said["types"] == study
    assert "squarenorm" not in study
    assert len(said["default"]) == len(CLASSIC)


def test_a_config_that_has_it_runs_it(said):
    both = ["baseline", "hooks"]
    layers = ("linear", "squarenorm", "dplinear")
    assert said["of config"] == [[layer, mode] for layer in layers for mode in both]
    assert said["named"] == [["squarenorm", "ghost"]]


def test_without_a_config_it_has_no_size(said):
    assert "squarenorm has no published size" in said["refused"]


def test_it_has_gradients_by_sample(grown):
    pytest.importorskip("opacus")
    shapes = python(grown, "-W", "ignore", "-c", STEP)
    assert json.loads(shapes) == [[4, 8]]
