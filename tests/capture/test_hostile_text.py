"""Texts of a capture, and its name, are shown and never obeyed."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from opbench.capture.reading import BadCapture, parse, parse_api

ESCAPE = "\x1b[2J\x1b]0;owned\x07"
HEADER = {"opbench": "capture", "version": 1, "device": "cpu"}
CALL = {"call": "aten::relu", "args": [{"t": "float32[2]"}], "count": {"forward": 1}}


def capture_text(*lines: dict) -> str:
    return "".join(json.dumps(line) + "\n" for line in lines)


def test_escape_sequences_in_a_file_do_not_reach_the_terminal(tmp_path, opbench_here):
    texts = {"modules": [ESCAPE], "api": [ESCAPE], "args": [{"t": "float32[2]"}, {"other": ESCAPE}]}
    skipped = {"skipped": f"x{ESCAPE}", "count": 1, "reason": ESCAPE}
    header = {**HEADER, "torch": ESCAPE, "device": ESCAPE}
    (tmp_path / "c.jsonl").write_text(capture_text(header, {**CALL, **texts}, skipped))
    done = opbench_here("show", "c.jsonl")
    assert done.returncode == 0, done.stderr
    assert "\x1b]0;" not in done.stdout
    assert "\x07" not in done.stdout
    assert "\\x1b[2J" in done.stdout


def test_a_file_name_never_becomes_code(tmp_path, opbench_here):
    for name in ("c\nprint('OWNED')\n#.jsonl", "a\x1bb.jsonl"):
        (tmp_path / name).write_text(capture_text(HEADER, CALL))
        refused = opbench_here("show", "relu", "--in", name, "--script")
        assert (refused.returncode, refused.stdout) == (2, "")
        assert "control characters" in refused.stderr
        assert "\x1b" not in refused.stderr
    name = "c\u2028print('OWNED')\u2028#\"\"\";'''print('OWNED').jsonl"
    (tmp_path / name).write_text(capture_text(HEADER, CALL))
    done = opbench_here("show", "relu", "--in", name, "--script")
    assert done.returncode == 0, done.stderr
    short = done.stdout.replace("0.3, 2.0", "0, 0")
    (tmp_path / "s.py").write_text(short)
    ran = subprocess.run([sys.executable, "s.py"], cwd=tmp_path, capture_output=True, text=True)
    assert "median" in ran.stdout, ran.stderr
    assert "OWNED" not in ran.stdout.splitlines()


def test_an_error_that_quotes_the_file_is_one_line(tmp_path, opbench_here):
    (tmp_path / "c.jsonl").write_text(capture_text({**HEADER, "phase_seconds": {ESCAPE: "x"}}))
    done = opbench_here("show", "c.jsonl")
    assert done.returncode == 2
    assert "\x1b" not in done.stderr


def test_only_a_dtype_is_a_dtype():
    line = {"function": "torch.full", "args": [[2], 1.0], "count": 1}
    header = {**HEADER, "level": "api"}
    for name in ("save", "load", "os", "hub", "float_power", "complex", "frombuffer"):
        bad = json.dumps({**line, "kwargs": {"dtype": {"dtype": name}}})
        with pytest.raises(BadCapture, match="unknown dtype"):
            parse_api([json.dumps(header), bad])
    for name in ("float32", "qint8", "float8_e4m3fn", "bits8", "uint4", "bool"):
        good = json.dumps({**line, "kwargs": {"dtype": {"dtype": name}}})
        assert parse_api([json.dumps(header), good])[0].kwargs["dtype"].name == name


@pytest.mark.parametrize(
    "values",
    [
        {"runs": [1, 1]}, {"runs": [3, -1]}, {"packed": "A="}, {"packed": "AAAA"},
        {"packed": "é"}, {"count": 1}, {"heads": [0.5, 0.1], "lo": 0, "hi": 3}, {"heads": "x"},
    ],
)  # fmt: skip
def test_contents_that_do_not_fit_their_tensor_are_refused(values):
    line = {**CALL, "args": [{"t": "bool[3]", "v": values}]}
    with pytest.raises(BadCapture, match="line 2: "):
        parse([json.dumps(HEADER), json.dumps(line)])
