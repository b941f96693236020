"""Pickles of the Opacus layer benchmarks: read without `pickle`, refused if not plain."""

from __future__ import annotations

import os
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opbench.define.expand import expand
from opbench.imports import plain_pickle
from opbench.imports.file import import_files, read_file
from opbench.imports.plain_pickle import NotPlain, loads
from opbench.store import Store, StoreError

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.tuples(inner) | st.tuples(inner, inner, inner, inner)
    | st.dictionaries(st.text(), inner),
    max_leaves=30,
)  # fmt: skip


@given(PLAIN, st.integers(2, 5))
def test_plain_values_are_read_as_pickle_would(value, protocol):
    assert loads(pickle.dumps(value, protocol=protocol)) == value


def test_long_text_and_shared_values():
    shared = {"offset": 0, "layer": 1 << 70}
    value = {"x" * 70_000: [shared] * 300, "deep": [[[[(1,), (1, 2), (1, 2, 3, 4)]]]]}
    for protocol in (2, 3, 4, 5):
        assert loads(pickle.dumps(value, protocol)) == value


class Calls:
    def __reduce__(self):
        return (os.system, ("touch was_executed",))


@pytest.mark.parametrize(
    ("value", "said"),
    [(Calls(), "would build an object"), (os.system, "would build an object"),
     ({1, 2}, "holds more than plain"), (b"x", "holds more"), (1 + 2j, "would build an object")],
)  # fmt: skip
def test_anything_that_would_execute_is_refused(tmp_path, monkeypatch, value, said):
    monkeypatch.chdir(tmp_path)
    for protocol in (2, 3, 4, 5):
        with pytest.raises(NotPlain, match=said):
            loads(pickle.dumps({"layer": value}, protocol))
    assert not list(tmp_path.iterdir())


@given(PLAIN, st.data())
@settings(max_examples=100)
def test_damaged_files_are_refused_or_read_and_never_crash(value, data):
    content = bytearray(pickle.dumps(value))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(1, len(content)))
    try:
        loads(bytes(content[:cut]))
    except NotPlain:
        pass


@given(st.binary(max_size=200))
@settings(max_examples=100)
def test_arbitrary_bytes_are_refused_or_read(content):
    try:
        loads(b"\x80\x04" + content)
    except NotPlain:
        pass


def test_a_few_bytes_that_stand_for_billions_of_values_are_refused(monkeypatch):
    monkeypatch.setattr(plain_pickle, "MOST_VALUES", 100_000)  # millions take seconds to count
    value: list = []
    for _ in range(40):
        value = [value] * 10
    with pytest.raises(NotPlain, match="too often or too deeply"):
        loads(pickle.dumps(value))
    endless: list = []
    endless.append(endless)
    with pytest.raises(NotPlain, match="too often or too deeply"):
        loads(pickle.dumps(endless))


def record(layer="linear", mode="hooks", batch=16, seconds=2e-3, **more):
    stats = {"offset": 0, "input_tensor": 512, "layer": 1024, "labels": 512, "max_memory": 5000}
    return {
        "layer": layer, "batch_size": batch, "num_runs": 4, "num_repeats": 20,
        "random_seed": None, "forward_only": False, "gsm_mode": mode,
        "results": [{"runtime": seconds * (1 + i / 100), "memory_stats": stats} for i in range(4)],
        "config": {"input_shape": [], "in_features": 512, "out_features": 512}, **more,
    }  # fmt: skip


def write(folder, name, content):
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.pkl"
    path.write_bytes(pickle.dumps(content, protocol=pickle.HIGHEST_PROTOCOL))
    return path


def test_the_files_of_one_command_are_one_run_with_the_ids_of_our_own(tmp_path):
    from opbench.suites.layers.factors import rows

    raw = tmp_path / "raw"
    files = [
        write(raw, "a", record(mode="baseline", seconds=1e-3)),
        write(raw, "b", record(mode="hooks")),
        # As of 2021: the mode is in the name.
        write(raw, "c", {k: v for k, v in record("gsm_linear", batch=32).items()
                         if k != "gsm_mode"}),
        write(raw, "d", record(num_repeats=5)),
    ]  # fmt: skip
    with Store.open(tmp_path / "x.db") as store:
        runs = [run for run, _ in import_files(store, files)]
        assert len(runs) == 2
        found = store.results(run=runs[0], samples=True)
        assert {s.case.id for s in found} == {
            "layers/linear[mode=baseline,batch_size=16]/forward_backward",
            "layers/linear[mode=hooks,batch_size=16]/forward_backward",
            "layers/linear[mode=hooks,batch_size=32]/forward_backward",
        }
        table = {(r.mode, r.batch_size, r.metric): r for r in rows(found)}
        assert table["hooks", 16, "time"].factor.value == pytest.approx(2.0)
        assert table["hooks", 16, "max_memory"].estimate == 5000
        assert table["hooks", 16, "time"].size == (
            "torch.nn.Linear(in_features=512, out_features=512) on 16×512"
        )
        with pytest.raises(StoreError, match="was imported before"):
            list(import_files(store, files[:1]))


def test_two_sizes_of_a_layer_are_two_results_as_our_own_are(tmp_path):
    from opbench.suites.layers.config import checked
    from opbench.suites.layers.definition import layer_definition
    from opbench.suites.layers.pickles import Pickles

    sizes = {"input_shape": [], "in_features": 4, "out_features": 4}
    entries = [
        {"comparison": ["linear", "gsm_linear"], "config": {**sizes, "in_features": inputs}}
        for inputs in (4, 8)
    ]
    config = checked({"layers": entries}, "config.json")
    pickles = Pickles(config, tmp_path, "", 4, 20, None, True)
    cases = [
        case
        for number in (1, 2)
        for case in expand(
            [layer_definition("linear", config.section("linear", number), number=number)],
            axes={"mode": ["hooks"], "batch_size": [16]},
        )
    ]
    files = []
    for case in cases:
        files.append(pickles.record(case).path(tmp_path))
        files[-1].write_bytes(pickle.dumps(record()))
    with Store.open(tmp_path / "x.db") as store:
        ((run, _),) = import_files(store, files)
        found = {stored.case.id for stored in store.results(run=run)}
    assert found == {case.id for case in cases}
    assert len(found) == 2


def test_without_a_gpu_there_is_no_memory(tmp_path):
    zero = {"offset": 0, "input_tensor": 0, "layer": 0, "labels": 0, "max_memory": 0}
    entries = [{"runtime": 1e-3, "memory_stats": zero}]
    (found,), _ = read_file(write(tmp_path, "cpu", record(results=entries)))
    assert [result.metric for _, result in found.pairs] == ["time"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"results": []}, "results is empty"),
        ({"results": [{"runtime": "fast"}]}, "runtime is str, not a number"),
        ({"results": [{"runtime": float("nan")}]}, "runtime is nan, not a finite number"),
        ({"batch_size": "16"}, "batch_size is '16'"),
        ({"layer": 3}, "layer is not a name"),
        ({"results": [{"runtime": 1.0, "memory_stats": [1]}]}, "memory_stats is list"),
    ],
)
def test_what_is_wrong_with_a_record_is_one_line(tmp_path, change, said):
    with pytest.raises(StoreError, match=said):
        read_file(write(tmp_path, "bad", record(**change)))


def test_a_pickle_with_code_is_refused_by_the_command(tmp_path, opbench_here):
    (tmp_path / "evil.pkl").write_bytes(pickle.dumps({"layer": Calls()}))
    done = opbench_here("import", tmp_path / "evil.pkl")
    assert done.returncode == 2
    assert "not read, because it is not plain data" in done.stderr
    assert not (tmp_path / "was_executed").exists()
