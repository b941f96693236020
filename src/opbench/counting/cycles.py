"""Functions that call each other in a circle (Tarjan 1972, without recursion)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def cycles(arcs: Iterable[tuple[T, T]]) -> list[set[T]]:
    """The largest sets in which each is reached from each other; single ones are left out."""
    to: dict[T, list[T]] = {}
    for caller, callee in arcs:
        to.setdefault(caller, []).append(callee)
    order: dict[T, int] = {}
    lowest: dict[T, int] = {}
    waiting: list[T] = []
    inside: set[T] = set()
    path: list[tuple[T, Iterator[T]]] = []
    found: list[set[T]] = []

    def enter(node: T) -> None:
        order[node] = lowest[node] = len(order)
        waiting.append(node)
        inside.add(node)
        path.append((node, iter(to.get(node, ()))))

    def leave(node: T) -> None:
        path.pop()
        if path:
            above = path[-1][0]
            lowest[above] = min(lowest[above], lowest[node])
        if lowest[node] == order[node]:
            at = waiting.index(node)
            circle = set(waiting[at:])
            del waiting[at:]
            inside.difference_update(circle)
            if len(circle) > 1:
                found.append(circle)

    for root in to:
        if root not in order:
            enter(root)
        while path:
            node, following = path[-1]
            for nearest in following:
                if nearest not in order:
                    enter(nearest)
                    break
                if nearest in inside:
                    lowest[node] = min(lowest[node], order[nearest])
            else:
                leave(node)
    return found
