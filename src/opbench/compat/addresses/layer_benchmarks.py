"""`from opbench.layer_benchmarks import LayerFactory`: what `benchmarks` of Opacus' wheel has."""

from __future__ import annotations

from opbench.compat.layer_benchmark import run_layer_benchmark as run_layer_benchmark
from opbench.compat.layer_factory import Layer as Layer
from opbench.compat.layer_factory import LayerFactory as LayerFactory
from opbench.compat.layer_factory import LayerType as LayerType
from opbench.compat.layer_pickles import get_layer_set as get_layer_set
from opbench.compat.layer_pickles import get_path as get_path
from opbench.compat.layer_pickles import load_results as load_results
from opbench.compat.layer_pickles import save_results as save_results
