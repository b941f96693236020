"""Results of other tools, brought into the store so that people keep their past.

One file per tool, with `reads(data)`, which says whether a parsed file is that tool's, and
`read(data)`, which gives what is in it. Nothing is evaluated: names and numbers are all there is,
so an imported case can be compared and drawn, and never run.
"""
