"""Vega's own renderer, which draws the charts of the page: the bundle that vl-convert ships."""

from __future__ import annotations

import zlib
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path

from opbench.errors import UserError
from opbench.files import writing
from opbench.worker.cache import folder

#: What the page calls it.
SNIPPET = "window.opbenchVega = vegaEmbed;"


@cache
def bundle() -> str:
    """Vega, Vega-Lite, vega-embed and its interpreter as one script (900 kB, 300 kB compressed).

    Bundling takes seconds, so the result is kept in the user's cache, by version.
    """
    import vl_convert

    versions = (version("vl-convert-python"), vl_convert.get_vega_version())
    with suppress(OSError, zlib.error, UnicodeDecodeError):
        return zlib.decompress(_kept(*versions).read_bytes()).decode("utf-8")
    text = str(vl_convert.javascript_bundle(SNIPPET))
    with suppress(OSError, UserError), writing(_kept(*versions)) as partial:
        partial.write_bytes(zlib.compress(text.encode("utf-8"), 9))
    return text


def _kept(converter: str, vega: str) -> Path:
    return Path(folder("page")) / f"vega-{vega}-{converter}.js.z"
