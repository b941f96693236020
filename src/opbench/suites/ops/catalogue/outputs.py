"""Keeping every output of a JAX function, where a backward pass starts from one of them."""

from __future__ import annotations


def kept(text: str, *others: str) -> str:
    """The statements, which assign `y` and `others`, all of them computed. A compiler drops what a
    function does not return; behind a barrier it cannot, and no gradient comes from the others."""
    aside = ", ".join(f"lax.stop_gradient({name})" for name in others)
    return f"{text}\ny = lax.optimization_barrier((y, {aside}))[0]"
