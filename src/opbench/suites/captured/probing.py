"""The sizes of a script: where its arguments name them, and the arguments for another size."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from opbench.errors import UserError


def parse_sizes(given: Sequence[str], option: str) -> dict[str, int]:
    """`batch=16` as {'batch': 16}."""
    sizes = {}
    for text in given:
        axis, _, size = text.partition("=")
        if not re.fullmatch(r"[A-Za-z_]\w*", axis) or not size.isdecimal() or int(size) < 1:
            raise UserError(f"{option} is written AXIS=SIZE, such as batch=16, not '{text}'")
        sizes[axis] = int(size)
    return sizes


def base_sizes(
    words: Sequence[str], given: Mapping[str, int], probes: Mapping[str, int]
) -> dict[str, int]:
    """The size of each probed axis in the script's own arguments: `--batch 8`, or as given."""
    sizes = dict(given)
    for axis, size in probes.items():
        if axis not in sizes:
            place = option_of(axis, words)
            if place is None:
                raise UserError(
                    f"the base size of {axis} is unknown: give the script --{axis} 8, or write "
                    f"{{{axis}}} for the number and add --size {axis}=8"
                )
            sizes[axis] = int(words[place[0]][place[1] :])
        if sizes[axis] == size:
            raise UserError(f"--probe {axis}={size} is the base size; choose another")
    return sizes


def words_at(
    words: Sequence[str], sizes: Mapping[str, int], changed: Mapping[str, int]
) -> list[str]:
    """The script's arguments with the changed sizes in their places."""
    values = {**sizes, **changed}
    changed_words = list(words)
    for axis, size in values.items():
        template = f"{{{axis}}}"
        if any(template in word for word in changed_words):
            changed_words = [word.replace(template, str(size)) for word in changed_words]
            continue
        place = option_of(axis, changed_words)
        if place is not None:
            index, begin = place
            changed_words[index] = changed_words[index][:begin] + str(size)
        elif axis in changed:
            raise UserError(
                f"the script's arguments do not give {axis}; write {{{axis}}} where it belongs"
            )
    return changed_words


def option_of(axis: str, words: Sequence[str]) -> tuple[int, int] | None:
    """(word, position in it) of the number after `--axis` or in `--axis=8`."""
    names = {f"--{axis}", f"--{axis.replace('_', '-')}"}
    for index, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name in names and equals and value.isdecimal():
            return index, len(name) + 1
        following = words[index + 1 : index + 2]
        if word in names and following and following[0].isdecimal():
            return index + 1, 0
    return None
