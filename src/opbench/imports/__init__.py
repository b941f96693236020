"""Results of other tools, brought into the store so that people keep their past.

`formats/` holds one file per tool. Nothing is evaluated: names and numbers are all there is, so an
imported case can be compared and drawn, and never run.
"""
