"""A training step on a GPU: recorded with the GPU's own time, replayed on it, explained by it."""

from __future__ import annotations

import pytest

from opbench.capture.reading import read
from opbench.store import Store

pytestmark = pytest.mark.cuda

TRAIN = """
import sys
import torch

torch.manual_seed(0)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(5000, 256)
        self.block = torch.nn.TransformerEncoderLayer(256, 4, 512, batch_first=True)
        self.head = torch.nn.Linear(256, 5000)

    def forward(self, ids):
        return self.head(self.block(self.embed(ids)))


net = Net().cuda()
optimizer = torch.optim.AdamW(net.parameters())
for step in range(8):
    ids = torch.randint(0, 5000, (16, 256), device="cuda")
    labels = torch.where(torch.rand(16, 256, device="cuda") < 0.1, -100, ids)
    with torch.autocast("cuda", torch.bfloat16):
        logits = net(ids)
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(float(loss.detach()))
"""


#: Batches that come from page-locked memory, and a model that runs as a CUDA graph.
GRAPHED = """
import torch

torch.manual_seed(0)
net = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024) for _ in range(4)]).cuda()
optimizer = torch.optim.SGD(net.parameters(), 0.01)
batches = [torch.randn(4096, 1024).pin_memory() for _ in range(2)]
run = torch.cuda.make_graphed_callables(net, (batches[0].cuda(),))
for step in range(8):
    x = batches[step % 2].cuda(non_blocking=True)
    optimizer.zero_grad()
    run(x).square().mean().backward()
    optimizer.step()
torch.cuda.synchronize()
"""


def capture_of(source, folder):
    from subprocess import run
    from sys import executable

    (folder / "train.py").write_text(source)
    command = [executable, "-m", "opbench", "capture", "--steps", "4", "-o", "step.jsonl"]
    done = run([*command, "train.py"], cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "step.jsonl"


@pytest.fixture(scope="module")
def captured(tmp_path_factory):
    return capture_of(TRAIN, tmp_path_factory.mktemp("cuda_capture"))


def test_every_call_has_its_time_on_the_device_and_together_they_are_the_step(captured):
    capture = read(captured)
    header = capture.header
    assert capture.device.startswith("cuda")
    assert all(call.device_seconds for call in capture.calls)
    products = [call for call in capture.calls if call.operator in ("aten::mm", "aten::addmm")]
    assert products
    assert all(call.time > 0 for call in products)
    assert set(header["device_phases"]) == {"data", "forward", "backward", "optimizer"}
    total = sum(call.time for call in capture.calls) / capture.steps
    assert total == pytest.approx(capture.device_busy, rel=0.02)
    assert sum(header["device_phases"].values()) == pytest.approx(capture.device_busy, rel=0.02)
    assert 0 < capture.device_busy <= header["step_seconds"] * 1.2
    assert not capture.skipped
    # A step that was watched by CUPTI alone, and runs as fast as any other.
    assert 0 < header["device_step_seconds"] < header["captured_seconds"]


def test_masked_targets_stay_in_range(captured):
    (loss,) = [c for c in read(captured).calls if c.operator == "aten::nll_loss_forward"]
    values = loss.tensors[1].values
    assert (values["lo"], values["marked"][0]) == (0, -100) or values["lo"] >= 0
    assert values["marked"][1] == pytest.approx(0.1, abs=0.03)


def test_the_step_replays_in_order_and_explains_the_busy_gpu(captured, opbench):
    done = opbench("run", captured, "--no-save", "-k", "in_order", cwd=captured.parent)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line.split() for line in done.stdout.splitlines() if line.strip().startswith("step ")]
    assert rows, done.stdout
    assert 0.8 < float(rows[0][-1]) < 1.2, done.stdout
    assert "the GPU is busy for" in done.stdout


def test_a_call_that_stays_on_the_host_is_replayed_there(captured, opbench, tmp_path):
    store = tmp_path / "results.db"
    calls = {call.operator for call in read(captured).calls}
    assert "aten::_local_scalar_dense" in calls, "the optimizer reads its counters"
    words = ("-k", "_local_scalar", "--store", store)
    done = opbench("run", captured, *words, cwd=captured.parent)
    with Store.open(str(store), create=False) as opened:
        found = [each.result for each in opened.results(run=opened.find_run("last"))]
    assert {each.metric for each in found} == {"host_time", "device_time"}, done.stdout
    assert {each.outcome for each in found} == {"ok"}, [each.reason for each in found]


def test_top_ranks_by_the_device(captured, opbench):
    done = opbench(
        "run", captured, "--dry-run", "--top", "50%", "-a", "replay=hot", cwd=captured.parent
    )
    chosen = [line.split("/")[1].split("-")[0] for line in done.stdout.splitlines() if "/" in line]
    capture = read(captured)
    costliest = max(capture.calls, key=lambda call: call.time)
    assert costliest.name.split("-")[0] in chosen
    assert len(chosen) < len(capture.calls) / 4


#: The whole step as one graph, after warm-up steps, as torch's documentation has it.
WHOLE = """
import torch

net = torch.nn.Linear(64, 64).cuda()
optimizer = torch.optim.Adam(net.parameters(), capturable=True)
x = torch.randn(32, 64, device="cuda")


def step():
    optimizer.zero_grad(set_to_none=True)
    net(x).square().mean().backward()
    optimizer.step()


side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(3):
        step()
torch.cuda.current_stream().wait_stream(side)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    step()
before = net.weight.detach().clone()
graph.replay()
torch.cuda.synchronize()
print("moved" if not torch.equal(before, net.weight) else "still")
"""


@pytest.mark.parametrize(("steps", "code"), [("2", 0), ("3", 0), ("6", 2)])
def test_a_program_that_captures_a_graph_runs_as_ever(tmp_path, steps, code):
    from subprocess import run
    from sys import executable

    (tmp_path / "train.py").write_text(WHOLE)
    command = [executable, "-m", "opbench", "capture", "--steps", steps, "train.py"]
    done = run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert (done.returncode, "moved" in done.stdout) == (code, True), done.stdout + done.stderr
    assert ("a step inside a CUDA graph cannot be recorded" in done.stderr) is (code == 2)


def test_page_locked_batches_and_what_a_graph_launches(tmp_path, opbench):
    path = capture_of(GRAPHED, tmp_path)
    capture = read(path)
    (copy,) = [c for c in capture.calls if "data" in c.counts and c.operator == "aten::_to_copy"]
    assert copy.tensors[0].pinned
    assert 0.2 < capture.device_unrecorded / capture.device_busy < 1
    done = opbench("run", path, "--no-save", "-k", "in_order", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line.split() for line in done.stdout.splitlines() if line.strip().startswith("data ")]
    # From memory that is not page-locked, the copy takes four times as long.
    assert 0.5 < float(rows[0][-1]) < 2, done.stdout
    assert "Not replayed: kernels that no operator launched" in done.stdout
