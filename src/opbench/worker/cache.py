"""Where compiled and copied files are kept between runs: `OPBENCH_CACHE`, or ~/.cache/opbench."""

import os


def folder(*below):
    """The cache, or a folder below it, made if need be."""
    root = os.environ.get("OPBENCH_CACHE")
    if not root:
        home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        root = os.path.join(home, "opbench")
    path = os.path.join(root, *below)
    os.makedirs(path, exist_ok=True)
    return path
