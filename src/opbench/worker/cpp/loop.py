"""A compiled C++ statement in the child, with the interface of the Python generator."""

import ctypes
import linecache
import os
import sys

from .source import NOTHING, RUN, TIMED, key_of

#: The operations of a session, as the library encodes them. `before` is missing: a C++ statement
#: has no untimed part. The two that are counted come first, so that each is found at once.
OPERATIONS = {
    "stmt": RUN,
    "idle": NOTHING,
    "time": RUN | TIMED,
    "empty": NOTHING | TIMED,
    "calls": RUN,
}


class StatementError(Exception):
    """An exception thrown by C++ code, with its own text."""


class Loop:
    """`send((what, n))` returns nanoseconds, as the generator of a Python case does."""

    def __init__(self, case, library, seed):
        torch = sys.modules.get("torch")
        if torch is not None:
            torch.set_num_threads(case.get("threads") or 1)
        #: Holds the model; a file in memory, because a child that is killed cannot remove one.
        self._model = _saved_model(case, seed) if case.get("prelude") else None
        path = "" if self._model is None else "/proc/self/fd/%d" % self._model
        if torch is not None:
            torch.manual_seed(seed)
        self._library = ctypes.CDLL(library)
        self._send = self._library.opbench_send
        self._send.restype = ctypes.c_int64
        self._send.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_int64)
        self._library.opbench_error.restype = ctypes.c_char_p
        self._library.opbench_error.argtypes = (ctypes.c_void_p,)
        self._library.opbench_close.argtypes = (ctypes.c_void_p,)
        start = self._library["opbench_" + key_of(case)]
        start.restype = ctypes.c_void_p
        start.argtypes = (ctypes.c_char_p,)
        self._session = start(path.encode())
        self._raise_error()

    def send(self, message):
        what, n = message
        operation = OPERATIONS.get(what)
        if operation is None:
            return 0
        nanoseconds = self._send(self._session, operation, n)
        if nanoseconds < 0:
            self._raise_error()
        return nanoseconds

    def close(self):
        if self._session:
            self._library.opbench_close(self._session)
            self._session = None
        if self._model is not None:
            os.close(self._model)
            self._model = None

    def _raise_error(self):
        error = self._library.opbench_error(self._session)
        if error:
            self.close()
            raise StatementError(error.decode("utf-8", "replace").strip())


def _saved_model(case, seed):
    """Run the Python that saves the TorchScript which the C++ loads; returns its descriptor."""
    descriptor = os.memfd_create("opbench-model")
    name, text = "<opbench %s prelude>" % case.get("name", ""), case["prelude"]
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    path = "/proc/self/fd/%d" % descriptor
    exec(
        compile(text, name, "exec"),
        {"model_path": path, "seed": seed, "__name__": "opbench_case"},
    )
    return descriptor
