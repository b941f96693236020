"""Entry point: `python main.py CONTROL_FD`, in any interpreter that has the framework.

Run as a plain file, so its folder must not become importable (a sibling named like a module of
the framework would shadow it). The package is therefore mounted under a private name.
"""

import os
import sys
import types


def mount():
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != here]
    package = types.ModuleType("_opbench_worker")
    package.__path__ = [here]
    sys.modules["_opbench_worker"] = package


if __name__ == "__main__":
    mount()
    from _opbench_worker import parent

    parent.main(int(sys.argv[1]))
