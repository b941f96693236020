"""The fleet: cost per group, scaling, recovery from kills, and the speed of the stores."""

from __future__ import annotations

from collections.abc import Iterator

from perf import fleet_runs, fleet_stores
from perf.local_postgres import postgres

TITLE = "Fleet: Ray and PostgreSQL"
CODE = ("fleet", "store")


def measure(quick: bool = False) -> str:
    rows = [*runs(quick), *stores(quick)]
    head = ["| figure | measured | target | |", "| :-- | --: | --: | :-- |"]
    body = [f"| {figure} | {found} | {asked} | {'✓' if met else 'missed'} |"
            for figure, found, asked, met in rows]  # fmt: skip
    return "\n".join([*head, *body, "", NOTES])


Row = tuple[str, str, str, bool]

NOTES = (
    "All nodes are Ray nodes on this machine. An empty group is planned, sent, answered and "
    "stored, but measures nothing; its cost is the difference from a run without a fleet, "
    "excluding the start of the agents. Groups that sleep run in real workers; the speedup is "
    "relative to one group on one node, from the time all agents are ready. A kill is SIGKILL to "
    "all processes of a node, or to one agent. Writers are processes; each result has 30 samples "
    "and its own transaction. `compare` and `history` are timed without the start of Python, as "
    "the median of five."
)


def runs(quick: bool) -> Iterator[Row]:
    groups = 100 if quick else 1000
    local, fleet = fleet_runs.cost_per_group(groups)
    extra = (fleet - local) * 1e3
    found = f"{extra:.1f} ms ({fleet * 1e3:.1f} against {local * 1e3:.1f})"
    yield (
        f"cost per group over the local executor ({groups} empty groups)",
        found,
        "≤ 20 ms",
        extra <= 20,
    )
    groups, seconds = (40, 0.2) if quick else (400, 0.5)
    gain, each, together = fleet_runs.speedup(4, groups, seconds)
    found = f"{gain:.2f} ({groups} in {together:.1f} s; one takes {each * 1e3:.0f} ms)"
    yield f"4 nodes, {groups} groups that sleep {seconds} s", found, "≥ 3.6", gain >= 3.6
    groups, kills = (40, 4) if quick else (200, 20)
    after = fleet_runs.survive(groups, kills)
    found = f"{after['lost']} lost, {after['duplicated']} duplicated" + (
        "" if after["completed"] else ", not completed"
    )
    whole = (
        not after["lost"]
        and not after["duplicated"]
        and bool(after["completed"])
        and not after["not killed"]
    )
    what = f"{after['nodes']} nodes and {after['agents']} agents killed during {groups} groups"
    yield what, found, "0 lost, 0 duplicated, completes", whole


def stores(quick: bool) -> Iterator[Row]:
    each = 100 if quick else 1000
    runs_, cases = (20, 100) if quick else (1000, 1000)
    with postgres() as server:
        with fleet_stores.stores(server) as places:
            for kind, where in places.items():
                rate, lost, duplicated = fleet_stores.writers_rate(where, 8, each)
                found = f"{rate:.0f} results/s, {lost} lost, {duplicated} duplicated"
                met = rate >= 500 and not lost and not duplicated
                yield f"8 writers × {each} results into {kind}", found, "≥ 500/s, 0, 0", met
        with fleet_stores.stores(server) as places:
            for kind, where in places.items():
                filled = fleet_stores.fill(where, runs_, cases)
                compare, history = fleet_stores.queries(where, filled[len(filled) // 2])
                size = f"{runs_ * cases:,} results in {kind}"
                yield (
                    f"{size}: compare two runs of {cases} cases",
                    f"{compare:.2f} s",
                    "≤ 2 s",
                    compare <= 2,
                )
                yield (
                    f"{size}: history of one case, {runs_} runs",
                    f"{history:.3f} s",
                    "≤ 0.2 s",
                    history <= 0.2,
                )
