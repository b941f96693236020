"""Messages of the pool: between a client and the supervisor, and between supervisor and starts.

JSON lines as in `protocol`. A `lease` is answered with a control socket, on which the worker
announces itself as any worker does.
"""

import hashlib
import os

from .. import protocol

#: A client's request, environment variables included, is far below this.
LONGEST = 8 << 20

#: What a client may ask of the supervisor.
REQUESTS = {
    "lease": {"spec": dict, "start": int},
    "list": {},
    "retire": {},
}
#: What the supervisor sends to a client: `hello` or `refused` at once, then one answer a request.
ANSWERS = {
    "hello": {"build": str, "pid": int},
    "refused": {"reason": str},
    "leased": {},
    "list": {"starts": list},
    "retired": {"ended": int, "in_use": int},
}
#: What the supervisor asks of a start, with the worker's end of the control socket.
ORDERS = {"fork": {"lease": int}}
#: What a start reports.
REPORTS = {
    "ready": {},
    "broken": {"reason": str},
    "forked": {"lease": int, "pid": int},
    "stale": {"lease": int},
    "ended": {"lease": int},
}
#: What a lease says about the worker that is wanted.
SPEC = {"command": list, "preload": list, "cpus": list, "env": dict, "surroundings": dict}


def build():
    """A digest of all code that supervisor, starts and workers run: others do not mix with it."""
    digest = hashlib.sha256(str(protocol.VERSION).encode())
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(names):
            if name.endswith(".py"):
                with open(os.path.join(folder, name), "rb") as source:
                    digest.update(name.encode() + b"\0" + source.read())
    return digest.hexdigest()[:16]


def key_of(spec):
    """Two specs with one key are asked for workers that would be started alike."""
    return hashlib.sha256(protocol.encode(ordered(spec))).hexdigest()[:16]


def ordered(value):
    if isinstance(value, dict):
        return {name: ordered(value[name]) for name in sorted(value)}
    return value
