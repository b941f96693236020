"""Which steps of a program are in the file: whole ones, of the thread that trains."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.late import Late, late

from opbench.capture.reading import read

torch = late("torch")
recording = Late("opbench.capture.operators.recorder")


def plain(parameters):
    """No optimizer of torch's, whose making imports the compiler."""

    class Plain(torch.optim.Optimizer):
        def step(self, closure=None):
            with torch.no_grad():
                for group in self.param_groups:
                    for parameter in group["params"]:
                        parameter.sub_(parameter.grad)

    return Plain(parameters, {})


class Program:
    """A model, and a step of its training."""

    def __init__(self, bias=True):
        self.model = torch.nn.Linear(3, 2, bias=bias)
        self.optimizer = plain(self.model.parameters())
        self.x = torch.ones(4, 3)

    def loss(self):
        return self.model(self.x).sum()

    def step(self):
        self.optimizer.zero_grad()
        self.loss().backward()
        self.optimizer.step()


def phases(path):
    """Calls per step, by phase; and the number of steps."""
    capture = read(path)
    counts = {}
    for call in capture.calls:
        for phase, count in call.counts.items():
            counts[phase] = counts.get(phase, 0) + count
    return counts, capture.steps


@pytest.fixture
def captured(tmp_path):
    def run(program, **window):
        """`program` may end in any way."""
        path = tmp_path / "c.jsonl"
        recorder = recording.OperatorRecorder(path, **window).start()
        try:
            program()
        except RuntimeError:
            pass
        finally:
            recorder.finish()
        return phases(path) if recorder.written else None

    return run


@pytest.fixture
def one(captured):
    """The calls of one step."""
    program = Program()
    counts, steps = captured(lambda: [program.step() for _ in range(3)], steps="2")
    assert steps == 1
    assert counts["forward"]
    assert counts["backward"]
    assert counts["optimizer"]
    return counts


def test_a_step_that_does_not_end_is_no_step(captured, one):
    def broken():
        program = Program()
        program.step(), program.step()
        program.loss().backward()
        torch.ones(3).sinh()
        raise RuntimeError("in the third step")

    assert captured(broken, steps="2-4") == (one, 1)
    assert captured(broken, auto=True) == (one, 1)
    assert captured(broken, steps="3") is None
    counts, steps = captured(broken)  # everything was asked for
    assert steps == 2
    assert counts["backward"] > 2 * one["backward"]


def test_a_program_of_one_step_is_that_step(captured, one, tmp_path):
    def single():
        Program().step()
        torch.ones(3).sinh()

    counts, steps = captured(single, auto=True)
    assert read(tmp_path / "c.jsonl").header["only_step"]
    assert steps == 1
    assert {phase: counts[phase] for phase in ("forward", "backward", "optimizer")} == {
        phase: one[phase] for phase in ("forward", "backward", "optimizer")
    }


def test_what_is_loaded_between_two_backward_passes_is_data(captured, tmp_path):
    """Of three whose gradients are accumulated; what follows the last is the optimizer's."""

    class Accumulating(Program):
        def step(self):
            self.optimizer.zero_grad()
            for _ in range(3):
                torch.ones(3).sinh()  # a batch is made
                self.loss().backward()
            torch.ones(3).cosh()  # gradients are clipped
            self.optimizer.step()

    program = Accumulating()
    captured(lambda: [program.step() for _ in range(3)], steps="2")
    counts = {call.operator: call.counts for call in read(tmp_path / "c.jsonl").calls}
    assert counts["aten::sinh"] == {"data": 3}
    assert counts["aten::cosh"] == {"optimizer": 1}


def test_steps_that_never_come_are_no_capture(captured):
    assert captured(lambda: torch.ones(3).exp(), steps="1-3") is None
    assert captured(lambda: torch.ones(3).exp(), calls="1") is None


def test_without_an_optimizer_the_order_holds_what_follows_the_model(tmp_path):
    import opbench

    program = Program()
    with opbench.record(tmp_path / "c.jsonl"):
        program.loss().backward()
    capture = read(tmp_path / "c.jsonl")
    assert len(capture.order) == sum(call.count for call in capture.calls)
    assert {step.phase for step in capture.order} == {"forward", "backward"}


def sequence(*modules):
    """A program that calls these without gradients, one after the other, five times."""

    def run():
        x = torch.ones(2, 3)
        with torch.no_grad():
            for _ in range(5):
                for module in modules:
                    module(x)

    return run


@pytest.fixture
def of_calls(captured, tmp_path):
    """What a window of calls holds: its counts, the name of the model, and what it leaves out."""

    def run(program, calls):
        found = captured(program, calls=calls)
        capture = read(tmp_path / "c.jsonl")
        skipped = {name: count for name, (count, _) in capture.skipped.items()}
        return found, capture.header["model"], skipped

    return run


def test_the_module_with_the_most_parameters_is_the_model(of_calls, captured):
    model, small, none = torch.nn.Linear(3, 9), torch.nn.Bilinear(3, 3, 1), torch.nn.Tanh()
    alone, name, skipped = of_calls(sequence(model), "3-4")
    assert (name, skipped, alone[1]) == ("Linear", {}, 2)
    called = lambda x: small(x, x)  # noqa: E731
    for program in (sequence(none, called, model), sequence(model, none, called)):
        assert of_calls(program, "3-4") == (alone, "Linear", {"Tanh": 5, "Bilinear": 5})


def test_what_was_called_before_the_model_is_not_the_window(of_calls):
    model, before = torch.nn.Linear(3, 9), torch.nn.Tanh()

    def calibrated():
        for _ in range(2):
            before(torch.ones(2, 3))
        sequence(model)()

    alone, *_ = of_calls(sequence(model), "3")
    assert of_calls(calibrated, "3") == (alone, "Linear", {"Tanh": 2})


#: Seconds; a call of the small model takes less, however busy the machine is.
SLOW = 0.5


def test_only_the_calls_of_the_model_are_timed(tmp_path):
    class Slow(torch.nn.Module):
        def forward(self, x):
            time.sleep(SLOW)

    recorder = recording.OperatorRecorder(tmp_path / "c.jsonl", calls="2").start()
    sequence(torch.nn.Linear(3, 9), Slow())()
    recorder.finish()
    header = read(tmp_path / "c.jsonl").header
    assert header["steps_timed"] == 3
    assert header["step_seconds"] < SLOW
    assert sum(header["phase_seconds"].values()) < SLOW


class Mark:
    """As an event of CUDA on a GPU that has nothing else to do: the time it was recorded."""

    def __init__(self):
        self.at = time.perf_counter()

    def synchronize(self):
        pass

    def elapsed_time(self, later):
        return 1e3 * (later.at - self.at)


def test_only_the_calls_of_the_model_are_timed_by_the_clock_of_a_gpu(tmp_path, monkeypatch):
    monkeypatch.setattr("opbench.capture.operators.unrecorded.marked_queue", Mark)
    test_only_the_calls_of_the_model_are_timed(tmp_path)


@pytest.mark.parametrize("calls", ["1", "2", "3"])
def test_inference_mode_around_each_call_changes_nothing(captured, calls):
    """It restores, when it ends, where the dispatcher looks for modes."""
    model = torch.nn.Linear(3, 9)

    def program():
        for _ in range(4):
            with torch.inference_mode():
                model(torch.ones(2, 3))
            assert torch.zeros(1).sum() == 0

    counts, steps = captured(program, calls=calls)
    assert (counts["forward"], steps) == (1, 1)


def in_thread(work):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def test_what_other_threads_do_changes_nothing(captured, one):
    """A model in training elsewhere, before and within each step, with an optimizer that is the
    first to step."""
    program, other = Program(), Program(bias=False)

    def both():
        for _ in range(5):
            in_thread(other.step)
            program.optimizer.zero_grad()
            in_thread(other.step)
            loss = program.loss()
            in_thread(other.step)
            loss.backward()
            in_thread(other.step)
            program.optimizer.step()

    assert captured(both, steps="3") == (one, 1)


def test_calls_of_another_threads_model_are_not_those_of_the_window(captured):
    program, other = Program(), Program(bias=False)

    def both():
        for _ in range(5):
            in_thread(other.loss)
            program.loss()

    counts, steps = captured(both, calls="2-3")
    alone, _ = captured(lambda: [program.loss() for _ in range(5)], calls="2-3")
    assert (counts, steps) == (alone, 2)


def test_a_block_is_what_its_own_thread_does(captured):
    program = Program()

    def block():
        torch.ones(3).exp()
        in_thread(program.step)
        torch.ones(3).sinh()

    assert captured(block) == ({"data": 4}, 1)


@pytest.mark.parametrize("seen", [False, True])
def test_training_in_a_thread_is_followed(captured, one, seen):
    program = Program()

    def trained():
        if seen:  # the main thread calls the model once
            program.model(program.x)
        with ThreadPoolExecutor(1) as pool:
            for _ in range(3):
                pool.submit(program.step).result()

    assert captured(trained, steps="2") == (one, 1)
    # It is known by its first call, or else by its first step, which is over then.
    assert captured(trained, steps="1") == (None if seen else (one, 1))
    assert captured(trained, auto=True) == (one, 1)


def test_a_step_that_is_captured_in_a_graph_is_none(tmp_path, one, monkeypatch):
    capturing = False
    for module in ("mode", "phases"):
        name = f"opbench.capture.operators.{module}.graph_begun"
        monkeypatch.setattr(name, lambda: capturing)
    program = Program()
    recorder = recording.OperatorRecorder(tmp_path / "graph.jsonl", steps="2").start()
    program.step()
    capturing = True
    program.step()
    program.model.weight.grad.sinh()
    capturing = False
    program.step()
    recorder.finish()
    assert phases(tmp_path / "graph.jsonl") == (one, 1)
    assert (recorder.steps, recorder.graphed) == (2, 1)
