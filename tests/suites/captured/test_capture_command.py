"""`opbench capture`: scripts and modules run as Python would run them, and are not edited."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from tests.capture.models import SCRIPT

from opbench.capture.reading import read
from opbench.errors import UserError
from opbench.suites.captured.probing import base_sizes, words_at


@pytest.fixture(scope="module")
def captured(tmp_path_factory):
    """One script, captured once: steps 2 and 3 of 5."""
    folder = tmp_path_factory.mktemp("script")
    (folder / "train.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "-m", "opbench.cli.main", "capture", "--steps", "2-3", "-o", "s.jsonl",
         "train.py", "--steps", "5", "--batch", "6"],
        cwd=folder, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    return done, folder / "s.jsonl"


def test_the_script_runs_as_ever_and_leaves_its_file(captured):
    done, path = captured
    assert done.returncode == 0, done.stderr
    assert "trained 5" in done.stdout
    assert f"{len(read(path).calls)} unique calls" in done.stdout
    assert (path.parent / "train.py").read_text() == SCRIPT


@pytest.mark.parametrize("name", ["step.json", "step"])
def test_a_capture_is_one_under_any_name(captured, tmp_path, opbench_here, name):
    """As `-o step.json` wrote it, and as its last line says: `Next: opbench run step.json`."""
    path = tmp_path / name
    path.write_bytes(captured[1].read_bytes())
    calls = len(read(path).calls)
    done = opbench_here("list", path)
    assert done.returncode == 0, done.stderr
    assert len([line for line in done.stdout.splitlines() if "/in_order" not in line]) == calls
    assert f"{calls} unique calls" in opbench_here("show", path).stdout
    assert "the same calls" in opbench_here("compare", path, captured[1]).stdout


def test_all_four_phases_are_seen_and_told_apart(captured):
    capture = read(captured[1])
    assert capture.phases == ("data", "forward", "backward", "optimizer")
    where = {}
    for call in capture.calls:
        where.setdefault(call.operator, set()).update(call.counts)
    assert where["aten::randn"] == {"data"}
    assert where["aten::addmm"] == {"forward"}
    assert where["aten::nll_loss_forward"] == {"forward"}
    assert where["aten::threshold_backward"] == {"backward"}
    assert where["aten::addcdiv_"] == {"optimizer"}
    # Clipping gradients happens between the backward pass and the optimizer's step.
    norms = [name for name in where if "norm" in name]
    assert norms
    assert all(where[name] == {"optimizer"} for name in norms)


def test_two_steps_are_counted_and_one_is_kept_in_order(captured):
    capture = read(captured[1])
    assert capture.steps == 2
    assert all(call.count % 2 == 0 for call in capture.calls)
    assert len(capture.order) == sum(call.count for call in capture.calls) / 2
    assert capture.header["step_seconds"] > 0
    assert set(capture.header["phase_seconds"]) == {"data", "forward", "backward", "optimizer"}


def test_each_call_says_which_module_and_function_stand_behind_it(captured):
    calls = {}
    for call in read(captured[1]).calls:
        calls.setdefault(call.operator, []).append(call)
    assert [call.modules for call in calls["aten::addmm"]] == [("0",), ("2",)]
    assert calls["aten::addmm"][0].apis == ("torch.nn.functional.linear",)
    backward = [call for call in calls["aten::mm"] if "backward" in call.counts]
    assert {"0", "2"} == {module for call in backward for module in call.modules}
    assert all("AddmmBackward0" in call.apis for call in backward)


def test_the_step_size_of_the_optimizer_makes_no_new_calls(captured):
    """Its value differs from step to step; both steps are the same calls."""
    updates = [call for call in read(captured[1]).calls if call.operator == "aten::addcdiv_"]
    assert len(updates) == len({call.tensors[0].shape for call in updates}) == 4
    assert all(isinstance(call.kwargs["value"], float) for call in updates)


def test_labels_are_kept_and_floats_only_as_a_regime(captured):
    loss = next(c for c in read(captured[1]).calls if c.operator == "aten::nll_loss_forward")
    logits, labels = loss.tensors[:2]
    assert labels.values == {"is": [0, 1, 2, 3, 0, 1]}
    low, high, mean, spread = logits.values[:4]
    assert low < mean < high
    assert spread > 0


def test_a_module_its_inference_and_no_values(opbench_here, tmp_path):
    package = tmp_path / "project"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "train.py").write_text(SCRIPT + "\nraise SystemExit(3)\n")
    words = ("--calls", "2", "--no-values", "-o", "c.jsonl", "-m", "project.train")
    done = opbench_here("capture", *words, "--infer", "--steps", "4")
    assert done.returncode == 3  # the script's own
    assert "1 call of Sequential" in done.stdout
    capture = read(tmp_path / "c.jsonl")
    assert capture.phases == ("data", "forward")
    assert capture.steps == 1
    assert [call.operator for call in capture.calls].count("aten::addmm") == 2
    assert sum(call.count for call in capture.calls) == len(capture.order)
    assert all(len(t.values) <= 4 for call in capture.calls for t in call.tensors if t.floating)


@pytest.fixture
def capture_of(opbench_here, tmp_path):
    """What comes of capturing a script of that text."""

    def run(text: str, *words: str):
        (tmp_path / "train.py").write_text(text)
        return opbench_here("capture", *words, "train.py")

    return run


def test_a_script_that_died_before_its_first_step_is_not_announced_as_a_step(capture_of):
    # Without an optimizer, whose making imports torch's compiler.
    done = capture_of(
        "import torch\nmodel = torch.nn.Linear(8, 16)\nmodel(torch.ones(4, 8))\n"
        "raise RuntimeError('shapes differ')\n"
    )
    assert done.returncode == 1
    assert "ended with exit status 1 before its first optimizer step" in done.stderr
    assert "Next: opbench run" not in done.stdout


#: Three steps: the file is written while the script still runs. What torch.optim adds parameters
#: and clears gradients with imports its compiler, which takes as long as to import torch.
THREE_STEPS = """
import os, sys, torch
model = torch.nn.Linear(8, 16)
class Plain(torch.optim.Optimizer):
    def add_param_group(self, group):
        self.param_groups.append(group)
    def step(self):
        for each in model.parameters():
            each.data -= each.grad
optimizer = Plain(model.parameters(), {})
for _ in range(3):
    model.zero_grad()
    model(torch.ones(4, 8)).sum().backward()
    optimizer.step()
"""


def test_a_window_that_never_comes_and_a_script_that_fails(capture_of, tmp_path):
    done = capture_of(f"{THREE_STEPS}raise ValueError('at the end')\n", "--steps", "30")
    assert done.returncode == 1  # the script's own
    assert "ended after 3 optimizer steps" in done.stderr
    assert "before step 30 could be captured" in done.stderr
    assert done.stderr.endswith("the script ended with exit status 1\n")
    assert not (tmp_path / "opbench-capture.jsonl").exists()


@pytest.mark.parametrize("level", ["operators", "api"])
def test_a_file_that_cannot_be_written_does_not_end_the_script(capture_of, tmp_path, level):
    done = capture_of(f"{THREE_STEPS}torch.save(0, 'saved')", "--level", level, "-o", "/dev/full")
    assert done.returncode == 2
    assert done.stderr == (
        "opbench: cannot write /dev/full: No space left on device; name another file with -o\n"
    )
    assert (tmp_path / "saved").exists()


def test_a_script_that_ends_hard_leaves_what_was_written(capture_of, tmp_path):
    done = capture_of(f"{THREE_STEPS}os._exit(7)", "-o", "c.jsonl")
    assert done.returncode == 7
    assert "c.jsonl: " in done.stdout
    assert "ended with exit status 7" in done.stderr
    assert read(tmp_path / "c.jsonl").steps == 1


def test_a_script_that_is_ended_by_a_signal(capture_of):
    done = capture_of(f"{THREE_STEPS}os.kill(os.getpid(), 15)", "-o", "c.jsonl")
    assert done.returncode == 128 + 15
    assert "c.jsonl: " in done.stdout
    assert done.stderr == "opbench: the script was ended by SIGTERM\n"


def test_a_script_that_fails_before_it_ran_anything(capture_of, tmp_path):
    done = capture_of("import torch\nraise SystemExit(3)\n")
    assert done.returncode == 3
    assert "before anything could be captured" in done.stderr
    assert not (tmp_path / "opbench-capture.jsonl").exists()


#: What a script can know of itself.
ITSELF = """
import os, sys
names = {n: repr(v) for n, v in globals().items() if n[:2] == "__" and n != "__loader__"}
found = open("found.txt", "w")
os.chdir(os.path.dirname(os.__file__))
print(sorted(names.items()), __file__, sys.argv, sys.path[0], __annotations__, file=found)
print(type(__loader__), sys.modules["__main__"].__dict__ is globals(), file=found)
"""


def test_a_script_knows_of_itself_what_it_does_in_plain_python(capture_of, tmp_path):
    capture_of(ITSELF)
    captured = (tmp_path / "found.txt").read_text()
    subprocess.run([sys.executable, "train.py"], cwd=tmp_path, check=True)
    assert captured == (tmp_path / "found.txt").read_text()


def test_a_closed_stdout_is_no_failure(capture_of):
    done = capture_of(f"{THREE_STEPS}sys.stdout = None")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "name the script to run"),
        (("-o", "x.py", "x.py"), "x.py is the script itself"),
        (("-o", ".", "x.py"), "cannot write .: it is a folder"),
        (("missing.py",), "file not found: missing.py"),
        (("--steps", "4-3", "x.py"), "a window is written 3 or 3-4"),
        (("--steps", "1", "--calls", "1", "x.py"), "not in both"),
        (("--probe", "batch", "x.py"), "written AXIS=SIZE"),
        (("--probe", "batch=8", "x.py", "--batch", "8"), "is the base size; choose another"),
        (("--probe", "batch=8", "x.py"), "the base size of batch is unknown"),
        (("--level", "kernels", "x.py"), "unknown level 'kernels'"),
    ],
)
def test_mistakes_are_told_before_anything_runs(opbench_here, tmp_path, words, said):
    (tmp_path / "x.py").write_text("raise SystemExit('it ran')")
    done = opbench_here("capture", *words)
    assert done.returncode == 2
    assert said in done.stderr
    assert "it ran" not in done.stderr


def test_probes_find_the_place_of_a_size_among_the_arguments():
    words = ["t.py", "--batch-size=8", "--seq", "128", "{depth}"]
    sizes = base_sizes(words, {"depth": 2}, {"batch_size": 16, "seq": 256, "depth": 4})
    assert sizes == {"depth": 2, "batch_size": 8, "seq": 128}
    assert words_at(words, sizes, {}) == ["t.py", "--batch-size=8", "--seq", "128", "2"]
    assert words_at(words, sizes, {"seq": 256, "depth": 4}) == [
        "t.py", "--batch-size=8", "--seq", "256", "4",
    ]  # fmt: skip
    with pytest.raises(UserError, match="do not give width"):
        words_at(words, sizes, {"width": 3})


def test_the_table_of_a_capture(captured, opbench_here):
    done = opbench_here("show", captured[1])
    assert done.returncode == 0
    assert "aten::addmm" in done.stdout
    assert "share" in done.stdout
    header = json.loads(captured[1].read_text().splitlines()[0])
    assert f"torch {header['torch']}" in done.stdout


def test_a_capture_of_python_calls_is_announced_too(capture_of):
    done = capture_of("import torch\ntorch.ones(2).cos()\n", "--level", "api", "-o", "c.jsonl")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("c.jsonl: 2 unique calls of 2 calls, ")
    assert done.stdout.endswith("Next: opbench show c.jsonl · opbench run c.jsonl\n")
