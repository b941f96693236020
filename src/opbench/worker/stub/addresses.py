"""Where a fresh process imports an object from: its module and its name there."""

from __future__ import annotations

import ast
import os
import sys
import types


class BenchError(TypeError):
    """A benchmark that cannot run; the text says why and what to write instead."""


def address(target, label, role):
    """(module, name) by which a fresh process can import `target`; BenchError where it cannot."""
    name = getattr(target, "__qualname__", getattr(target, "__name__", None))
    module = getattr(target, "__module__", None)
    where = "" if role == "benchmark" else f" (the {role} of {label})"
    if not callable(target):
        raise BenchError(f"{label}{where} is not callable; decorate a function or a module class")
    if name is None or module is None:
        raise BenchError(
            f"{label}{where} has no name to import it by; wrap it in a function of its own: def …"
        )
    if "<lambda>" in name:
        raise BenchError(f"a lambda has no name to import it by{where}; write it as a def")
    if "<locals>" in name:
        raise BenchError(
            f"{label}{where} is defined inside another function, which a fresh process cannot "
            "import; move it to the top level of the file and make what it closes over an axis"
        )
    if "." in name:
        raise BenchError(
            f"{name}{where} is a method; move it to the top level of the file as a function"
        )
    if module == "__main__" and not in_a_file():
        raise BenchError(
            f"{label}{where} is defined in a notebook or at a prompt, where no other process can "
            "import it; write it to a file (%%writefile bench_x.py) and run that"
        )
    return known_as(module), name


def found(target):
    """(module, name) under which `target` itself can be imported; None where there is none.

    What has no module of its own, such as a builtin of torch, is looked for in public modules."""
    module, short = getattr(target, "__module__", None), getattr(target, "__name__", None)
    name = getattr(target, "__qualname__", short)
    if not isinstance(name, str) or not isinstance(short, str) or not short.isidentifier():
        return None
    if isinstance(module, str) and reached(module, name) is target:
        return None if module == "__main__" and not in_a_file() else (known_as(module), name)
    places = [
        place
        for place, loaded in list(sys.modules.items())
        if place != "__main__" and getattr(loaded, "__dict__", {}).get(short) is target
    ]
    if not places:
        return in_a_calling_module(target)
    return min(places, key=lambda place: (f".{place}".count("._"), place.count("."), place)), short


def in_a_calling_module(target):
    """(module, name) under which a module that calls us holds `target`: what `functools.wraps`,
    `torch.compile` or `jax.jit` return bears the name of the function inside it."""
    frame: object = sys._getframe()
    seen = set()
    while isinstance(frame, types.FrameType):
        scope, module = frame.f_globals, frame.f_globals.get("__name__", "")
        held = getattr(sys.modules.get(module), "__dict__", None) is scope
        if held and module not in seen and (module != "__main__" or in_a_file()):
            for name, value in list(scope.items()):
                if value is target:
                    return known_as(module), name
        seen.add(module)
        frame = frame.f_back
    return None


def kept(module, name, target):
    """Whether importing that name gives `target`, or what a decorator above ours made of it."""
    main = in_a_file() and known_as("__main__") == module
    held = reached("__main__" if main else module, name)
    if held is target:
        return True
    if held is None or name != getattr(target, "__qualname__", ""):
        return False
    decorated = getattr(held, "__qualname__", "") != name
    while not decorated and hasattr(held, "__wrapped__"):
        held = held.__wrapped__
        decorated = held is target
    return decorated


def other_there(module, name):
    """What is wrong, and what to do, where `kept` is False."""
    return (
        f"a fresh process would import `{name}` of {module}, which is another function; give this "
        f"one a name of its own at the top level of the file: {name}_2 = …"
    )


def only_when_run(module, name):
    """Why a fresh process does not find the name: the file that is run here binds it only there;
    "" where that is not so, or not known."""
    if not in_a_file() or known_as("__main__") != module:
        return ""
    with open(main_file(), "rb") as stream:  # which says its encoding itself
        statements = ast.parse(stream.read()).body
    guarded = [each for each in statements if isinstance(each, ast.If) and is_guard(each.test)]
    others = bound_by([each for each in statements if each not in guarded])
    if name not in bound_by([inner for each in guarded for inner in each.body]) - others:
        return ""
    return (
        f'`{name}` is bound only under `if __name__ == "__main__":`, and a fresh process imports '
        f"{module} without running that; move it above, to the top level of the file"
    )


def is_guard(test):
    return any(isinstance(node, ast.Name) and node.id == "__name__" for node in ast.walk(test))


def bound_by(statements):
    """Names that these statements, or functions in them, give a value."""
    names = set()
    for node in ast.walk(ast.Module(body=statements, type_ignores=[])):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.alias):
            names.add((node.asname or node.name).partition(".")[0])
    return names


def reached(module, path):
    """The object of that dotted path in a loaded module, or None."""
    value = sys.modules.get(module)
    for part in path.split("."):
        value = getattr(value, part, None)
    return value


def in_a_file():
    """Whether the main module is a file, which another process can import."""
    return main_file().endswith(".py") and os.path.isfile(main_file())


def main_file():
    return getattr(sys.modules.get("__main__"), "__file__", None) or ""


def known_as(module):
    """The name by which another process imports a module that is the main one here."""
    return package_of(os.path.abspath(main_file()))[1] if module == "__main__" else module


def package_of(path):
    """(folder to put on sys.path, dotted name): the package reaches up as far as `__init__.py`."""
    folder, file = os.path.split(path)
    stem, extension = os.path.splitext(file)
    if not os.path.isfile(path):
        raise FileNotFoundError(f"file not found: {path}")
    if extension != ".py" or "." in stem:
        raise ImportError(f"{file} cannot be imported; its name must be one word and end in .py")
    parts = [] if stem == "__init__" else [stem]
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        folder, package = os.path.split(folder)
        parts.insert(0, package)
    return folder, ".".join(parts)


def place_of_caller():
    """(module, line) outside this package that called into it."""
    frame = sys._getframe()
    here = os.path.dirname(__file__)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(here + os.sep):
        frame = frame.f_back
    return frame.f_globals.get("__name__", ""), frame.f_lineno
