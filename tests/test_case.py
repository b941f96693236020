"""The identity of a case: what is executed decides its hash, and nothing else does."""

from __future__ import annotations

import json
from dataclasses import fields, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from opbench.case import TIMING_MODES, Case, CppBuild, Parity, UserModule, Work, label_text

text = st.text(max_size=12)
labels = st.one_of(text, st.integers(), st.booleans(), st.none(), st.floats(allow_nan=False))
modules = st.builds(UserModule, module=text, root=text, digest=text)
cases = st.builds(
    Case,
    suite=text,
    name=text,
    stage=st.sampled_from(["forward", "backward", "call"]),
    stmt=text,
    setup=text,
    globals=text,
    before=text,
    minus=text,
    sync=text,
    timing_mode=st.sampled_from(TIMING_MODES),
    labels=st.lists(st.tuples(text, labels), max_size=3, unique_by=lambda p: p[0]).map(tuple),
    components=st.lists(st.tuples(text, text), max_size=2).map(tuple),
    threads=st.integers(1, 64),
    seed=st.integers(0, 2**31),
    preload=st.lists(text, max_size=2).map(tuple),
    module=st.none() | modules,
    unsupported=text,
)

#: A different value for every field of a case; a field added later fails the test below.
OTHER = {
    "suite": "other",
    "name": "other",
    "stage": "step",
    "stmt": "other()",
    "setup": "x = 1",
    "globals": "import other",
    "before": "x = 2",
    "prelude": "x = 3",
    "timing_mode": "each",
    "minus": "pass",
    "sync": "wait()",
    "labels": (("n", 65),),
    "components": (("x", "x"),),
    "language": "c++",
    "framework": "torch",
    "runtime": "compiled",
    "device": "cuda",
    "dtype": "float64",
    "threads": 2,
    "seed": 1,
    "preload": ("torch",),
    "module": UserModule("m", "/root", "digest"),
    "unsupported": "reason",
    "parity": Parity("key", ("x",), (("y", "y"),)),
    "work": Work(1.0, 2.0),
    "cpp_build": CppBuild("/folder", ("include",), ("-O3",), ("-lm",)),
    "label": ("a", "b c"),
    "independent": True,
}

#: They save time, say what a case is compared with, and what a call amounts to: nothing of it is
#: executed.
NOT_EXECUTED = ("preload", "parity", "work", "label", "independent")


@settings(max_examples=60)
@given(cases)
def test_a_case_survives_json(case):
    again = Case.from_dict(json.loads(json.dumps(case.to_dict())))
    assert again == case
    assert again.hash == case.hash
    assert again.id == case.id


@settings(max_examples=30)
@given(cases, st.randoms())
def test_the_hash_does_not_depend_on_the_order_of_keys_or_on_unknown_ones(case, random):
    items = [*case.to_dict().items(), ("of a later version", 1)]
    random.shuffle(items)
    assert Case.from_dict(dict(items)).hash == case.hash


@settings(max_examples=30)
@given(cases, modules, text)
def test_the_folder_of_a_users_file_is_not_part_of_its_identity(case, module, root):
    here = replace(case, module=module)
    assert replace(here, module=replace(module, root=root)).hash == here.hash
    assert replace(here, module=replace(module, digest=module.digest + "x")).hash != here.hash
    assert replace(here, module=replace(module, module=module.module + "x")).hash != here.hash


def test_the_hash_is_sensitive_to_every_field_that_is_executed():
    case = Case("suite", "name", "forward", "f()", labels=(("n", 64),))
    assert set(OTHER) == {field.name for field in fields(Case)}
    for name in NOT_EXECUTED:
        other = replace(case, **{name: OTHER[name]})
        assert other.hash == case.hash
        assert Case.from_dict(json.loads(json.dumps(other.to_dict()))) == other
    executed = {name: value for name, value in OTHER.items() if name not in NOT_EXECUTED}
    hashes = {replace(case, **{name: value}).hash for name, value in executed.items()}
    assert len(hashes | {case.hash}) == len(executed) + 1


def test_the_folder_of_cpp_is_not_part_of_its_identity():
    case = Case("suite", "name", "forward", "f();", language="cpp")
    assert replace(case, cpp_build=CppBuild("/folder")).hash == case.hash
    flags = replace(case, cpp_build=CppBuild("/folder", extra_cflags=("-O3",)))
    assert replace(flags, cpp_build=replace(flags.cpp_build, folder="/other")).hash == flags.hash
    assert flags.hash != case.hash


def test_the_hash_is_the_same_in_every_process_and_version():
    # A change of this value orphans every stored result: only with a new schema.
    case = Case("suite", "name", "forward", "f()", labels=(("n", 64), ("mode", None)))
    assert case.id == "suite/name[n=64,mode=none]/forward"
    assert case.hash == "75dda3a155c7f5680c28"


def test_labels_keep_their_types_apart():
    values = [1, 1.0, True, "1", "true", None, "none"]
    hashes = {Case("s", "n", "call", "", labels=(("a", v),)).hash for v in values}
    assert len(hashes) == len(values)
    assert label_text(1.0) == "1.0"
    assert label_text(False) == "false"


def test_labels_are_part_of_the_id():
    case = Case("s", "n", "call", "", labels=(("a", 3), ("b", 2)))
    assert case.axes == {"a": 3, "b": 2}
    assert case.id == "s/n[a=3,b=2]/call"
