"""`probe.collect` as foreign environments run it: a plain file, no opbench, an isolated Python."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import opbench.case

WORKER = Path(opbench.case.__file__).parent / "worker"
OURS = [
    WORKER / "main.py",
    WORKER / "probe" / "collect.py",
    *sorted((WORKER / "stub").glob("*.py")),
]


def collect(path: Path) -> dict:
    read_end, write_end = os.pipe()
    # -S: no site-packages, so neither opbench nor pydantic can be imported.
    main = [sys.executable, "-S", "-E", str(WORKER / "main.py"), "probe.collect"]
    command = [*main, str(path), str(write_end)]
    subprocess.run(command, pass_fds=(write_end,), check=True, timeout=600)
    os.close(write_end)
    with os.fdopen(read_end) as stream:
        return json.loads(stream.readline())


def test_it_works_where_opbench_is_not_installed(tmp_path):
    path = tmp_path / "bench.py"
    path.write_text(
        "import opbench as ob\n"
        "try: import pydantic\nexcept ImportError: pass\nelse: raise SystemError('not isolated')\n"
        "def make(n, **rest): return {'x': n}\n"
        "@ob.bench(axes={'n': range(1, 3)}, inputs=make, stages='forward', name='mine')\n"
        "def f(x): pass\n"
    )
    found = collect(path)
    (entry,) = found["benchmarks"]
    assert entry.pop("line") in (6, 7)  # Python 3.9 to 3.12 differ on the line of a decorator
    assert entry == {
        "module": "bench",
        "registered_in": "bench",
        "function": "f",
        "define": "",
        "name": "mine",
        "group": None,
        "kind": "function",
        "axes": [["n", [1, 2]]],
        "values": {},
        "stages": ["forward"],
        "inputs": {
            "module": "bench", "name": "make", "define": "", "kind": "dict", "count": None,
            "takes": ["n"],
        },
        "takes": [],
        "positional": ["x"],
        "output": "y",
    }  # fmt: skip
    assert found["module"] == "bench"
    assert found["root"] == str(tmp_path)
    assert found["modules"] == []


def test_an_error_is_data(tmp_path):
    path = tmp_path / "bench.py"
    path.write_text("import opbench as ob\n\n@ob.bench(axes=3)\ndef f(): pass\n")
    error = collect(path)["error"]
    assert error["type"] == "BenchError"
    assert error["line"] == 3
    assert "axes must be a dict" in error["message"]
    assert "Traceback" in error["traceback"]


def test_the_folder_of_the_worker_is_not_importable(tmp_path):
    (tmp_path / "protocol.py").write_text("MINE = True\n")
    path = tmp_path / "bench.py"
    path.write_text(
        "import opbench as ob, protocol\nassert protocol.MINE\n@ob.bench\ndef f(): pass\n"
    )
    assert "error" not in collect(path)


def test_a_function_of_a_prompt_whose_source_is_lost_is_refused_with_advice():
    code = "from stub import bench\ndef f(): pass\nbench(f)\n"
    command = [sys.executable, "-"]
    env = {**os.environ, "PYTHONPATH": str(WORKER)}
    done = subprocess.run(command, input=code, capture_output=True, text=True, env=env)
    assert "its source does not suffice: f, whose source is not known" in done.stderr
    assert "write it at the top level of a file" in done.stderr


def test_it_is_written_for_python_3_9_and_the_standard_library():
    for file in OURS:
        tree = ast.parse(file.read_text(), feature_version=(3, 9))
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""] if not node.level else []
            else:
                continue
            for name in names:
                assert name.split(".")[0] in sys.stdlib_module_names, (file.name, name)


def test_the_decorator_gives_back_what_it_decorates():
    from opbench.define.bench import bench, registered

    before = len(registered())
    assert bench(test_an_error_is_data, axes={"tmp_path": ["x"]}) is test_an_error_is_data
    assert registered()[before]["function"] == "test_an_error_is_data"
    del registered()[before:]
