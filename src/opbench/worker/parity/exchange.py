"""One call of a case on given inputs: its inputs and outputs as raw files.

The setup runs as written, but each line that assigns an input goes through `Inputs`: its value is
replaced by the given one or, in the child that makes the inputs for all the others, saved.
Everything runs in one namespace, outside any timed loop.
"""

import ast
import os

from .. import source
from . import tensors

HOOK = "_opbench_input"


def run(session, folder, given):
    """Write the outputs to `folder`, and the inputs too if none are `given`.

    `given` lists the inputs, as another child answered: `{name, dtype, shape, file}`.
    """
    parity = session.case["parity"]
    inputs = Inputs(folder, given)
    names = dict(session.module.__dict__, seed=session.case["seed"])
    names[HOOK] = inputs
    sections = source.sections(session.case, session.module.__file__)
    setup = [hooked(node, parity["inputs"]) for node in sections["SETUP"]]
    for nodes in (setup, sections["BEFORE"], sections["STMT"], sections["SYNC"]):
        tree = ast.fix_missing_locations(ast.Module(body=nodes, type_ignores=[]))
        exec(compile(tree, session.module.__file__, "exec"), names)
    outputs: list = []
    for label, expression in parity["outputs"]:
        for name, value in tensors.flatten(label, eval(expression, names)):
            outputs.append(write(folder, "output%d" % len(outputs), name, value, sampled=True))
    return {"inputs": inputs.headers, "outputs": outputs}


def hooked(node, inputs):
    """`x = EXPR` as `x = HOOK("x", EXPR)`, when `x` is one of the inputs."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target = node.targets[0]
        if isinstance(target, ast.Name) and target.id in inputs:
            name = ast.Constant(target.id)
            node.value = ast.copy_location(
                ast.Call(ast.Name(HOOK, ast.Load()), [name, node.value], []), node.value
            )
    return node


class Inputs:
    """Called with each input that the setup makes; returns the one to use."""

    def __init__(self, folder, given):
        self.folder = folder
        #: Header and file of each input, in order.
        self.headers = list(given)
        self._given = {header["name"]: header for header in given}

    def __call__(self, name, value):
        if type(value) in (list, tuple):
            return type(value)([self("%s[%d]" % (name, i), v) for i, v in enumerate(value)])
        if tensors.kind_of(value) == "":
            return value
        if not self._given:
            self.headers.append(write(self.folder, "input%d" % len(self.headers), name, value))
        elif name in self._given:
            return tensors.fill(value, self._given[name])
        return value


def write(folder, file, name, value, sampled=False):
    header, data = tensors.read(value, sampled)
    path = os.path.join(folder, file)
    with open(path, "wb") as stream:
        stream.write(data)
    return dict(header, name=name, file=path)
