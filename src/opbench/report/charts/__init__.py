"""The charts of the page as files: Vega-Altair objects, written as PNG and SVG without a browser.

One chart per file of this folder, each a function of results that gives an Altair chart, or None
where there is nothing to draw. `every` names those of a page; `save` writes them.
"""

from __future__ import annotations

from opbench.report.charts.every import every, save

__all__ = ["every", "save"]
