"""The state of one prepared case in a child, and the answers it can give."""

import gc
import importlib
import itertools
import resource
import sys
import time
from typing import Any

from . import source
from .warmup import WarmUp


class Unsupported(Exception):
    """Raised by a metric, or a case's setup, for what this framework cannot do."""


class Session:
    def __init__(self):
        # Everything below is set by `prepare`, which comes first in every session.
        self.case: dict = {}
        self.module: Any = None
        self.loop: Any = None
        self._code = None
        self._empty = {}  # n -> nanoseconds of an empty block of that size
        #: How often it was prepared: more than once is a run of a fixed design.
        self.prepared = 0
        #: What the last block took, in nanoseconds.
        self.last_block = 0

    def answer(self, message):
        return getattr(self, "do_" + message["op"])(message)

    # -- operations ------------------------------------------------------------------------

    def do_prepare(self, message):
        """Run globals and setup. A second prepare runs the setup anew, with another seed."""
        began = time.perf_counter()
        self.prepared += 1
        if message["case"].get("language") == "cpp":
            self._open_compiled(message)
            return {"seconds": time.perf_counter() - began}
        if self.loop is None:
            self._load(message["case"])
        else:
            self.loop.close()
            gc.collect()  # wrapped layers hold themselves in cycles, and their gradients with them
        generator = self.module.__dict__["_opbench_session"]
        self.loop = generator(message["seed"], time.perf_counter_ns, itertools.repeat)
        next(self.loop)
        return {"seconds": time.perf_counter() - began}

    def do_warmup(self, message):
        """Call until the time per call has settled; says what a call and a good block cost."""
        plan = WarmUp(message["seconds"], message["block_seconds"])
        while not plan.done:
            plan.add(plan.n, self.timed("time", plan.n) / 1e9)
        return {
            "n": plan.block_size,
            "per_call": plan.per_call,
            "first": plan.first,
            "calls": plan.calls,
            "settled": plan.settled,
            "peak_bytes": peak_bytes(),
            "device_bytes": device_bytes(),
        }

    def do_block(self, message):
        return self._metric(message["metric"]).block(self, message["n"])

    def do_measure(self, message):
        return self._metric(message["metric"]).measure(self, message["options"])

    def do_exchange(self, message):
        """One call on given inputs, instead of `prepare`: what was given and computed, in files."""
        from . import exchange

        self._load(message["case"])
        return exchange.run(self, message["folder"], message["given"])

    # -- what metrics use ------------------------------------------------------------------

    def timed(self, what, n):
        """Nanoseconds of the clock around a loop of `n`, garbage collection off."""
        gc.disable()
        try:
            return self.loop.send((what, n))
        finally:
            gc.enable()

    def run(self, what, n=1):
        """`before`, `stmt` or both (`calls`), untimed, in the frame of the case."""
        self.loop.send((what, n))

    def empty_ns(self, n, spent):
        """What the loop itself costs for `n` rounds, beside a block that took `spent`.

        Where it is more than a hundredth of the block it is measured anew each time, so that both
        see the same clock frequency and the same neighbours; elsewhere once is enough.
        """
        if n not in self._empty:
            self._empty[n] = sorted(self.timed("empty", n) for _ in range(3))[1]
        elif self._empty[n] * 100 > spent:
            self._empty[n] = self.timed("empty", n)
        return self._empty[n]

    def evaluate(self, expression):
        """The value of an expression among the variables of the case's setup."""
        names = dict(self.module.__dict__)
        names.update(self.loop.gi_frame.f_locals)
        return eval(expression, names)

    def place_of(self, error):
        """`setup line 3`-like position of an error within the sources of the case."""
        frames = error.__traceback__
        line = None
        name = "" if self.module is None else self.module.__file__
        while frames is not None:
            if frames.tb_frame.f_code.co_filename == name:
                line = frames.tb_lineno
            frames = frames.tb_next
        if line is None:
            return ""
        import linecache

        return "at `%s`" % linecache.getline(name, line).strip()[:120]

    def _load(self, case):
        """The module of the case, its globals run; nothing of its set-up."""
        self.case = case
        self._load_user_module()
        self.module, top, self._code = source.build(case)
        self.module.__dict__["__builtins__"] = __builtins__
        exec(top, self.module.__dict__)
        exec(self._code, self.module.__dict__)

    def _metric(self, name):
        return importlib.import_module(__package__ + ".metrics." + name)

    def _open_compiled(self, message):
        from . import cpp

        if self.loop is not None:
            self.loop.close()
        self.case = message["case"]
        self.loop = cpp.Loop(self.case, message["library"], message["seed"])

    def _load_user_module(self):
        user = self.case.get("module")
        if not user:
            return
        from . import stub

        stub.install()
        if user["root"] not in sys.path:
            sys.path.insert(0, user["root"])
        importlib.import_module(user["module"])


def peak_bytes():
    """The most memory this child has held, shared pages of the parent included."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def device_bytes():
    """(most memory taken from the GPU, all it has), or zeros where no GPU is in use."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return [0, 0]
    return [torch.cuda.max_memory_reserved(), torch.cuda.mem_get_info()[1]]


def involuntary_switches():
    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw


def cpu_ns():
    return time.process_time_ns()
