"""Sweeps: a mini-model under varying input scales, dtypes and runtimes (`docs/sweeps.md`)."""
