"""The suite `layers`: what per-sample gradients cost, layer by layer."""
