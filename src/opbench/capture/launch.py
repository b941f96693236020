"""`python -m opbench.capture.launch OPTIONS SCRIPT ARGS…`: runs a script as Python would, recorded.

The script needs no edit. Recording begins when it has imported torch, so that what it does before
that (setting environment variables, say) works as ever.
"""

from __future__ import annotations

import builtins
import contextlib
import importlib.abc
import importlib.util
import json
import os
import runpy
import sys
import traceback
import types
import zipfile
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import TracebackType
from typing import Any


class WhenTorchIsImported(importlib.abc.MetaPathFinder):
    """Calls `then` once, as soon as the script has imported torch."""

    def __init__(self, then: Callable[[], None]) -> None:
        self.then = then

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec("torch")
        if spec is None or spec.loader is None:
            return spec
        original = spec.loader.exec_module

        def exec_module(module: Any) -> None:
            original(module)
            self.then()

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


class Launch:
    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options
        self.recorder: Any = None
        #: Why there is no file.
        self.failure = ""

    def start(self) -> None:
        from opbench.capture.record import api_recorder, operator_recorder

        if self.options.get("level") == "api":
            chosen = self._chosen("path", "functions", "values")
            self.recorder = api_recorder(defer=True, **chosen).start()
        else:
            chosen = self._chosen(
                "path", "steps", "calls", "values", "timing", "sizes", "stop", "source"
            )
            self.recorder = operator_recorder(auto=True, **chosen).start()
            # The script may end in a way that leaves no time to report: `os._exit`, a crash.
            self.recorder.on_written = self.report

    def _chosen(self, *names: str) -> dict[str, Any]:
        return {name: self.options[name] for name in names if name in self.options}

    def run(self, words: list[str]) -> int:
        module = self.options.get("module")
        finder = WhenTorchIsImported(self.start)
        sys.meta_path.insert(0, finder)
        code: Any = 0
        try:
            if module:
                sys.argv = [module, *words]
                runpy.run_module(module, run_name="__main__", alter_sys=True)
            else:
                script, *rest = words
                sys.argv = [script, *rest]
                sys.path[0] = str(Path(script).resolve().parent)
                if script.endswith(".ipynb"):
                    from opbench.capture.notebook import run_notebook

                    run_notebook(script)
                elif zipfile.is_zipfile(script):
                    runpy.run_path(script, run_name="__main__")
                else:
                    run_script(os.path.abspath(script))
        except SystemExit as end:
            code = end.code
        except BaseException as error:
            print_as_python_would(error)
            code = 130 if isinstance(error, KeyboardInterrupt) else 1
        finally:
            if self.recorder is not None:
                self._finish()
        self.report()
        if isinstance(code, str):
            print(code, file=sys.stderr)
        return code if isinstance(code, int) else 0 if code is None else 1

    def _finish(self) -> None:
        from opbench.errors import UserError

        try:
            self.recorder.finish()
        except UserError as error:
            self.failure = str(error)

    def report(self) -> None:
        """Say what became of the recording to the command that started us."""
        found: dict[str, Any] = {"torch": "torch" in sys.modules, "failure": self.failure}
        for name in ("steps", "calls", "graphed", "written"):
            found[name] = getattr(self.recorder, name, 0)
        found["path"] = str(getattr(self.recorder, "path", ""))
        with contextlib.suppress(OSError):  # a full disk, which is no reason to end a training
            Path(self.options["report"]).write_text(json.dumps(found), encoding="utf-8")


def run_script(path: str) -> None:
    """As `python SCRIPT` would; `runpy` gives a package, and a path that a `chdir` breaks."""
    main = types.ModuleType("__main__")
    main.__dict__.update(
        __file__=path,
        __cached__=None,
        __builtins__=builtins,
        __loader__=SourceFileLoader("__main__", path),
    )
    if sys.version_info < (3, 14):  # where annotations are not evaluated before they are asked for
        main.__annotations__ = {}
    sys.modules["__main__"] = main
    exec(compile(Path(path).read_bytes(), path, "exec", dont_inherit=True), main.__dict__)


def print_as_python_would(error: BaseException) -> None:
    """The traceback from the script's own first frame on."""
    first: TracebackType | None = error.__traceback__
    notebook = str(Path(__file__).with_name("notebook.py"))
    ours = (__file__, notebook, runpy.__file__, "<frozen runpy>")
    while first is not None and first.tb_frame.f_code.co_filename in ours:
        first = first.tb_next
    traceback.print_exception(type(error), error, first)


def main() -> None:
    options = json.loads(sys.argv[1])
    pid = os.getpid()
    code = Launch(options).run(sys.argv[2:])
    if os.getpid() == pid and sys.stdout is not None:  # None: it was closed
        sys.stdout.flush()
    sys.exit(code)


if __name__ == "__main__":
    main()
