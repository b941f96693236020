"""`python -m perf [SECTION]… [--quick] [--print]`: measure, print, and write the page.

`python -m perf --stale` measures nothing: it lists the sections whose code has changed since.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
import time
from types import ModuleType

import perf
from perf import page
from perf.stale import stale

#: Modules that are imported by sections, and are none themselves.
SHARED = {"page", "__main__", "small_cases", "stale"}


def sections() -> dict[str, ModuleType]:
    """The modules that measure a section of the page, by its name."""
    names = [m.name for m in pkgutil.iter_modules(perf.__path__) if m.name not in SHARED]
    modules = {name: importlib.import_module(f"perf.{name}") for name in names}
    return {name: module for name, module in modules.items() if hasattr(module, "TITLE")}


def code_of(name: str, module: ModuleType) -> list[str]:
    """The paths that a section measures, and those of the section itself."""
    own = f"perf/{name}" if hasattr(module, "__path__") else f"perf/{name}.py"
    return [own, *(f"src/opbench/{path}" for path in module.CODE)]


def main() -> None:
    known = sections()
    parser = argparse.ArgumentParser(
        prog="python -m perf",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(known))
    parser.add_argument("--quick", action="store_true", help="a few rounds, to see that it works")
    parser.add_argument("--print", action="store_true", dest="only_print", help="write no page")
    parser.add_argument("--stale", action="store_true", help="list what must be measured again")
    options = parser.parse_args()
    unknown = set(options.sections) - set(known)
    if unknown:
        wrong = ", ".join(sorted(unknown))
        parser.error(f"unknown section {wrong}; choose from: {', '.join(known)}")
    if options.stale:
        code = {name: code_of(name, known[name]) for name in options.sections or known}
        found = stale(code, page.PAGE.read_text(encoding="utf-8"))
        print("\n".join(each.text for each in found) or "every section is of today's code")
        sys.exit(1 if found else 0)
    for name in options.sections or known:
        module = known[name]
        began = time.monotonic()
        print(f"== {module.TITLE}", flush=True)
        body = module.measure(quick=options.quick)
        print(f"{body}\n(took {time.monotonic() - began:.0f} s)", flush=True)
        if not options.only_print and not options.quick:
            page.write(name, module.TITLE, f"python -m perf {name}", body)


if __name__ == "__main__":
    main()
