"""Messages between the runner and a worker: versioned, validated JSON lines on a private socket.

There are two kinds of sockets. On the *control* socket the runner asks a worker to open sessions
and learns how each of them ended. On a *session* socket it talks to one forked child. What the
code under test prints goes elsewhere and never mixes with either.
"""

import json
import select
import socket
import time

#: Raised whenever a message changes its meaning; the worker's first message carries it.
VERSION = 3

#: No message is longer: a child that writes without end must not fill the runner's memory.
LONGEST_LINE = 64 << 20
#: Digits of a whole number: as many as a float still holds.
MOST_DIGITS = 300

#: Required fields and their types, for each operation (`op`) and each event.
OPERATIONS = {
    "open": {"session": int, "memory_limit": int},
    "prepare": {"case": dict, "seed": int},
    "warmup": {"seconds": (int, float), "block_seconds": (int, float)},
    "block": {"metric": str, "n": int},
    "measure": {"metric": str, "options": dict},
    "exchange": {"case": dict, "folder": str, "inputs": list},
    "end": {},
}
#: Required fields of each answer; `measure` adds what its metric returns.
ANSWERS = {
    "prepare": {"seconds": (int, float)},  # and whether it `tears_down`, where that is so
    "warmup": {
        "n": int,
        "per_call": (int, float),
        "first": (int, float),
        "calls": int,
        "settled": bool,
        "peak_bytes": int,
    },
    "block": {
        "value": (int, float),
        "n": int,
        "wall_ns": int,
        "cpu_ns": int,
        "switches": int,
        "queued_ns": int,
        "peak_bytes": int,
    },
    "measure": {"results": dict},
    "exchange": {"inputs": list, "outputs": list},
    "end": {},
}
EVENTS = {
    "ready": {"version": int, "pid": int, "facts": dict},
    "broken": {"reason": str},
    "opened": {"session": int, "pid": int},
    "exited": {"session": int, "status": int, "output": str, "oom": bool},
}


class ProtocolError(Exception):
    """The other side sent something that is not a valid message."""


class Closed(Exception):
    """The other side is gone."""


class Silent(Exception):
    """The other side did not answer in time."""


def encode(message):
    """One line of bytes. Refuses what JSON cannot carry exactly (NaN, infinities)."""
    return json.dumps(message, allow_nan=False, separators=(",", ":")).encode() + b"\n"


def decode(line):
    """The message in a line of bytes: always a dict, else ProtocolError."""
    try:
        message = json.loads(
            line.decode("utf-8"),
            parse_constant=_refuse_constant,
            parse_float=_finite,
            parse_int=_countable,
        )
    except (ValueError, UnicodeDecodeError, RecursionError) as error:
        raise ProtocolError("not a JSON line: %s" % error) from None
    if not isinstance(message, dict):
        raise ProtocolError("a message must be an object, not %s" % type(message).__name__)
    return message


def _refuse_constant(text):
    raise ValueError("%s is not a JSON number" % text)


def _finite(text):
    number = float(text)
    return number if abs(number) != float("inf") else _refuse_constant(text)


def _countable(text):
    if len(text) > MOST_DIGITS:
        raise ValueError("a number of %d digits" % len(text))
    return int(text)


def validate(message, vocabulary, key):
    """Check that `message[key]` is known in `vocabulary` and its fields have the right types."""
    kind = message.get(key)
    if not isinstance(kind, str) or kind not in vocabulary:
        raise ProtocolError("unknown %s %r" % (key, kind))
    return check_fields(message, vocabulary[kind], "%s %r" % (key, kind))


def check_answer(message, operation, token):
    """Check the answer to an operation: the required fields, or an error.

    The token came with the question. Code under test that finds the socket and writes answers of
    its own does not know it.
    """
    if message.get("token") != token:
        raise ProtocolError("an answer to %r that nobody asked for" % operation)
    fields = ANSWERS[operation] if message.get("ok") is True else {"error": dict}
    return check_fields(message, fields, "the answer to %r" % operation)


def check_fields(message, fields, what):
    for field, types in fields.items():
        value = message.get(field)
        # bool is an int in Python, but never a count here.
        if not isinstance(value, types) or (isinstance(value, bool) and types is not bool):
            raise ProtocolError("%s needs a valid %r, got %r" % (what, field, value))
    return message


class Channel:
    """JSON lines over a stream socket, with a deadline on reading."""

    def __init__(self, sock):
        self.sock = sock
        self._pending = b""

    def send(self, message):
        try:
            self.sock.sendall(encode(message))
        except (BrokenPipeError, ConnectionResetError, OSError) as error:
            raise Closed(str(error)) from None

    def receive(self, timeout=None):
        """The next message; Closed at the end of the stream, Silent after `timeout` seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while b"\n" not in self._pending:
            if deadline is not None:
                left = deadline - time.monotonic()
                if left <= 0 or not select.select([self.sock], [], [], left)[0]:
                    raise Silent()
            try:
                piece = self.sock.recv(1 << 16)
            except InterruptedError:
                continue
            except (ConnectionResetError, OSError) as error:
                raise Closed(str(error)) from None
            if not piece:
                raise Closed("end of stream")
            self._pending += piece
            if len(self._pending) > LONGEST_LINE:
                raise ProtocolError("a message of more than %d bytes" % LONGEST_LINE)
        line, self._pending = self._pending.split(b"\n", 1)
        return decode(line)

    def close(self):
        self.sock.close()


def control_pair():
    """Two ends of a socket that keeps message boundaries and carries file descriptors."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def session_pair():
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
