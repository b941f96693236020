"""The classic names, and the axes of the suite."""

from __future__ import annotations

import pytest

from opbench.define.expand import expand
from opbench.define.targets import resolve
from opbench.errors import UserError
from opbench.suites.layers.names import CLASSIC, STUDY, classic_name, read_name

#: From the usage text of the classic runner.
USAGE = (
    "linear,gsm_linear,conv,gsm_conv,layernorm,gsm_layernorm,instancenorm,gsm_instancenorm,"
    "groupnorm,gsm_groupnorm,embedding,gsm_embedding,mha,dpmha,gsm_dpmha,rnn,dprnn,gsm_dprnn,gru,"
    "dpgru,gsm_dpgru,lstm,dplstm,gsm_dplstm"
)


def ids(**axes):
    found = expand(resolve(["layers"]).definitions, axes={"batch_size": [16], **axes})
    return [case.id.removeprefix("layers/").removesuffix("/forward_backward") for case in found]


def test_the_names_are_those_of_the_usage_text():
    assert ",".join(CLASSIC) == USAGE


@pytest.mark.parametrize("name", CLASSIC)
def test_a_classic_name_is_a_layer_in_a_mode_and_back(name):
    assert classic_name(*read_name(name)) == name


def test_a_name_that_nobody_knows_gets_the_nearest():
    with pytest.raises(UserError, match="did you mean gsm_linear"):
        read_name("gsm_liner")
    with pytest.raises(UserError, match="unknown layer 'gsm_lstm'"):
        read_name("gsm_lstm")


def test_the_whole_suite():
    cases = expand(resolve(["layers"]).definitions)
    assert {case.name for case in cases} == {*STUDY}
    assert len(cases) == len(STUDY) * 5 * 6
    assert len({case.hash for case in cases}) == len(cases)


def test_a_layer_has_all_modes_and_a_wrapped_name_has_one():
    assert len(ids(layer=["linear"])) == 5
    assert ids(layer=["gsm_linear"]) == ["linear[mode=hooks,batch_size=16]"]
    assert ids(layer=["conv@ghost"]) == ["conv[mode=ghost,batch_size=16]"]


def test_names_of_both_kinds_go_together():
    assert ids(layer=["linear", "gsm_linear"], mode=["baseline"]) == [
        "linear[mode=baseline,batch_size=16]",
        "linear[mode=hooks,batch_size=16]",
    ]
    found = ids(layer=["linear@baseline", "gsm_dplstm"])
    assert found == ["linear[mode=baseline,batch_size=16]", "dplstm[mode=hooks,batch_size=16]"]


def test_a_mode_that_a_name_excludes_leaves_nothing():
    with pytest.raises(UserError, match="no benchmark has all of these"):
        ids(layer=["gsm_linear"], mode=["baseline"])


def test_every_classic_name_is_a_value_of_the_axis():
    wrapped = [name for name in CLASSIC if name.startswith("gsm_")]
    assert len(ids(layer=wrapped)) == len(wrapped)


def test_the_step_is_the_default_stage_and_the_others_are_there():
    definitions = resolve(["layers"]).definitions
    only = {"layer": ["linear@hooks"], "batch_size": [16]}
    assert [case.stage for case in expand(definitions, axes=only)] == ["forward_backward"]
    found = expand(definitions, axes=only, stages=["forward", "backward"])
    assert [(case.stage, case.timing_mode) for case in found] == [
        ("forward", "repeatable"),
        ("backward", "each"),
    ]


def test_the_suite_brings_its_own_baseline_where_there_is_one():
    from opbench.api.request import build

    request, options = build({"targets": ("layers",), "axes": {"layer": ["linear"]}})
    assert options.baseline == "mode=baseline"
    assert options.metrics == ("time", "memory")
    assert {len(group.cases) for group in request.groups} == {5}
    request, options = build({"targets": ("layers",), "axes": {"layer": ["gsm_linear"]}})
    assert options.baseline is None
    asked = {"targets": ("layers",), "axes": {"layer": ["gsm_linear"]}}
    with pytest.raises(UserError, match="no case has mode=baseline"):
        build({**asked, "baseline": "mode=baseline"})


def test_a_layer_and_what_stands_in_for_it_are_measured_together():
    from opbench.api.request import build

    axes = {"layer": ["dplstm", "lstm", "linear"], "mode": ["hooks", "baseline"], "batch_size": [8]}
    request, _ = build({"targets": ("layers",), "axes": axes})
    found = [{case.name for case in group.cases} for group in request.groups]
    assert sorted(found, key=len) == [{"linear"}, {"lstm", "dplstm"}]
    bases = {group.cases[group.base].id for group in request.groups}
    assert bases == {
        f"layers/{name}[mode=baseline,batch_size=8]/forward_backward" for name in ("lstm", "linear")
    }


def test_time_on_a_gpu_is_two_metrics():
    from opbench.plan.metrics import chosen

    assert chosen(("time", "memory")) == ("time", "memory")
    assert chosen(("time", "memory"), device="cuda:0") == ("host_time", "device_time", "memory")
    assert chosen(("time",), "torch", "cuda") == ("time_torch",)
    with pytest.raises(UserError, match="unknown clock 'sundial'"):
        chosen(("time",), "sundial")
