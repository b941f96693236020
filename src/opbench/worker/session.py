"""One prepared case in a child, and the operations of the protocol on it."""

import gc
import importlib
import inspect
import itertools
import resource
import sys
import time
from typing import Any

from . import core, source
from .usage import device_bytes, pages_fetched, peak_bytes
from .warmup import WarmUp

#: The first call of a case takes up to so many times as long as the others.
FIRST_CALL = 10
#: In a forked child some forty calls are slow, by a quarter where a step takes 0.3 ms: it has no
#: pages, caches and branch predictors of its own yet. Seconds, for steps that take longer.
YOUNG_CALLS, YOUNG_SECONDS = 50, 0.05
#: In the first blocks of a child the memory of results is fetched page by page, until malloc has
#: found places to use again, and calls take twice to six times as long. A page takes half a
#: microsecond at the least; below this share of a block it does not matter.
PAGE_NS, FETCH_SHARE = 500, 0.03
#: Between two blocks of a child others run, and the caches then hold what is theirs. A call that
#: reads much takes some ten calls to get its own back: the first of `round` on 4 MB, forward and
#: backward, took 1.7 ms, the third 1.0, the tenth 0.62, and later ones 0.57. As many as fit into so
#: many seconds.
REFILL_CALLS, REFILL_SECONDS = 12, 0.02
#: Nanoseconds for which a child takes such blocks again, all of them together: there are calls that
#: always fetch.
FETCH_NS = 100_000_000
#: Bytes that malloc may keep for the next call, as workers have it set (`workers/process.py`): the
#: end of its heap, and what it asks for beyond. A call that fetches more maps its results anew each
#: time, and another try would find the same: of `add` at 4096x4096 every block was taken twice.
KEPT_BYTES = 128 << 20
#: An empty loop that takes so many times as long as the last one was probably interrupted: then the
#: better of two counts, or a block would seem to take less than no time.
HELD_UP = 1.5


class Unsupported(Exception):
    """This framework cannot do it; raised by a metric or by the setup of a case."""


#: What a benchmark that is a generator does.
TO_YIELD = "yield what is to be called and timed, once: yield lambda: f(x)"


class Session:
    def __init__(self):
        # Set by `prepare`, the first operation of every session.
        self.case: dict = {}
        self.module: Any = None
        self.loop: Any = None
        self._code = None
        self._empty = {}  # n -> nanoseconds of an empty block of that size
        #: How often it was prepared: more than once in a fixed design.
        self.prepared = 0
        #: How many untimed calls a block begins with, and the seconds of one that needs none.
        self.untimed = 1
        self.long_block = float("inf")
        #: Whether blocks begin with as many as fill the caches again, and with what share of the
        #: calls that are timed; None for neither.
        self.refill = None
        #: Whether the next block is the first of this child, which was not warmed up.
        self.young = False
        #: Seconds of a call, as far as they are known.
        self._per_call = 0.0
        #: Nanoseconds of blocks that were taken again.
        self._retaken = 0

    def answer(self, message):
        return getattr(self, "do_" + message["op"])(message)

    # -- operations ------------------------------------------------------------------------

    def do_prepare(self, message):
        """Run globals and setup. Preparing again reruns the setup, with another seed."""
        began = time.perf_counter()
        self.prepared += 1
        if message["case"].get("language") == "cpp":
            self._open_compiled(message)
            return {"seconds": time.perf_counter() - began}
        if self.loop is None:
            self._load(message["case"])
        else:
            self.tear_down()
            self.loop.close()
            gc.collect()  # wrapped layers keep themselves and their gradients alive in cycles
        generator = self.module.__dict__["_opbench_session"]
        self.loop = generator(message["seed"], time.perf_counter_ns, itertools.repeat)
        self._set_up()
        answer: dict = {"seconds": time.perf_counter() - began}
        # A setup that goes on without some of its work names it, with the reason.
        left_out = self.loop.gi_frame.f_locals.get("opbench_left_out")
        if left_out:
            answer["left_out"] = {str(name): str(why) for name, why in left_out.items()}
        if self._generator() is not None:
            answer["tears_down"] = True
        return answer

    def _set_up(self):
        """Run the setup; a user's generator must yield what the statement calls."""
        try:
            next(self.loop)
        except RuntimeError as error:
            if isinstance(error.__cause__, StopIteration) and ends_unyielded(error.__cause__):
                raise TypeError("the generator yielded nothing; " + TO_YIELD) from None
            raise
        names = self.loop.gi_frame.f_locals
        if self._generator() is not None and "call" in names:
            call = names["call"]
            if not callable(call):
                kind = "None" if call is None else "an object of type " + type(call).__name__
                raise TypeError("the generator yielded %s; %s" % (kind, TO_YIELD))

    def do_end(self, _message):
        """The last operation of a case that has something to tear down."""
        self.tear_down()
        return {}

    def do_warmup(self, message):
        """Call until the time per call has settled; returns that time and the block size."""
        plan = WarmUp(message["seconds"], message["block_seconds"])
        while not plan.done:
            plan.add(plan.n, self.timed("time", plan.n) / 1e9)
        self._check_device()  # before a metric puts something there
        self._per_call = plan.per_call or 0.0
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
        self.untimed = message.get("untimed", 1)
        self.refill = message.get("refill")
        self.young = message.get("young", False)
        self.long_block = message.get("long", float("inf"))
        metric = self._metric(message["metric"])
        if "quickest" in message and self._on_one_core(metric):
            return self._block_on_own_core(metric, message)
        if "cpu" in message:
            core.settle_on(message["cpu"])
        return self._settled_block(metric, message)

    @property
    def one_thread(self):
        """Whether the case computes on one core at a time."""
        return self.case.get("threads") == 1

    def _on_one_core(self, metric):
        """Whether the number depends on the one core that the case computes on."""
        return self.one_thread and "device" not in metric.DESCRIBE

    def _block_on_own_core(self, metric, message):
        """A block on a core that nobody shares. There is some patience: to wait for one, and to
        take the block again when somebody came meanwhile."""
        looked = core.Cores(message["quickest"])
        began, patience, waited = time.perf_counter_ns(), message.get("patience", 0), 0
        while True:
            alone = looked.seek(core.in_order(message.get("cpu")), patience - waited)
            before = time.perf_counter_ns()
            answer = self._settled_block(metric, message)
            alone = alone and looked.still_alone()
            now = time.perf_counter_ns()
            # Another try takes as long as this one did.
            if alone or now - began + now - before > patience:
                break
            waited = now - began
        own = {"shared": not alone, "quickest": looked.seen, "waited_ns": before - began}
        return {**answer, **own}

    def _settled_block(self, metric, message):
        again = True
        while again:
            if "device" not in metric.DESCRIBE:
                self.wake(message["n"])
            before = pages_fetched()
            answer = metric.block(self, message["n"])
            answer["pages"] = pages_fetched() - before
            again = self.refill is not None and self._still_fetches(answer)
        self._per_call = answer["wall_ns"] / 1e9 / answer["n"]
        self._check_device()
        return answer

    def _still_fetches(self, block):
        """Whether a block is to be taken again, because fetching memory took part of its time."""
        if block["pages"] * PAGE_NS <= FETCH_SHARE * block["wall_ns"]:
            return False
        if block["pages"] * resource.getpagesize() > KEPT_BYTES * block["n"]:
            return False
        self._retaken += block["wall_ns"]
        return self._retaken <= FETCH_NS

    def do_measure(self, message):
        answer = self._metric(message["metric"]).measure(self, message["options"])
        self._check_device()
        return answer

    def do_exchange(self, message):
        """Instead of `prepare`: one call on the given inputs; inputs and outputs as files."""
        from .parity import exchange

        self._load(message["case"])
        more = {key: message[key] for key in ("announces", "awaits") if key in message}
        return exchange.run(self, message["folder"], message["inputs"], **more)

    def wake(self, n):
        """Untimed calls, which wake caches, threads and the branch predictor for a block of `n`,
        unless it is known to be long; more of them in a young child."""
        if self.refill is not None and 0 < n * self._per_call < self.long_block:
            fill = min(REFILL_CALLS, int(REFILL_SECONDS / self._per_call))
            self.run("calls", max(self.untimed, fill, round(n * self.refill)))
            return
        calls, now = 0, time.perf_counter()
        end = now + YOUNG_SECONDS
        while calls < self.untimed or (self.young and calls < YOUNG_CALLS and now < end):
            if n * self._per_call >= self.long_block:
                break
            began = time.perf_counter()
            self.run("calls", 1)
            now, calls = time.perf_counter(), calls + 1
            self._per_call = self._per_call or (now - began) / FIRST_CALL
        self.young = False

    # -- for metrics ----------------------------------------------------------------------

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

    def wait(self):
        """Until the device has done what the case launched."""
        self.loop.send(("stmt", 0))

    def empty_ns(self, n, spent):
        """The cost of an empty loop of `n` rounds, to subtract from a block that took `spent`.

        Above a hundredth of the block it is measured again for each block, so that both see the
        same clock frequency and load; below that, once is enough.
        """
        if n not in self._empty:
            self._empty[n] = sorted(self.timed("empty", n) for _ in range(3))[1]
        elif self._empty[n] * 100 > spent:
            now = self.timed("empty", n)
            if now > HELD_UP * self._empty[n]:
                now = min(now, self.timed("empty", n))
            self._empty[n] = now
        return self._empty[n]

    def evaluate(self, expression):
        """The value of an expression among the variables of the case's setup."""
        names = dict(self.module.__dict__)
        names.update(self.loop.gi_frame.f_locals)
        return eval(expression, names)

    def tear_down(self):
        """Run what a benchmark that yields its call does after the `yield`."""
        generator = self._generator()
        if generator is not None:
            next(generator, None)

    def _generator(self):
        """The user's generator, which the setup of `define/userfile.py` calls `_gen`."""
        frame = getattr(self.loop, "gi_frame", None)  # a statement in C++ has none
        found = None if frame is None else frame.f_locals.get("_gen")
        return found if inspect.isgenerator(found) else None

    def place_of(self, error):
        """The line of the case's source at which an error was raised, as "at `line`"."""
        frames, found = error.__traceback__, None
        name = "" if self.module is None else self.module.__file__
        while frames is not None:
            if frames.tb_frame.f_code.co_filename == name:
                found = frames
            frames = frames.tb_next
        if found is None:
            return ""
        import linecache

        line = linecache.getline(name, found.tb_lineno).strip()[:120]
        if line.startswith("raise "):
            return ""  # its message says more
        args = found.tb_frame.f_locals.get("args")
        spread = isinstance(args, list) and "*args" in line and isinstance(error, TypeError)
        if spread and found.tb_next is None:  # the call itself was refused
            return (
                "at `%s`: inputs returned a list, whose %d elements are the arguments; to pass "
                "it as one, return a tuple of it, (values,)" % (line, len(args))
            )
        return "at `%s`" % line

    def _load(self, case):
        """Build the module of the case and run its globals, not its setup."""
        self.case = case
        kind, _, index = case.get("device", "cpu").partition(":")
        if kind == "cuda" and index and "torch" in sys.modules:
            # Events, streams and readings of the clock belong to the current device.
            sys.modules["torch"].cuda.set_device(int(index))
        self._load_user_module()
        self.module, top, self._code = source.build(case)
        self.module.__dict__["__builtins__"] = __builtins__
        exec(top, self.module.__dict__)
        exec(self._code, self.module.__dict__)

    def _check_device(self):
        """A number of the CPU must not be called one of a GPU."""
        device = self.case.get("device", "cpu")
        if device.startswith("cuda") and not self._is_on_host() and not may_use_gpu(self.case):
            raise Unsupported(
                "nothing in it was on %s: give the function that makes its tensors a parameter "
                "`device`, or let it put them there" % device
            )

    def _is_on_host(self):
        """Whether the setup says that a call of a program on a GPU belongs on the host."""
        frame = getattr(self.loop, "gi_frame", None)
        return frame is not None and bool(frame.f_locals.get("opbench_on_host"))

    def _metric(self, name):
        return importlib.import_module(__package__ + ".metrics." + name)

    def _open_compiled(self, message):
        from .cpp.loop import Loop

        if self.loop is not None:
            self.loop.close()
        self.case = message["case"]
        self.loop = Loop(self.case, message["library"], message["seed"])

    def _load_user_module(self):
        user = self.case.get("module")
        if not user:
            return
        from . import stub

        stub.install()
        if user["root"] not in sys.path:
            sys.path.insert(0, user["root"])
        importlib.import_module(user["module"])


def ends_unyielded(error):
    """Whether this StopIteration is the end of a user's generator that yielded nothing."""
    frames = error.__traceback__
    while frames.tb_next is not None:
        frames = frames.tb_next
    generator = frames.tb_frame.f_locals.get("_gen")
    return inspect.isgenerator(generator) and generator.gi_frame is None


def may_use_gpu(case):
    """Of torch it is known; not of C++ and of other libraries, where one is loaded."""
    if case.get("language") == "cpp" or has_held_tensors(sys.modules.get("torch")):
        return True
    return any(name in sys.modules for name in ("jax", "mxnet", "onnxruntime", "cupy", "numba"))


def has_held_tensors(torch):
    """Whether a tensor of this process was ever on a GPU. That torch has initialized CUDA does not
    say so: waiting for the device does that too."""
    if torch is None or not torch.cuda.is_initialized():
        return False
    return any(torch.cuda.max_memory_allocated(i) for i in range(torch.cuda.device_count()))
