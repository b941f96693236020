"""Operators of a training step, recorded below autograd."""
