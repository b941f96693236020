"""One call of a case on given inputs: what it was given and what it computed, as raw files.

The set-up runs as it was written, but each line that assigns an input passes through here: the
value it made is replaced by the given one, or, in the child that makes the inputs for all the
others, written down. Everything runs in one namespace, outside any loop that is timed.
"""

import ast
import os

from .. import source
from . import tensors

GIVEN = "_opbench_given"


def run(session, folder, given):
    """Files in `folder` for the outputs, and for the inputs too where none are `given`.

    `given` lists the inputs, as another child's answer told them: `{name, dtype, shape, file}`.
    """
    parity = session.case["parity"]
    handed = Handed(folder, given)
    names = dict(session.module.__dict__, seed=session.case["seed"])
    names[GIVEN] = handed
    sections = source.sections(session.case, session.module.__file__)
    setup = [through(node, parity["inputs"]) for node in sections["SETUP"]]
    for nodes in (setup, sections["BEFORE"], sections["STMT"], sections["SYNC"]):
        tree = ast.fix_missing_locations(ast.Module(body=nodes, type_ignores=[]))
        exec(compile(tree, session.module.__file__, "exec"), names)
    outputs: list = []
    for label, expression in parity["outputs"]:
        for name, value in tensors.flatten(label, eval(expression, names)):
            outputs.append(write(folder, "output%d" % len(outputs), name, value, sampled=True))
    return {"inputs": handed.told, "outputs": outputs}


def through(node, inputs):
    """`x = EXPR` as `x = GIVEN("x", EXPR)`, when `x` is one of the inputs."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target = node.targets[0]
        if isinstance(target, ast.Name) and target.id in inputs:
            name = ast.Constant(target.id)
            node.value = ast.copy_location(
                ast.Call(ast.Name(GIVEN, ast.Load()), [name, node.value], []), node.value
            )
    return node


class Handed:
    """Called with each input as the set-up makes it; answers with the one to use."""

    def __init__(self, folder, given):
        self.folder = folder
        #: Inputs as they were given or written, in their order.
        self.told = list(given)
        self._given = {one["name"]: one for one in given}
        self._write = not given

    def __call__(self, name, value):
        if type(value) in (list, tuple):
            return type(value)([self("%s[%d]" % (name, i), v) for i, v in enumerate(value)])
        if tensors.kind_of(value) == "":
            return value
        if self._write:
            self.told.append(write(self.folder, "input%d" % len(self.told), name, value))
        elif name in self._given:
            one = self._given[name]
            with open(one["file"], "rb") as stream:
                return tensors.fill(value, one, stream.read())
        return value


def write(folder, file, name, value, sampled=False):
    told, data = tensors.read(value, sampled)
    path = os.path.join(folder, file)
    with open(path, "wb") as stream:
        stream.write(data)
    return dict(told, name=name, file=path)
