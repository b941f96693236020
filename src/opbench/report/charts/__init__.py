"""The charts, each once: a Vega-Lite specification that the page, files and notebooks share.

One kind of chart per file of this folder: its specification, and a function of results that gives
what fills it, or None where there is nothing to draw. `every` lists those of a run.
"""
