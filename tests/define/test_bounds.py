"""Files that ask for too much: one line at once, whatever they would have become."""

from __future__ import annotations

import gzip
import json
import os
import sys
import threading
import time
import tracemalloc
from pathlib import Path

import pytest

from opbench import files
from opbench.define import document, reading, runfile
from opbench.define.collecting import collected
from opbench.define.definition import Definition
from opbench.define.expand import MOST_CASES, expand
from opbench.errors import UserError
from opbench.imports.file import read_file


def refused(call, *arguments) -> str:
    began = time.monotonic()
    with pytest.raises(UserError) as caught:
        call(*arguments)
    assert time.monotonic() - began < 60
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500
    return str(caught.value)


def test_a_pipe_that_nobody_writes_to(tmp_path, opbench_here):
    path = tmp_path / "run.toml"
    os.mkfifo(path)
    assert "nothing is written to this pipe" in refused(document.read, path)
    done = opbench_here("run", "run.toml")
    assert (done.returncode, done.stderr) == (2, "opbench: run.toml is not a regular file\n")


def test_a_pipe_that_is_written_to_is_read(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=lambda: path.write_text("x" * 300_000))
    writer.start()
    assert files.text(path) == "x" * 300_000
    writer.join()


def test_a_device_without_end():
    assert "is a device" in refused(document.read, Path("/dev/zero"))


def test_a_file_name_that_is_not_text(tmp_path, opbench_here):
    path = Path(os.fsdecode(bytes(tmp_path) + b"/bench_\xff.py"))
    path.write_text("import opbench as ob\n@ob.bench\ndef f(): pass\n")
    done = opbench_here("run", path)
    assert done.returncode == 2
    assert r"'bench_\udcff.py': a file name must be text in UTF-8" in done.stderr


def test_a_file_name_that_would_forge_a_line(tmp_path):
    path = tmp_path / "bench\n3 ok.py"
    path.write_text("")
    assert r"'bench\n3 ok.py': a file name must be without" in refused(files.check_regular, path)


def test_a_folder_and_a_missing_file(tmp_path):
    assert "Is a directory" in refused(document.read, tmp_path)
    assert "file not found" in refused(document.read, tmp_path / "no.toml")


@pytest.mark.parametrize("extra", [0, 1])
def test_a_few_kilobytes_that_unpack_to_gigabytes(tmp_path, extra):
    packed = gzip.compress(b" " * (files.MOST_BYTES + extra), 9)
    assert len(packed) < 50_000
    if extra:
        said = refused(files.unzipped, packed, tmp_path / "results.json.gz")
        assert "larger than 32 MiB when unpacked" in said
    else:
        assert len(files.unzipped(packed, tmp_path)) == files.MOST_BYTES


def test_what_unpacks_to_too_much_is_counted_not_kept(tmp_path):
    packed = gzip.compress(b" " * (4 * files.MOST_BYTES), 9)
    tracemalloc.start()
    try:
        refused(files.unzipped, packed, tmp_path / "results.json.gz")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < files.MOST_BYTES / 4


def test_a_file_that_is_too_large_is_not_read_first(tmp_path):
    path = tmp_path / "large.json"
    with path.open("wb") as stream:
        stream.truncate(1 << 40)
    assert "larger than 32 MiB" in refused(document.read, path)
    assert "larger than 512 MiB" in refused(read_file, path)


def test_an_integer_that_python_does_not_convert(tmp_path):
    for name, text in (("a.toml", "[run]\nseed = {}\n"), ("a.json", '{{"run": {{"seed": {}}}}}')):
        (tmp_path / name).write_text(text.format("9" * 5000))
        assert "numbers of at most 300 digits" in refused(document.read, tmp_path / name)


def test_a_grid_without_end_is_named_by_its_benchmark(tmp_path):
    values = list(range(100))
    axes = {f"a{n}": values for n in range(10)}
    (tmp_path / "many.json").write_text(
        json.dumps({"benchmark": [{"name": "x", "stmt": "pass", "axes": axes}]})
    )
    said = refused(lambda path: expand(runfile.load(path).definitions), tmp_path / "many.json")
    assert "many.json: benchmark 'x': about 1e20 points" in said


def test_an_exception_at_import_with_a_very_long_text(tmp_path):
    (tmp_path / "b.py").write_text("raise ValueError('z' * 5_000_000)\n")
    found = collected(tmp_path / "b.py", sys.executable)
    assert 100 < len(found["error"]["message"]) < 2000


def test_a_gzip_file_that_is_cut_short(tmp_path):
    path = tmp_path / "results.json.gz"
    path.write_bytes(gzip.compress(b"{}" * 1000)[:-9])
    assert "damaged gzip file" in refused(read_file, path)


@pytest.mark.parametrize("key", ["a.", '"a" . ', "a-b."])
@pytest.mark.parametrize("shape", ["{}x = 1", "[{}x]", "v = {{ {}x = 1 }}"])
def test_a_key_of_thousands_of_parts(tmp_path, key, shape):
    path = tmp_path / "run.toml"
    path.write_text(shape.format(key * (40_000 // len(key))))
    assert "too deeply nested" in refused(runfile.load, path)


def test_dots_in_texts_comments_and_numbers_are_not_keys(tmp_path):
    path = tmp_path / "run.toml"
    numbers = ", ".join(f"{n}.5" for n in range(300))
    path.write_text(
        f"# {'.' * 500}\n[[benchmark]]\nname = 'a'\nstmt = 'pass'\naxes.n = [{numbers}]\n"
    )
    assert len(runfile.load(path).definitions[0].axes["n"].values) == 300


def test_tables_within_tables(tmp_path):
    path = tmp_path / "run.json"
    path.write_text('{"a":' * 60 + "1" + "}" * 60)
    assert "too deeply nested" in refused(runfile.load, path)


def test_half_a_character(tmp_path):
    path = tmp_path / "run.json"
    path.write_text('{"benchmark": [{"name": "\\ud800", "stmt": "pass"}]}')
    assert r"'\ud800' is half of a character" in refused(runfile.load, path)


def test_more_cases_than_anybody_can_measure(tmp_path):
    path = tmp_path / "run.toml"
    values = list(range(100))
    axes = "\n".join(f"axes.a{n} = {values}" for n in range(10))
    path.write_text(f"[[benchmark]]\nname = 'a'\nstmt = 'pass'\n{axes}\n")
    definitions = runfile.load(path).definitions
    assert f"about 1e20 points; at most {MOST_CASES:,}" in refused(expand, definitions)


def test_a_definition_with_points_of_its_own_is_counted_as_it_goes(monkeypatch):
    class Sparse(Definition):
        def points(self, grid):
            return ({"n": n} for n in grid["n"])

    monkeypatch.setattr("opbench.define.expand.MOST_CASES", 10)
    axes = {"n": tuple(range(11)), "unused": tuple(range(1000))}
    from opbench.define.program import Program

    def program(_point, _context):
        return Program(forward="pass")

    def made(count: int) -> list[Definition]:
        return [Sparse("s", "n", program, axes | {"n": tuple(range(count))}, stages=("call",))]

    assert len(expand(made(10))) == 10
    assert "more than 10 cases" in refused(expand, made(11))


@pytest.mark.parametrize(
    ("reader", "value"),
    [
        (reading.seconds, 10**400),
        (reading.seconds, "9" * 400),
        (reading.count, 10**400),
        (reading.count, "9" * 400),
        (reading.count, "9" * 5000),
        (reading.fraction, 10**400),
        (reading.axis_values, [10**400]),
        (reading.axis_values, [-(10**400)]),
        (reading.cpus, "0-99999999999"),
        (reading.cpus, "9" * 5000),
    ],
)
def test_numbers_beyond_all_measure(reader, value):
    began = time.monotonic()
    with pytest.raises(ValueError) as caught:
        reader(value)
    assert type(caught.value) is ValueError
    assert time.monotonic() - began < 60
