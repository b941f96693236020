"""What a result is called in files of other tools, where only its name identifies it."""

from __future__ import annotations

from collections.abc import Sequence

from opbench.store.records import StoredResult


def names(results: Sequence[StoredResult], *, metrics: bool = True) -> list[str]:
    """The id of each case, with environment, metric and run where several of them occur.

    No two results get the same name, and the same results get the same names next time: tools that
    keep a history join them by name.
    """
    places = len({stored.result.environment for stored in results}) > 1
    kinds = metrics and len({stored.result.metric for stored in results}) > 1
    runs = len({stored.run_id for stored in results}) > 1
    chosen = []
    taken: dict[str, int] = {}
    for stored in results:
        parts = [
            stored.case.id,
            f"in {stored.result.environment}" if places else "",
            f"({stored.result.metric})" if kinds else "",
            f"of {stored.run_id}" if runs else "",
        ]
        name = " ".join(" ".join(part for part in parts if part).split())
        taken[name] = taken.get(name, 0) + 1
        # The same case under two sampling policies: rare, and still two results.
        chosen.append(name if taken[name] == 1 else f"{name} #{taken[name]}")
    return chosen


def names_by_metric(results: Sequence[StoredResult]) -> list[str]:
    """The same for tools that keep metrics apart: all metrics of a case have its name."""
    by_metric: dict[str, list[int]] = {}
    for index, stored in enumerate(results):
        by_metric.setdefault(stored.result.metric, []).append(index)
    chosen_names = [""] * len(results)
    places = len({stored.result.environment for stored in results}) > 1
    for members in by_metric.values():
        chosen = [results[index] for index in members]
        for index, name in zip(members, names(chosen, metrics=False)):
            alone = len({stored.result.environment for stored in chosen}) == 1
            more = f" in {results[index].result.environment}" if places and alone else ""
            chosen_names[index] = name + more
    return chosen_names
