"""The sections of a case, run line by line in a namespace of their own.

What a statement left behind in the call before is released before the next one is recorded: the old
result, alive until the new one takes its name, would otherwise hide as many bytes.
"""

import ast

from .. import source


class Line:
    """One statement of the source, compiled so that its line numbers point into the listing."""

    def __init__(self, node, filename):
        self.text = " ".join(ast.unparse(node).split())[:200]
        self.deletes = isinstance(node, ast.Delete)
        self.goes_backward = any(
            isinstance(part, ast.Attribute) and part.attr == "backward" for part in ast.walk(node)
        )
        self.code = compile(ast.Module(body=[node], type_ignores=[]), filename, "exec")


class Lines:
    """The sections of a case, to be run line by line in one namespace."""

    def __init__(self, session):
        filename = session.module.__file__
        sections = source.sections(session.case, filename)
        self.setup, self.before, self.statement, self.sync = (
            [Line(node, filename) for node in sections[name]]
            for name in ("SETUP", "BEFORE", "STMT", "SYNC")
        )
        self.made = made_by(sections["STMT"])
        self.names = dict(session.module.__dict__, seed=session.case["seed"])

    def run(self, lines):
        for line in lines:
            exec(line.code, self.names)

    def call(self):
        self.run(self.before + self.statement + self.sync)

    def release(self):
        """Forget what the call before made."""
        for name in self.made:
            self.names.pop(name, None)

    def evaluate(self, expression):
        return eval(expression, self.names)


def made_by(nodes):
    """Names that a statement assigns before it reads them: its results, not what it updates."""
    made: list = []
    read: set = set()
    for node in nodes:
        names = [part for part in ast.walk(node) if isinstance(part, ast.Name)]
        read |= {each.id for each in names if isinstance(each.ctx, ast.Load)} - set(made)
        if isinstance(node, ast.AugAssign):
            read |= {each.id for each in names}
        stored = [each.id for each in names if isinstance(each.ctx, ast.Store)]
        made += [name for name in stored if name not in read and name not in made]
    return made
