"""The suite `layers`: what per-sample gradients cost, layer by layer.

Fourteen layers (torch.nn and the DP versions of `opacus.layers`), as they are and wrapped in every
way Opacus has, at six batch sizes: the configuration of arXiv:2109.12298, or any config file of
that format.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opbench.define.definition import Definition


def definitions() -> Iterator[Definition]:
    from opbench.suites.layers.config import published

    yield from configured(published())


def configured(config: object, origin: str = "") -> Iterator[Definition]:
    """The definitions of a checked config: every layer that has a section in it."""
    from opbench.suites.layers.config import Config
    from opbench.suites.layers.definition import layer_definition
    from opbench.suites.layers.names import BATCH_SIZES

    assert isinstance(config, Config)
    for layer in config.layers:
        yield layer_definition(
            layer,
            config.section(layer),
            batch_sizes=config.batch_sizes or BATCH_SIZES,
            warmups=config.num_warmups,
            origin=origin,
        )
