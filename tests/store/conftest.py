from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from opbench.case import Case
from opbench.store import RunRecord, Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "results.db") as opened:
        yield opened


@pytest.fixture
def run(store: Store) -> RunRecord:
    record = RunRecord.new("nightly", command="opbench run layers", version="0.1.0")
    store.begin_run(record)
    return record


@pytest.fixture
def make_case() -> Callable[..., Case]:
    def make(name: str = "linear", batch: int = 16, stmt: str = "layer(x)") -> Case:
        return Case("layers", name, "forward", stmt, labels=(("batch", batch), ("mode", "hooks")))

    return make
