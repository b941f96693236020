"""`python -m perf [SECTION]… [--quick] [--print]`: measure, print, and write the page."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import time

import perf
from perf import page

#: Modules that are imported by sections, and are none themselves.
SHARED = {"page", "__main__", "small_cases"}


def main() -> None:
    names = [m.name for m in pkgutil.iter_modules(perf.__path__) if m.name not in SHARED]
    sections = [name for name in names if hasattr(importlib.import_module(f"perf.{name}"), "TITLE")]
    parser = argparse.ArgumentParser(prog="python -m perf", description=__doc__)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(sections))
    parser.add_argument("--quick", action="store_true", help="a few rounds, to see that it works")
    parser.add_argument("--print", action="store_true", dest="only_print", help="write no page")
    options = parser.parse_args()
    unknown = set(options.sections) - set(sections)
    if unknown:
        wrong = ", ".join(sorted(unknown))
        parser.error(f"unknown section {wrong}; choose from: {', '.join(sections)}")
    for name in options.sections or sections:
        module = importlib.import_module(f"perf.{name}")
        began = time.monotonic()
        print(f"== {module.TITLE}", flush=True)
        body = module.measure(quick=options.quick)
        print(f"{body}\n(took {time.monotonic() - began:.0f} s)", flush=True)
        if not options.only_print and not options.quick:
            page.write(name, module.TITLE, f"python -m perf {name}", body)


main()
