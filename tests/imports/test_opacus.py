"""Pickles of the Opacus layer benchmarks: read without `pickle`, refused if not plain."""

from __future__ import annotations

import os
import pickle

import numpy as np
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


SCALARS = [
    *(np.dtype(name).type(value) for name in ("float16", "float32", "float64")
      for value in (0.0, -1.5, 65504.0, float("inf"))),
    *(np.dtype(name).type(value) for name in ("int8", "int16", "int32", "int64")
      for value in (0, -128, 127)),
    *(np.dtype(name).type(255) for name in ("uint8", "uint16", "uint32", "uint64")),
    np.int64(-(1 << 63)), np.uint64((1 << 64) - 1), np.bool_(True), np.bool_(False),
]  # fmt: skip


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_scalars_of_numpy_are_read_as_numbers(protocol):
    value = {"runtime": SCALARS, "again": [SCALARS[5], (SCALARS[-1], SCALARS[-2])]}
    written = pickle.dumps(value, protocol)
    old = written.replace(b"numpy._core", b"numpy.core")  # as NumPy 1 writes them
    if protocol >= 4:  # the length of the name, and no frame that would be too long
        old = old.replace(b"\x8c\x16numpy.core", b"\x8c\x15numpy.core")
    for content in (written, old):
        found = loads(content)
        assert found == {
            "runtime": [each.item() for each in SCALARS],
            "again": [SCALARS[5].item(), (SCALARS[-1].item(), SCALARS[-2].item())],
        }
        assert {type(each) for each in found["runtime"]} == {float, int, bool}


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize(
    "value",
    [np.ones(3), np.array(1.5), np.dtype("f8"), np.longdouble(1), np.complex64(1),
     np.str_("x"), np.bytes_(b"x"), np.datetime64(1, "s"), np.float64,
     np.zeros(1, "f8,i4")[0], np.array([None])],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_nothing_else_of_numpy_is_read(value, protocol):
    with pytest.raises(NotPlain, match="holds more than plain"):
        loads(pickle.dumps([value], protocol))


def scalar(dtype="X\2\0\0\0f8", arguments="\x89\x88\x87", order="<", content="\0" * 8, **more):
    """The instructions of a scalar, one by one."""
    state = more.get("state", f"(K\3X\1\0\0\0{order}NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\0t")
    text = (
        "\x80\3cnumpy.core.multiarray\nscalar\ncnumpy\ndtype\n"
        f"{dtype}{arguments}R{state}{more.get('build', 'b')}"
        f"C{chr(len(content))}{content}\x86R."
    )
    return text.encode("latin1")


def test_a_scalar_written_by_hand_is_read():
    assert loads(scalar(content="\0\0\0\0\0\0\xf8?")) == 1.5
    assert loads(scalar(order=">", content="?\xf8\0\0\0\0\0\0")) == 1.5


@pytest.mark.parametrize(
    "content",
    [
        scalar(content="\0" * 7), scalar(content="\0" * 9), scalar(content=""),
        scalar(dtype="X\2\0\0\0O8"), scalar(dtype="X\1\0\0\0O"), scalar(dtype="X\2\0\0\0V8"),
        scalar(dtype="X\3\0\0\0f16", content="\0" * 16), scalar(dtype="X\3\0\0\0<f8"),
        scalar(dtype="X\6\0\0\0f8,os.x"), scalar(dtype="X\0\0\0\0"), scalar(dtype="K\1"),
        scalar(dtype="]"), scalar(dtype="cos\nsystem\n"), scalar(dtype="cnumpy\ndtype\n"),
        scalar(arguments="\x88\x88\x87"), scalar(arguments="\x86"), scalar(arguments="\x85"),
        scalar(order="|"), scalar(order="="), scalar(order="!"), scalar(order="x"),
        scalar(state="N"), scalar(state=")"), scalar(state="}"), scalar(state="", build=""),
        scalar(build="bb"), scalar(build="b0"),
        scalar(dtype="X\2\0\0\0b1", order="|", content="\2"),
        scalar(dtype="X\2\0\0\0b1", content="\1"),
        b"\x80\x02c_codecs\nencode\nX\1\0\0\0xX\4\0\0\0utf8\x86R.",
        b"\x80\x02c_codecs\nencode\nX\2\0\0\0\xc4\x80X\6\0\0\0latin1\x86R.",
        b"\x80\x02c_codecs\nencode\nX\1\0\0\0xX\6\0\0\0latin1\x86R.",
        b"\x80\x02c_codecs\nencode\nX\x09\0\0\x00123456789X\6\0\0\0latin1\x86R.",
        b"\x80\x02c_codecs\nencode\n)R.", b"\x80\x02cnumpy\ndtype\nNR.", b"\x80\x02NNR.",
        b"\x80\x02cnumpy\ndtype\n.", b"\x80\x04K\1K\2\x93.", b"\x80\x04]]\x93.",
        b"\x80\x02cnumpy\ndtype", b"\x80\x02c", b"\x80\x02c" + b"x" * 500 + b"\nx\n.",
    ],
)  # fmt: skip
def test_hostile_scalars_are_refused(content):
    with pytest.raises(NotPlain):
        loads(content)


def test_results_that_hold_scalars_of_numpy_are_imported(tmp_path):
    entries = [{"runtime": np.float64(0.5), "memory_stats": {"max_memory": np.int64(0)}}] * 2
    path = tmp_path / "linear_bs_16.pkl"
    record = {"layer": "linear", "batch_size": np.int64(16), "num_runs": 2, "num_repeats": 3,
              "results": entries, "config": {}}  # fmt: skip
    path.write_bytes(pickle.dumps(record))
    plain = tmp_path / "plain.pkl"
    plain.write_bytes(
        pickle.dumps(
            {**record, "batch_size": 16, "results": [{"runtime": 0.5, "memory_stats": None}] * 2}
        )
    )
    times = [
        next(result for _, result in read_file(each)[0][0].pairs if result.metric == "time")
        for each in (path, plain)
    ]
    assert times[0].ok
    assert times[0] == times[1]


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


def test_a_file_with_another_number_of_runs_than_it_says_is_imported_with_a_warning(
    tmp_path, opbench_here
):
    said = "the file says num_runs=100 and holds 4 results"
    path = write(tmp_path, "cut", record(num_runs=100))
    done = opbench_here("import", path)
    assert done.returncode == 0
    assert f"{path}: {said}" in done.stderr
    (found,), _ = read_file(path)
    for _, result in found.pairs:
        assert said in next(w.text for w in result.warnings if w.code == "other-runs")
        assert result.policy == "fixed runs=4 repeats=20"  # what it holds
    for complete in (record(), {k: v for k, v in record().items() if k != "num_runs"}):
        (found,), _ = read_file(write(tmp_path, "whole", complete))
        assert found.remark == ""
        assert all(w.code != "other-runs" for _, r in found.pairs for w in r.warnings)


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
