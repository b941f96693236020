"""The harness measured against its peers, side by side in one run: `make perf`.

Each section is a module with `TITLE` and `measure(quick)`, which answers in Markdown; its figures
go to docs/performance.md, under its own heading, with the command and the machine's facts.
"""
