"""`--functions`: the table of functions is as wide as the tables above it."""

from __future__ import annotations

import pytest

from opbench.analyse import functions
from opbench.analyse.compare import Comparison
from opbench.analyse.functions import AS_COUNTED, CaseChanges, FunctionChange
from opbench.cli.compare_functions import show_functions


def test_a_log_gets_long_names_of_functions_whole(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name = f"at::native::{'add' * 20}(at::Tensor const&) [libtorch_cpu.so]"
    changes = CaseChanges("s/a/call", (FunctionChange(name, 10.0, 20.0),), 10.0)
    monkeypatch.setattr(functions, "changes_in", lambda *_: [changes])
    show_functions([Comparison("a", "b", ())], AS_COUNTED)
    assert name in capsys.readouterr().out
