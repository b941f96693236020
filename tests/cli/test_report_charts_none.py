"""A run without a chart: why there is none."""

from __future__ import annotations

from types import SimpleNamespace

from opbench.cli.report_page import undrawn


def contents(*outcomes: bool) -> SimpleNamespace:
    return SimpleNamespace(
        results=[SimpleNamespace(result=SimpleNamespace(ok=ok)) for ok in outcomes]
    )


def test_a_run_with_values_is_not_said_to_have_none():
    """That of the calls of a captured step, say."""
    assert undrawn(contents(False, True)).startswith("no benchmark was measured at two sizes")
    assert undrawn(contents(False)) == "no case has a value"
    assert undrawn(contents()) == "no case has a value"
