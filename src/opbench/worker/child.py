"""The child process of a worker: one process, one session, one case.

A live session is *prepare → warm up → run a block of n → … → end*. Whatever the code under test
does (print, exit, raise, crash, hang, eat memory) stays in this process.
"""

import faulthandler
import os
import resource
import socket
import traceback

from . import protocol
from .ending import orphans
from .session import Session, Unsupported

#: How frameworks say, in generic errors, that they lack something: torch a kernel for a dtype, or
#: the gradient of an operator (which a later version may have); MXNet a gradient.
UNSUPPORTED_TEXTS = (
    "not implemented for '",
    "derivative for aten::",
    "is non-differentiable because",
)


def main(session_fd, output_fd, memory_limit):
    os.setsid()  # a process group of its own: its children are killed with it
    orphans.become_subreaper()  # daemons they leave behind stay ours
    isolate(output_fd, memory_limit)
    os.set_inheritable(session_fd, False)  # a program that the case starts must not keep it open
    channel = protocol.Channel(socket.socket(fileno=session_fd))
    serve(channel)
    os._exit(0)  # skip the framework's exit handlers: they can hang and cost time


def isolate(output_fd, memory_limit):
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(output_fd, 1)
    os.dup2(output_fd, 2)
    os.close(output_fd)
    faulthandler.enable()  # a crash prints where the Python code was
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        # If memory runs out, the kernel should take this process, never the user's editor.
        with open("/proc/self/oom_score_adj", "w") as score:
            score.write("1000")
    except OSError:
        pass
    if memory_limit > 0:
        # RLIMIT_DATA counts private writable memory; RLIMIT_AS would also count the address space
        # that CUDA and JAX reserve and never touch.
        for limit in resource.getrlimit(resource.RLIMIT_DATA):
            if limit != resource.RLIM_INFINITY:
                memory_limit = min(memory_limit, limit)  # the user's own is lower: `ulimit -d`
        resource.setrlimit(resource.RLIMIT_DATA, (memory_limit, memory_limit))


def serve(channel):
    session = Session()
    while True:
        try:
            message = channel.receive()
        except protocol.Closed:
            return
        token = message.get("token")
        # Encoded in advance: when memory has run out there may be none left to encode it.
        out_of_memory = refusal({"outcome": "out_of_memory", "reason": "MemoryError"}, token)
        try:
            protocol.validate(message, protocol.OPERATIONS, "op")
            answer = session.answer(message)
            line = protocol.encode({**answer, "ok": True, "token": token})
        except BaseException as error:
            try:
                line = refusal(describe(error, session), token)
            except MemoryError:
                line = out_of_memory
        try:
            channel.sock.sendall(line)
        except OSError:
            return


def refusal(error, token):
    return protocol.encode({"ok": False, "error": error, "token": token})


def describe(error, session):
    """An exception as data: its outcome, a one-line reason, the traceback."""
    if isinstance(error, MemoryError):
        # Its frames still hold the variables of the case: free them first.
        traceback.clear_frames(error.__traceback__)
    if isinstance(error, RuntimeError) and isinstance(error.__cause__, StopIteration):
        # The loop around the statement is a generator, which may not let this one pass.
        error = error.__cause__
    text = text_of(error)
    first = headline(text)
    name = type(error).__name__
    outcome = outcome_of(error, text)
    if isinstance(error, SystemExit):
        reason = "called sys.exit(%s)" % ("" if error.code is None else repr(error.code))
    elif outcome in ("unsupported", "mismatch") and first:
        reason = first
    else:
        reason = "%s: %s" % (name, first) if first else name
    place = session.place_of(error)
    if place and outcome == "failed":
        reason += " (%s)" % place
    lines = traceback.format_exception(type(error), error, error.__traceback__)
    return {
        "outcome": outcome,
        "reason": readable(reason[:500]),
        "traceback": readable("".join(lines)[-6000:]),
    }


def headline(text):
    """The line that says what went wrong: MXNet's messages begin with their own traceback."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return ""
    if lines[0].startswith("Traceback ("):
        return lines[-1]
    # `backend='inductor' raised:` says nothing without the line after it.
    return " ".join(lines[:2]) if lines[0].endswith(":") else lines[0]


def text_of(error):
    try:
        return str(error).strip()
    except Exception:  # its own `__str__` is broken
        return ""


def readable(text):
    """Without lone surrogates, which file names may contain and no store accepts."""
    return text.encode("utf-8", "replace").decode("utf-8")


def outcome_of(error, text):
    if isinstance(error, MemoryError) or "OutOfMemory" in type(error).__name__:
        return "out_of_memory"
    # torch's CPU allocator raises a plain RuntimeError.
    if "can't allocate memory" in text or "not enough memory" in text:
        return "out_of_memory"
    if isinstance(error, (Unsupported, NotImplementedError)):
        return "unsupported"
    # The second name is ONNX Runtime's, for a missing kernel.
    if type(error).__name__ in ("Unsupported", "NotImplemented"):
        return "unsupported"
    if any(words in text for words in UNSUPPORTED_TEXTS):
        return "unsupported"
    if type(error).__name__ == "Mismatch":  # raised by a case that checked its own output
        return "mismatch"
    return "failed"
