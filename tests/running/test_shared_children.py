"""Metrics that share children, and cases that cannot be set up: on plain Python, without a GPU."""

from __future__ import annotations

import pytest

from opbench.case import Case
from opbench.plan.groups import PlannedGroup
from opbench.plan.policy import Fixed
from opbench.plan.request import Request
from opbench.running.listener import Listener
from opbench.running.runner import Runner


def results(case, *metrics):
    request = Request((PlannedGroup((case,)),), Fixed(num_runs=2, num_repeats=3), metrics)
    found = Runner(request, lambda *_: None, Listener()).run()
    return {result.metric: result for _, result in found}


def test_what_a_metric_cannot_do_ends_only_itself():
    found = results(Case("tests", "total", "call", "sum(range(100))"), "host_time", "device_time")
    assert found["host_time"].ok
    assert len(found["host_time"].samples) == 2
    assert found["device_time"].outcome == "unsupported"
    assert "use --device cuda" in found["device_time"].reason


def test_a_metric_that_is_asked_for_alone_needs_no_company():
    found = results(Case("tests", "total", "call", "sum(range(100))"), "device_time")
    assert found["device_time"].outcome == "unsupported"


def test_a_set_up_that_is_refused_is_not_tried_again(tmp_path):
    log = tmp_path / "tried"
    setup = (
        "class Unsupported(Exception): pass\n"
        f"with open({str(log)!r}, 'a') as stream: stream.write('x')\n"
        "raise Unsupported('not this one')"
    )
    case = Case("tests", "refused", "call", "pass", setup=setup)
    found = results(case, "time", "memory")
    assert [(r.outcome, r.reason) for r in found.values()] == [("unsupported", "not this one")] * 2
    assert log.read_text() == "x"


@pytest.mark.parametrize(("n", "seconds", "calls"), [(20, 1e-3, 20), (20, 0.02, 5), (20, 3.0, 1)])
def test_a_block_of_device_time_is_bounded(n, seconds, calls):
    from opbench.worker.metrics.device_time import enough

    assert enough(n, seconds) == calls
