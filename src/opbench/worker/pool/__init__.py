"""A pool of worker starts that outlives a command.

    client ── connection ──► supervisor ── control ──► start ── fork ──► worker ── fork ──► child

One supervisor per user keeps *starts*: processes that have imported a framework and do nothing but
fork. A command that asks for a start gets a worker forked from it, and talks to that worker as if
it had started it. The start itself never runs a line of anybody's benchmark, so what one command
does cannot reach the next.
"""
