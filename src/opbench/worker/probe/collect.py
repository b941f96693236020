"""Which benchmarks does a user's file define? Imported here, in a process that may be lost.

`main.py probe.collect FILE FD` imports the file under its package name, with the stub in the place
of `opbench`, and writes what it found to the file descriptor as one line of JSON. Errors are
data too. With a third argument, the name of a model, it describes that model; FILE may then also
be the dotted name of an installed module. Standard library only, Python 3.9, any environment.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import sys
import traceback

from . import known

#: What `torch.compile` imports at its first call, in every single child unless the worker has it:
#: seconds each time.
COMPILER = ("torch._dynamo", "torch._inductor.compile_fx")
#: Characters: an exception may carry the whole of what it could not read.
LONGEST_MESSAGE = 1000
LIBRARIES = ("site-packages", "dist-packages")


def collect(path, model=""):
    """The benchmarks of a file, as plain JSON; `{"error": …}` when it cannot be imported."""
    from .. import stub

    if model and not path.endswith(".py"):
        return installed(path, model)
    path = os.path.abspath(path)
    stub.install()
    try:
        root, module_name = stub.package_of(path)
        sys.argv = [path]
        root, module_name, module = imported(root, module_name, path)
        benchmarks = own_benchmarks(stub.registered(), module_name, stub.BenchError)
        return {
            "file": path,
            "module": module_name,
            "root": root,
            "digest": digest(path, root),
            "modules": preloads(path),
            "benchmarks": benchmarks,
            "layers": stub.layers.found_in(module_name),
            "snippets": stub.snippets.found_in(vars(module)),
            "sweep": None if model else stub.sweeps.found_in(vars(module)),
            "model": stub.sweeps.named_in(module, model) if model else None,
        }
    except BaseException as error:  # sys.exit and KeyboardInterrupt included: nothing may escape
        return {"error": describe(error, path)}


def preloads(path):
    """What a worker imports before it forks for the benchmarks of this file."""
    found = loaded()
    with open(path, "rb") as stream:
        compiles = b"torch.compile" in stream.read()
    return [*found, *(COMPILER if compiles and "torch" in found else ())]


def loaded():
    return [name for name in known.modules() if name in sys.modules]


def installed(module_name, model):
    """A model of an installed package: nothing of it belongs to the user's project."""
    from .. import stub

    stub.install()
    try:
        found = stub.sweeps.named_in(importlib.import_module(module_name), model)
        return {"module": "", "root": "", "digest": "", "modules": loaded(), "model": found}
    except BaseException as error:
        return {"error": describe(error, "")}


def imported(root, module_name, path):
    """(root, dotted name, module) of a file that is imported from its folder, or from the one
    above where it imports what lies there: `definitions/x.py` may say `from core import y`."""
    sys.path.insert(0, root)
    try:
        return root, module_name, import_as(module_name, path)
    except ModuleNotFoundError as error:
        above, folder = os.path.split(root)
        missing = os.path.join(above, (error.name or "").partition(".")[0])
        if not error.name or not (os.path.isdir(missing) or os.path.isfile(missing + ".py")):
            raise
        sys.path[0] = above
        name = f"{folder}.{module_name}"
        return above, name, import_as(name, path)


def import_as(name, path):
    module = importlib.import_module(name)
    found = getattr(module, "__file__", None)
    if found is None or os.path.realpath(found) != os.path.realpath(path):
        raise ImportError(
            f"the name of the file is taken: `import {name}` finds {found or 'a built-in module'}; "
            "rename the file"
        )
    return module


def own_benchmarks(entries, module_name, refuse):
    """The benchmarks that the file itself registers, not those of benchmark files it imports."""
    from ..stub.bench import misplaced

    lines: dict = {}
    own = [entry for entry in entries if entry["registered_in"] == module_name]
    for entry in own:
        name, line = entry["name"], entry["line"]
        key = entry["group"], name
        if key in lines:
            other = "group" if entry["group"] else "name"
            raise refuse(f"lines {lines[key]} and {line} both define {name}; give one a {other}=")
        lines[key] = line
        if entry["module"] and not hasattr(sys.modules.get(entry["module"]), entry["function"]):
            raise refuse(
                f"line {line} registers {entry['function']}, but {entry['module']} has no such "
                "name after its import; keep the function under its own name"
            )
    for entry in own:
        wrong = misplaced(entry)
        if wrong:
            raise refuse(f"line {entry['line']} registers {wrong}")
    return [{key: value for key, value in entry.items() if key != "objects"} for entry in own]


def digest(path, root):
    """Hash over the file and every module of its project imported so far, wherever that lies."""
    project = root
    if os.path.basename(root) in LIBRARIES:  # an installed package: its own folder is the project
        project = os.path.join(root, os.path.relpath(path, root).split(os.sep)[0])
    files = {os.path.realpath(path)}
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and belongs(os.path.realpath(file), os.path.realpath(project)):
            files.add(os.path.realpath(file))
    total = hashlib.sha256()
    base = os.path.realpath(root)
    for file in sorted(files, key=lambda f: os.path.relpath(f, base)):
        try:
            with open(file, "rb") as stream:
                content = stream.read()
        except OSError:  # a module inside an archive
            continue
        # Relative names: the same project in two places has the same digest.
        total.update(f"{os.path.relpath(file, base)}\0{len(content)}\0".encode())
        total.update(content)
    return total.hexdigest()[:32]


def belongs(file, project):
    """Whether a file belongs to the project, not to a library below its folder."""
    if not file.startswith(project.rstrip(os.sep) + os.sep) and file != project:
        return False
    worker = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    if file.startswith(worker + os.sep):
        return False
    folder = os.path.dirname(file)
    while len(folder) > len(project):
        if os.path.basename(folder) in LIBRARIES or os.path.exists(
            os.path.join(folder, "pyvenv.cfg")
        ):
            return False
        folder = os.path.dirname(folder)
    # A virtual environment at the root of the project itself, or the interpreter's own library.
    library = os.path.realpath(os.path.dirname(os.__file__))
    return not file.startswith(library + os.sep)


def describe(error, path):
    """An error as data: a one-line message, and the line of the user's file."""
    line = None
    if isinstance(error, SyntaxError):
        where = error.filename or path
        line = error.lineno
        message = error.msg
        if os.path.realpath(where) != os.path.realpath(path):
            message, line = f"{message} ({where}, line {line})", None
    elif isinstance(error, SystemExit):
        message = (
            f"called sys.exit({'' if error.code is None else repr(error.code)}) while being "
            'imported; put that under `if __name__ == "__main__":`'
        )
    else:
        message = str(error).strip().splitlines()[0] if str(error).strip() else ""
        if "relative import with no known parent" in message:
            message += "; give each folder of the package an __init__.py"
    if line is None and not isinstance(error, SyntaxError):
        for frame, number in traceback.walk_tb(error.__traceback__):
            if os.path.realpath(frame.f_code.co_filename) == os.path.realpath(path):
                line = number
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    return {
        "type": type(error).__name__[:LONGEST_MESSAGE],
        "message": message[:LONGEST_MESSAGE],
        "line": line,
        "traceback": text[-6000:],
    }


def main(path, fd, model=""):
    fd = int(fd)
    os.set_inheritable(fd, False)  # what the file starts must not keep our pipe open
    if hasattr(sys.stdout, "reconfigure"):  # what it prints before a crash says why
        sys.stdout.reconfigure(line_buffering=True)
    line = json.dumps(collect(path, model)).encode() + b"\n"
    while line:
        line = line[os.write(fd, line) :]
    os._exit(0)  # without waiting for threads and exit handlers of the user's file
