"""What a worker that counts instructions does once, before its children are forked."""

import gc

from .. import session
from ..metrics import instructions
from . import plans, small_blocks  # noqa: F401 (children need the plans)
from .requests import requests

#: Rounds of the counting loop that a worker makes in advance. CPython tries again to specialise an
#: instruction after twice as many executions each time (3.11: after 16, 48, 112, …, 1008), and an
#: attempt costs two hundred instructions: after so many rounds, with two requests each, the next
#: one lies beyond what a case needs.
LOOP_ROUNDS = 520


def rehearse(source):
    """Instrument, then run common code once: children inherit what Valgrind has translated.

    The only place where a worker's parent runs operators. It may, because it has a single thread
    here; elsewhere the children would hang.
    """
    counting = requests()
    small_blocks.reserve()
    # Once instrumented, scanning all that was imported takes a second: freeze it first.
    gc.collect()
    gc.freeze()
    counting.start()
    # Threads collect from their start: what they do for a statement belongs to its count. This
    # one, and the main thread of each child, collect around the statement alone.
    counting.toggle()
    case = {"name": "rehearsal", "stage": "call", "setup": source, "stmt": "pass"}
    rehearsal = session.Session()
    rehearsal.do_prepare({"case": case, "seed": 0})
    rehearsal.run("stmt", 2)
    rehearsal.run("idle", 2)
    for count in (instructions.together, instructions.one_by_one):
        for _ in range(LOOP_ROUNDS):
            count(rehearsal, counting, "idle", 1)
    rehearsal.loop.close()
