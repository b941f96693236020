"""Captures in users' hands: files of each format, written by opbench 1, and what they run as.

The digests were taken with the code that wrote the files. They change only when what is executed
for a call changes, and with it the hash of every case of every capture: say so in the release.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from opbench.capture.reading import level_of, read, read_api
from opbench.capture.writing import lines
from opbench.define.expand import expand
from opbench.suites.captured.api.definition import goes_backward
from opbench.suites.captured.api.source import program_of
from opbench.suites.captured.definition import definitions

DATA = Path(__file__).parents[2] / "capture" / "data"


def digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


@pytest.mark.parametrize(
    ("name", "axes", "count", "expected"),
    [
        ("step", {}, 62, "b36e927f05736aa9"),
        ("step", {"replay": ["cold"]}, 57, "003a8303370ec6b3"),
        ("step", {"dtype": ["bfloat16"]}, 62, "671702564bf54394"),
        ("step", {"layout": ["channels_last"]}, 62, "7bf9674a8f6167f9"),
        ("step", {"batch": [8]}, 62, "82719743c7ff0f20"),
        ("odd", {}, 32, "3f6c4ccd7c91aa37"),
        ("odd", {"replay": ["cold"]}, 30, "7d327f25d091882c"),
        ("odd", {"dtype": ["bfloat16"]}, 32, "5ffcc74a6533cd55"),
        ("odd", {"layout": ["channels_last"]}, 32, "e0ab7b972b42b651"),
    ],
)
def test_operators_become_the_same_cases(name, axes, count, expected):
    assert level_of(DATA / f"{name}.jsonl") == "operators"
    cases = expand(definitions(read(DATA / f"{name}.jsonl")), axes=axes)
    assert len(cases) == count
    texts = [
        # What checks a predicted size may be worded anew.
        digest(c.id, c.setup, c.before, c.stmt, c.unsupported, "" if "batch" in axes else c.globals)
        for c in cases
    ]
    assert digest(*texts) == expected


@pytest.mark.parametrize(
    ("name", "count", "expected"),
    [("calls", 133, "ec4dc4fd61ae045c"), ("attributes", 10, "e277fb57b9ada71d")],
)
def test_python_calls_become_the_same_programs(name, count, expected):
    assert level_of(DATA / f"{name}.jsonl") == "api"
    calls = read_api(DATA / f"{name}.jsonl")
    assert len(calls) == count
    texts = []
    for call in calls:
        p = program_of(call, "cpu")
        source = (p.forward, p.globals, p.setup, p.before, p.output, p.module, p.leaves)
        texts.append(digest(call.name, *source, p.unsupported, str(goes_backward(call))))
    assert digest(*texts) == expected


@pytest.mark.parametrize("name", ["step", "odd"])
def test_a_file_is_written_again_as_it_was(name):
    path = DATA / f"{name}.jsonl"
    written = [json.dumps(line, separators=(",", ":")) for line in lines(read(path))]
    assert written == path.read_text().splitlines()
