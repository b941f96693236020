"""Entry point: `python main.py MODULE ARGUMENT…`, in any interpreter that has the framework.

    parent FD                        a worker; FD is its control socket
    ending.guard PID module|program …  run something that ends with the process PID
    ending.tidy                      remove files when its standard input ends
    cpp.build                        compile the C++ statements described on standard input
    probe.collect FILE FD [MODEL]    describe a user's file
    probe.facts                      describe the interpreter
    probe.inventory FRAMEWORK        list the framework's operators

Run as a plain file, so its folder must not become importable (a sibling named like a module of
the framework would shadow it). The package is therefore mounted under a private name.
"""

import importlib
import os
import sys
import types

HERE = os.path.dirname(os.path.abspath(__file__))


def command(python, module, *arguments):
    """The command line that runs a module of this package in another interpreter."""
    return [python, os.path.join(HERE, "main.py"), module, *arguments]


def mount():
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != HERE]
    package = types.ModuleType("_opbench_worker")
    package.__path__ = [HERE]
    sys.modules["_opbench_worker"] = package


if __name__ == "__main__":
    mount()
    importlib.import_module("_opbench_worker." + sys.argv[1]).main(*sys.argv[2:])
