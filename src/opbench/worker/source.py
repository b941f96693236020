"""Turns the sources of a case into one generator whose locals are the variables of its setup.

As in `timeit`, setup and statement share one function, so that the statement reads fast locals and
the loop costs what `timeit`'s loop costs. As a generator the function keeps its state between
blocks. Sections are spliced as syntax trees, not pasted as text: a multi-line string in the user's
code is unchanged, and every line number points into one readable listing of the case, which is
what tracebacks and TorchScript see.
"""

import ast
import linecache
import sys
import types

#: The session of a case. A bare name in upper case is replaced by the statements of that section;
#: TIMED and EMPTY are the loops below, by timing mode (see `opbench.case.TIMING_MODES`).
#: `_ob_repeat(None, n)` is timeit's cheapest counter. Instruction counts subtract `idle` from
#: `stmt`, so both must take the same path to their loop: a test of identity costs the same either
#: way, as the names of operations are interned constants.
_TEMPLATE = """
def _opbench_session(seed, _ob_clock, _ob_repeat):
    SETUP
    _ob_idle = "idle"
    _ob_do, _ob_n = yield None
    while True:
        _ob_out = 0
        if _ob_do == "time":
            TIMED
        elif _ob_do == "empty":
            EMPTY
        elif _ob_do == "minus":
            SYNC
            _ob_it = _ob_repeat(None, _ob_n)
            _ob_t0 = _ob_clock()
            for _ob_i in _ob_it:
                MINUS
            SYNC
            _ob_out = _ob_clock() - _ob_t0
        elif _ob_do == "before":
            BEFORE
        elif _ob_do == "calls":
            for _ob_i in _ob_repeat(None, _ob_n):
                BEFORE
                STMT
            SYNC
        elif _ob_do == "launch":
            for _ob_i in _ob_repeat(None, _ob_n):
                STMT
        elif _ob_do is _ob_idle:
            for _ob_i in _ob_repeat(None, _ob_n):
                pass
        else:
            for _ob_i in _ob_repeat(None, _ob_n):
                STMT
            SYNC
        _ob_do, _ob_n = yield _ob_out
"""

_LOOP = """
SYNC
_ob_it = _ob_repeat(None, _ob_n)
_ob_t0 = _ob_clock()
for _ob_i in _ob_it:
    BODY
SYNC
_ob_out = _ob_clock() - _ob_t0
"""

_LOOP_EACH = """
for _ob_i in _ob_repeat(None, _ob_n):
    PREPARE
    SYNC
    _ob_t0 = _ob_clock()
    BODY
    SYNC
    _ob_out += _ob_clock() - _ob_t0
"""

_LOOP_PREBUILT = """
_ob_batch = []
for _ob_i in _ob_repeat(None, _ob_n):
    PREPARE
    _ob_batch.append(NAMES)
SYNC
_ob_t0 = _ob_clock()
for TARGETS in _ob_batch:
    BODY
SYNC
_ob_out = _ob_clock() - _ob_t0
_ob_batch = None
"""


class SourceError(Exception):
    """A section of the case is not valid Python; the message names section and line."""


def build(case):
    """(module, generator function, listing) for a case given as a dict; runs nothing of it."""
    filename = "<opbench %s>" % case.get("name", "case")
    listing, sections = _listing(case, filename)
    timing_mode = case.get("way", "repeatable")
    loop = empty = _LOOP
    if timing_mode == "each":
        loop = empty = _LOOP_EACH
    elif timing_mode == "prebuilt":
        names = sorted(assigned(sections["BEFORE"]))
        if not names:
            raise SourceError("timing mode 'prebuilt' needs a `before` that assigns a name")
        text = "(%s,)" % ", ".join(names)
        loop = _LOOP_PREBUILT.replace("NAMES", text).replace("TARGETS", text)
    replacements = dict(sections)
    timed = dict(sections, PREPARE=sections["BEFORE"], BODY=sections["STMT"])
    replacements["TIMED"] = _splice(ast.parse(loop).body, timed)
    nothing = {"PREPARE": [], "BODY": [_pass()], "SYNC": []}
    replacements["EMPTY"] = _splice(ast.parse(empty).body, nothing)

    tree = ast.parse(_TEMPLATE)
    tree.body = _splice(tree.body, replacements)
    module = types.ModuleType("opbench_case")
    module.__file__ = filename
    sys.modules["opbench_case"] = module
    linecache.cache[filename] = (len(listing), None, listing.splitlines(True), filename)
    top = ast.Module(body=sections["GLOBALS"] or [_pass()], type_ignores=[])
    try:
        code = compile(tree, filename, "exec")
    except SyntaxError as error:
        # Valid at module level, not inside a function: `from x import *`.
        raise SourceError("setup: %s (move it to the module-level part)" % error.msg) from None
    return module, compile(top, filename, "exec"), code


def sections(case, filename):
    """The sections of a case as statements whose line numbers point into its listing."""
    return _listing(case, filename)[1]


def _listing(case, filename):
    """The readable text of the case, and its sections as statements numbered by that text."""
    text = "# opbench case %s/%s %s\n" % (
        case.get("suite", ""),
        case.get("name", ""),
        case.get("stage", ""),
    )
    sections = {}
    for section, title in (
        ("globals", "module level"),
        ("setup", "setup"),
        ("sync", "wait"),
        ("before", "before each call"),
        ("minus", "subtracted"),
        ("stmt", "statement"),
    ):
        source = case.get(section) or ""
        sections[section.upper()] = _parse(source, title, text.count("\n") + 1, filename)
        if source.strip():
            text += "# -- %s\n%s\n" % (title, source.rstrip("\n"))
    return text, sections


def _parse(source, title, offset, filename):
    if not source.strip():
        return []
    try:
        tree = ast.parse("\n" * offset + source)  # the lines before it are other sections
        # Compiled alone as a module, so that `return`, `yield` and `break` are refused here
        # instead of changing the generator they will be spliced into.
        compile(tree, filename, "exec")
    except SyntaxError as error:
        line = (error.text or "").strip()
        number = None if error.lineno is None else error.lineno - offset
        raise SourceError(
            "%s, line %s: %s%s" % (title, number, error.msg, ": " + line if line else "")
        ) from None
    return tree.body


#: Assignments inside these do not bind names in the surrounding scope.
_INNER_SCOPES = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Lambda,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
)


def assigned(statements):
    """Names that these statements assign in their own scope."""
    names = set()
    todo = list(statements)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        if not isinstance(node, _INNER_SCOPES):
            todo.extend(ast.iter_child_nodes(node))
    return names


def _pass():
    """Numbered, as `compile` wants it of all nodes; those that were parsed are."""
    return ast.Pass(lineno=1, col_offset=0)


def _splice(statements, replacements):
    """Copy `statements`, with each bare name in `replacements` replaced by its statements."""
    result = []
    for statement in statements:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Name):
            name = statement.value.id
            if name in replacements:
                result.extend(replacements[name])
                continue
        for field in ("body", "orelse"):
            children = getattr(statement, field, None)
            if isinstance(children, list) and children and isinstance(children[0], ast.stmt):
                children = _splice(children, replacements)
                if field == "body" and not children:
                    children = [_pass()]
                setattr(statement, field, children)
        result.append(statement)
    return result
