"""What results are called: in files of other tools, where only the name identifies one, and in
tables, where rows need not repeat what they share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from opbench.store.records import StoredResult

#: The parts of an id, as `Case.id` and the titles of comparisons join them.
ID = re.compile(
    r"(?P<suite>[^/\[\]]+)/(?P<name>[^/\[\]]+)(?:\[(?P<axes>.*)\])?"
    r"(?:/(?P<stage>\w+))?(?P<more> in .*)?"
)
#: Between two axes; the value of one may hold a comma.
NEXT_AXIS = re.compile(r",(?=[A-Za-z_]\w*=)")


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


#: Characters of a value that tables show: two of this length stand side by side on a wide terminal,
#: and a statement that people type as one is whole.
LONGEST = 60


def brief(values: Iterable[str]) -> dict[str, str]:
    """Each value, a long one with `…` for what lies between its ends. Values that differ only there
    keep the place where they do: no two become one."""
    values = list(dict.fromkeys(values))
    short = {value: value for value in values if len(value) <= LONGEST}
    short |= _cut([value for value in values if value not in short])
    return short if len(set(short.values())) == len(short) else {value: value for value in values}


def _cut(values: Sequence[str], differ: int | None = None) -> dict[str, str]:
    """`differ`: where they do, if not at their ends."""
    if not values:
        return {}
    size = (LONGEST - 1) // 2 if differ is None else (LONGEST - 2) // 3
    begin = max(size, (differ or 0) - size // 2)
    short = {
        value: "…".join([value[:size], *([] if differ is None else [value[begin:][:size]]),
                         value[-size:]])
        for value in values
    }  # fmt: skip
    alike: dict[str, list[str]] = {}
    for value, text in short.items():
        alike.setdefault(text, []).append(value)
    for same in alike.values():
        places = (at for at, signs in enumerate(zip(*same)) if len(set(signs)) > 1)
        first = next(places, min(map(len, same)))
        if len(same) > 1 and first != differ:
            short |= _cut(same, first)
    return short


def shortened(ids: Iterable[str]) -> tuple[str, dict[str, str]]:
    """What all ids have in common, and each id without it: `tour/…/forward` and `add[n=64]`. Long
    values of axes are cut.

    A single id, any set with one that is not written like a case's, and ids that would no longer
    differ (the same axes in another order) stay whole."""
    ids = list(dict.fromkeys(ids))
    found = [ID.fullmatch(id) for id in ids]
    if len(ids) < 2 or not all(found):
        return "", {id: id for id in ids}
    parts = _brief_parts([_parts(match) for match in found if match])
    shared = {
        key: value for key, value in parts[0].items() if all(p.get(key) == value for p in parts)
    }
    short = {
        id: _joined({key: value for key, value in each.items() if key not in shared})
        for id, each in zip(ids, parts)
    }
    if len(set(short.values())) < len(short):
        return "", {id: id for id in ids}
    return _pattern(parts[0], shared), short


#: Keys of an id that are no axes.
SUITE, NAME, STAGE, MORE = "/suite", "/name", "/stage", "/more"


def _parts(match: re.Match[str]) -> dict[str, str]:
    axes = NEXT_AXIS.split(match["axes"]) if match["axes"] else []
    parts = {SUITE: match["suite"], NAME: match["name"]}
    parts |= {axis: value for axis, _, value in (each.partition("=") for each in axes)}
    parts |= {STAGE: match["stage"]} if match["stage"] else {}
    return parts | ({MORE: match["more"]} if match["more"] else {})


def _brief_parts(parts: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    axes = dict.fromkeys(key for each in parts for key in each if not key.startswith("/"))
    short = {axis: brief(each[axis] for each in parts if axis in each) for axis in axes}
    return [
        {key: short[key][value] if key in short else value for key, value in each.items()}
        for each in parts
    ]


def _joined(parts: dict[str, str]) -> str:
    axes = [f"{axis}={value}" for axis, value in parts.items() if not axis.startswith("/")]
    name = "/".join(parts[key] for key in (SUITE, NAME) if key in parts)
    inside = f"[{','.join(axes)}]" if axes and name else ", ".join(axes)
    stage = parts.get(STAGE, "")
    return name + inside + (f"/{stage}" if stage and name + inside else stage) + parts.get(MORE, "")


def _pattern(first: dict[str, str], shared: dict[str, str]) -> str:
    """The id, with `…` for what differs."""
    if not shared:
        return ""
    name = "/".join(shared.get(key, "…") for key in (SUITE, NAME))
    axes = [f"{axis}={value}" for axis, value in shared.items() if not axis.startswith("/")]
    varied = [axis for axis in first if not axis.startswith("/") and axis not in shared]
    axes += ["…"] * bool(varied)
    stage = f"/{shared.get(STAGE, '…')}" if STAGE in first else ""
    text = f"{name}{f'[{chr(44).join(axes)}]' if axes else ''}{stage}"
    return re.sub(r"…(\[…\])?(/…)?$", "…", text)  # nothing that follows is known


def counted(text: str) -> tuple[tuple[int, str], ...]:
    """For sorting in the order people count in: 64 before 256."""
    parts = re.split(r"(\d+)", text)
    return tuple((int(part) if part.isdigit() else 0, part) for part in parts)
