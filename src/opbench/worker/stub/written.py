"""Objects as source: how a fresh process gets a value of an axis, an argument, a function.

Each is an expression, and the lines that must run before it: a literal needs none, a function of a
file an import, a lambda or a function of a notebook its own source and what that uses. Nothing is
pickled, so that a case stays text. Standard library only, Python 3.9.
"""

from __future__ import annotations

import ast
import enum
import functools
import inspect
import linecache
import math
import re
import symtable
import sys
import types

from .addresses import found, reached
from .tensors import tensor

LITERALS = (str, bytes, int, bool, type(None), type(...))
DOTTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+")


class Unsendable(Exception):
    """An object that a fresh process cannot get; the text says what it is."""


class Written:
    """Source that defines names at module level, each once, in the order in which it must run."""

    def __init__(self):
        self.lines = {}
        self._begun = {}  # functions whose source is being written: two may call each other

    @property
    def text(self):
        return "\n".join(self.lines.values())

    def expression(self, value):
        """An expression for the value; what it needs is added to the lines."""
        if type(value) in LITERALS:
            return repr(value)
        if type(value) in (float, complex):
            return (
                repr(value) if math.isfinite(abs(value)) else f"{type(value).__name__}('{value}')"
            )
        if type(value) in (tuple, list, set, frozenset, dict, slice, range):
            return self._container(value)
        if isinstance(value, types.ModuleType):
            return self._module(value.__name__)
        if isinstance(value, functools.partial):
            return self._partial(value)
        if isinstance(value, enum.Enum):
            return f"{self.expression(type(value))}.{value.name}"
        try:
            made = tensor(value)
        except ValueError as error:
            raise Unsendable(str(error)) from None
        if made is not None:
            self._module(made[1])
            return made[0]
        constant = named_constant(value)
        if constant is not None:
            self._module(constant[0])
            return constant[1]
        if callable(value):
            return self.function(value)
        raise Unsendable(f"an object of type {type(value).__qualname__}")

    def function(self, target):
        """The name of a function or class, imported, or defined by its source."""
        place = found(target)
        if place is not None:
            return self._imported(*place)
        if inspect.isfunction(target) or inspect.isclass(target):
            return self._by_source(target)
        raise Unsendable(f"an object of type {type(target).__qualname__}")

    def define(self, name, value):
        """Lines that bind a name to a value, unless it is so bound already."""
        text = self.expression(value)
        if text != name:
            self._add(name, f"{name} = {text}")

    def _add(self, name, line):
        if self.lines.setdefault(name, line) != line:
            raise Unsendable(f"two different things called {name}")

    def _module(self, name):
        self.lines.setdefault(f"import {name}", f"import {name}")
        return name

    def _imported(self, module, name):
        first = name.partition(".")[0]
        if module == "builtins":
            return name
        if not all(part.isidentifier() for part in module.split(".")):
            self._module("importlib")
            self._add(first, f'{first} = importlib.import_module("{module}").{first}')
            return name
        line = f"from {module} import {first}"
        alias, number = first, 2
        while self.lines.get(alias, line) not in (line, f"{line} as {alias}"):
            alias, number = f"{first}_{number}", number + 1
        self.lines[alias] = line if alias == first else f"{line} as {alias}"
        return alias + name[len(first) :]

    def _container(self, value):
        if isinstance(value, dict):
            pairs = (f"{self.expression(k)}: {self.expression(v)}" for k, v in value.items())
            return f"{{{', '.join(pairs)}}}"
        if isinstance(value, (slice, range)):
            ends = (value.start, value.stop, value.step)
            return f"{type(value).__name__}({', '.join(map(self.expression, ends))})"
        parts = ", ".join(map(self.expression, value))
        if isinstance(value, list):
            return f"[{parts}]"
        if isinstance(value, tuple):
            return f"({parts}{',' if len(value) == 1 else ''})"
        return f"{type(value).__name__}(({parts}{',' if parts else ''}))"

    def _partial(self, value):
        self._module("functools")
        parts = [self.expression(each) for each in (value.func, *value.args)]
        parts += [f"{name}={self.expression(each)}" for name, each in value.keywords.items()]
        return f"functools.partial({', '.join(parts)})"

    def _by_source(self, target):
        if target in self._begun:
            return self._begun[target]
        text, name = source_of(target)
        self._begun[target] = name
        for used in names_used(text):
            if used == name:
                continue
            known, value = lookup(target, used)
            if not known:
                continue  # a builtin, or an error that Python reports when it runs
            try:
                self.define(used, value)
            except Unsendable as error:
                what = str(error)
                raise Unsendable(what if "`" in what else f"it uses `{used}`, {what}") from None
        self._add(name, text)
        return name


def named_constant(value):
    """(module, expression) of an object that a framework has a name for: a dtype, a device."""
    module = type(value).__module__.partition(".")[0]
    if type(value).__name__ == "device" and module == "torch":
        return module, f"torch.device({str(value)!r})"
    if module == "numpy" and type(value).__name__.endswith(("dtype", "DType")):
        return module, f"numpy.dtype({str(value)!r})"
    text = repr(value) if module in ("torch", "jax", "ml_dtypes") else ""
    if DOTTED.fullmatch(text):
        first, _, rest = text.partition(".")
        if reached(first, rest) is value:
            return first, text
    return None


def label(value):
    """What a value is called in an id: a name, a number, `1x64` of a tuple; None if it has none."""
    if type(value) in (str, int, bool) or (type(value) is float and math.isfinite(value)):
        return value
    if type(value) in (tuple, list):
        parts = [label(each) for each in value]
        if any(part is None for part in parts):
            return None
        whole = all(type(each) is int for each in value)
        return ("x" if whole else "-").join(map(str, parts)) or "()"
    if isinstance(value, enum.Enum):
        return value.name
    constant = named_constant(value)
    if constant is not None:
        return str(value).rpartition(".")[2]
    name = getattr(value, "__name__", None)
    return name if callable(value) and isinstance(name, str) and name.isidentifier() else None


def source_of(target):
    """(source, name it defines) of a function, a lambda or a class, without our decorator."""
    code = getattr(target, "__code__", None)
    if code is None:  # a class: a method knows the file
        inside = [inspect.unwrap(each) for each in vars(target).values() if callable(each)]
        codes = [each.__code__ for each in inside if hasattr(each, "__code__")]
        if not codes:
            raise Unsendable(f"the class {target.__name__}, whose source is not known")
        code = codes[0]
    lines = linecache.getlines(code.co_filename)
    try:
        tree = ast.parse("".join(lines))
    except (SyntaxError, ValueError):
        lines, tree = [], ast.Module([], [])
    name = target.__name__
    if name == "<lambda>":
        return lambda_source(tree, code)
    kind = ast.ClassDef if inspect.isclass(target) else ast.FunctionDef
    nodes: list = [n for n in ast.walk(tree) if isinstance(n, kind) and _is(n, name, code)]
    if not nodes:
        raise Unsendable(f"{name}, whose source is not known")
    node = nodes[-1]
    node.decorator_list = [each for each in node.decorator_list if not ours(each)]
    return ast.unparse(node), name


def lambda_source(tree, code):
    """The same of a lambda, named by what it is: moving it elsewhere makes no other case."""
    nodes = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Lambda) and node.lineno == code.co_firstlineno
    ]
    if len(nodes) > 1:
        nodes = [node for node in nodes if _same_code(node, code)]
    if not nodes:
        raise Unsendable("a lambda, whose source is not known")
    import hashlib  # and OpenSSL with it

    text = ast.unparse(nodes[0])
    name = f"lambda_{hashlib.sha256(text.encode()).hexdigest()[:8]}"
    return f"{name} = {text}", name


def _is(node, name, code):
    if isinstance(node, ast.ClassDef):
        return node.name == name and node.lineno <= code.co_firstlineno <= node.end_lineno
    first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
    return node.name == name and first == code.co_firstlineno


def _same_code(node, code):
    """Which of several lambdas of one line it is: by its place, or by what it uses."""
    if hasattr(code, "co_positions"):  # from Python 3.11 on
        starts = {(line, column) for line, _, column, _ in code.co_positions()}
        return (node.body.lineno, node.body.col_offset) in starts
    return _used(compile(ast.Expression(node), "", "eval").co_consts[0]) == _used(code)


def _used(code):
    constants = [repr(each) for each in code.co_consts if not isinstance(each, types.CodeType)]
    names = {*code.co_names, *code.co_varnames, *code.co_freevars}
    return constants, sorted(names)


def ours(decorator):
    """Whether it is `@ob.bench` or `@bench(…)`, which the source must do without."""
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return name == "bench"


def names_used(text):
    """Names that the source reads and does not define itself, in their order."""
    todo = [symtable.symtable(text, "<source>", "exec")]
    read: dict = {}
    while todo:
        table = todo.pop(0)
        top = table.get_type() == "module"
        for symbol in table.get_symbols():
            outside = symbol.is_referenced() and not (top and symbol.is_assigned())
            if outside and (top or symbol.is_global()):
                read[symbol.get_name()] = None
        todo += table.get_children()
    return list(read)


def lookup(target, name):
    """(whether it is known, value) of a name in a function's closure or globals."""
    functions = [target]
    if inspect.isclass(target):
        functions = [each for each in vars(target).values() if inspect.isfunction(each)]
        functions += [sys.modules.get(target.__module__)]
    for each in functions:
        code = getattr(each, "__code__", None)
        if code is not None and name in code.co_freevars:
            cell = (each.__closure__ or ())[code.co_freevars.index(name)]
            return True, cell.cell_contents
        scope = getattr(each, "__globals__", getattr(each, "__dict__", {}))
        if name in scope:
            return True, scope[name]
    return False, None
