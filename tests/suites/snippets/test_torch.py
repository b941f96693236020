"""Snippets with a real torch: C++ and TorchScript in both languages, timed and counted.

Compiling against torch takes a minute the first time; the library is then found in the cache.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.late import needs

import opbench
from opbench.analyse.functions import difference
from opbench.snippets import GroupedSetup, GroupedStmts, materialize

needs("torch")
pytestmark = [
    pytest.mark.usefixtures("compiler"),
    pytest.mark.timeout(600),
    pytest.mark.slow,
]

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def temporary(tmp_path_factory) -> Path:
    """Where the workers of `timed` put temporary files."""
    return tmp_path_factory.mktemp("temporary")


@pytest.fixture(scope="module")
def timed(temporary) -> dict[str, opbench.Result]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(temporary))
        run = opbench.run(HERE / "documented.py", save=False, max_time_per_case=0.3)
    return {case.id.partition("[")[2]: result for case, result in run}


def test_all_eight_cases_of_the_document_run(timed):
    assert {name: result.outcome_text for name, result in timed.items()} == dict.fromkeys(
        (
            f"language={language},runtime={runtime}]/{stage}"
            for language in ("python", "cpp")
            for runtime in ("eager", "torchscript")
            for stage in ("forward", "forward_backward")
        ),
        "ok",
    )


@pytest.mark.usefixtures("timed")
def test_no_case_leaves_a_file_behind(temporary):
    assert list(temporary.iterdir()) == []


def test_going_backward_takes_longer_than_not(timed):
    for name, result in timed.items():
        if name.endswith("/forward"):
            assert timed[f"{name}_backward"].estimate > result.estimate, name


def test_several_outputs_and_a_model_in_both_languages(tmp_path):
    (tmp_path / "mine.py").write_text(
        "from opbench.snippets import GroupedModules, GroupedSetup, GroupedStmts\n"
        "two = GroupedStmts('y = x * w\\nz = x + w', 'auto y = x * w;\\nauto z = x + w;',\n"
        "    GroupedSetup('x = torch.ones(4)\\nw = torch.ones(4).requires_grad_()',\n"
        "        'auto x = torch::ones({4});\\nauto w = torch::ones({4}).requires_grad_();'),\n"
        "    signature='f(x, w) -> y, z', torchscript=True, autograd=True)\n"
        "linear = GroupedModules('model = torch.nn.Linear(4, 2)',\n"
        "    'auto model = torch::nn::Linear(4, 2);',\n"
        "    GroupedSetup('x = torch.ones((4, 4))', 'auto x = torch::ones({4, 4});'),\n"
        "    signature='f(x) -> y', torchscript=True, autograd=True)\n"
        "wrong = GroupedStmts(None, 'auto y = x.no_such_thing();',\n"
        "    GroupedSetup('', 'auto x = torch::ones({4});'))\n"
        "raises = GroupedStmts(None, 'auto y = x.view({3});',\n"
        "    GroupedSetup('', 'auto x = torch::ones({4});'))\n"
        "nothing = GroupedStmts(None, ';')\n"
    )
    run = opbench.run(tmp_path / "mine.py", save=False, max_time_per_case=0.2)
    outcomes = {case.name: [] for case, _ in run}
    for case, result in run:
        outcomes[case.name].append(result.outcome)
    assert outcomes["two"] == ["ok"] * 8
    assert outcomes["linear"] == ["ok"] * 8
    assert outcomes["nothing"] == ["ok"], "compiled beside torch, it needs none"
    reasons = {case.name: result.reason for case, result in run if not result.ok}
    assert "cpp_stmt line 1" in reasons["wrong"]
    assert "no_such_thing" in reasons["wrong"]
    assert "invalid for input of size 4" in reasons["raises"]


def test_what_materialize_gives_runs_in_torchs_own_timer():
    from torch.utils.benchmark import Timer

    setup = GroupedSetup("x = torch.ones(4)\nw = torch.ones(4).requires_grad_()")
    snippet = GroupedStmts("y = x * w", None, setup, "f(x, w) -> y", True, True)
    found = materialize({"scale": snippet})
    assert len(found) == 4
    for _label, _labels, args in found:
        assert Timer(**args.as_dict).timeit(3).mean > 0


@pytest.mark.valgrind
def test_torch_is_counted_in_both_languages_and_an_extra_operator_is_blamed(tmp_path):
    (tmp_path / "mine.py").write_text(
        "from opbench.snippets import GroupedSetup, GroupedStmts\n"
        "setup = GroupedSetup('x = torch.ones((4, 4))', 'auto x = torch::ones({4, 4});')\n"
        "one = GroupedStmts('y = x * x', 'auto y = x * x;', setup)\n"
        "more = GroupedStmts('y = x * x; x.tril()', 'auto y = x * x; x.tril();', setup)\n"
        "twice = GroupedStmts('y = x * x', 'auto y = x * x;', setup)\n"
        "kept = ('y = x * x', None, setup, 'f(x) -> y', True)  # keeps a block with each call\n"
        "scripted, again = GroupedStmts(*kept), GroupedStmts(*kept)\n"
    )
    run = opbench.run(tmp_path / "mine.py", save=False, metrics=["instructions"], jobs=1)
    found = {
        (c.name, c.runtime if c.runtime == "torchscript" else c.language): r
        for c, r in run
        if r.metric == "instructions" and (c.runtime == "eager" or c.language == "python")
    }
    assert all(result.ok for result in found.values()), [r.outcome_text for r in found.values()]
    for language in ("python", "cpp"):
        one, twice = found[("one", language)], found[("twice", language)]
        assert one.estimate == twice.estimate
        blamed = [row.function for row in difference(one, found[("more", language)])[:5]]
        assert any("tril" in name for name in blamed), blamed
    assert found[("one", "cpp")].estimate < found[("one", "python")].estimate
    # Half a pool of room was used up by what it keeps, which made 0.2 to 0.4 % of difference.
    script = found[("scripted", "torchscript")]
    assert script.estimate == pytest.approx(found[("again", "torchscript")].estimate, rel=0.001)
    assert (script.half_width or 0) < 0.0005, "its repeats differ"
