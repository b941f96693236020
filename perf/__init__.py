"""Measures opbench itself, side by side with other tools: `make perf`.

Each section is a module with `TITLE` and `measure(quick)`, which returns Markdown; its figures go
to docs/performance.md, under its own heading, with the command and the facts of the machine.
"""
