"""`opbench show`, as typed."""

from __future__ import annotations

import pytest

from opbench.result import Sample, Warning
from opbench.store import Store
from synthetic import add_run, case, timed


@pytest.mark.parametrize("warned", [True, False])
def test_starts_are_shown_where_a_warning_sends_a_reader_to_see_them(command, tmp_path, warned):
    warnings = (Warning("two-groups", "its starts fall into two groups"),) if warned else ()
    values = (1.0, 1.3, 1.01, 1.0, 1.02, 1.31)
    blocks = tuple(Sample(value * 1e-6, start=start) for start, value in enumerate(values))
    with Store.open(tmp_path / "x.db") as store:
        add_run(store, 0, "", timed(case(), 1.1e-6, samples=blocks, warnings=warnings))
    shown = command("show", "ops/add/forward", "--store", tmp_path / "x.db").stdout
    assert ("      slower starts: 2: 1.30 µs (1 block), 6: 1.31 µs (1 block)\n" in shown) == warned


@pytest.mark.parametrize("name", ["step.jsonl", "bench_mine.py", "sweep.toml"])
def test_a_file_that_is_not_there_is_no_misspelled_case(command, name):
    done = command("show", name)
    assert (done.returncode, done.stderr) == (2, f"opbench: file not found: {name}\n")
