"""Layers, losses and optimizers of networks."""
