"""One call of a case on given inputs: its inputs and outputs as raw files.

The setup runs as written, but each line that assigns an input goes through `Inputs`: its value is
replaced by the given one or, in the child that makes the inputs for all the others, saved.
Everything runs in one namespace, outside any timed loop. A child may set up while another still
makes the inputs: it waits for them where it needs the first.
"""

import ast
import json
import os
import time

from .. import source
from . import tensors

HOOK = "_opbench_input"
#: How often a child looks whether the inputs are there that it waits for.
LOOK_SECONDS = 0.002


def run(session, folder, given, announces="", awaits=""):
    """Write the outputs to `folder`, and the inputs too if none are `given`.

    `given` lists the inputs, as another child answered: `{name, dtype, shape, file}`. The child
    that makes them `announces` them in a file; one that `awaits` it takes the list from there.
    """
    parity = session.case["parity"]
    inputs = Inputs(folder, given, awaits)
    names = dict(session.module.__dict__, seed=session.case["seed"])
    names[HOOK] = inputs
    sections = source.sections(session.case, session.module.__file__)
    setup = [hooked(node, parity["inputs"]) for node in sections["SETUP"]]
    for nodes in (setup, sections["BEFORE"], sections["STMT"], sections["SYNC"]):
        tree = ast.fix_missing_locations(ast.Module(body=nodes, type_ignores=[]))
        exec(compile(tree, session.module.__file__, "exec"), names)
        if announces and nodes is setup:
            announce(announces, inputs.headers)
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

    def __init__(self, folder, given, awaits=""):
        self.folder = folder
        self._awaits = awaits
        self._take(given)

    def _take(self, given):
        #: Header and file of each input, in order.
        self.headers = list(given)
        self._given = {header["name"]: header for header in given}

    def __call__(self, name, value):
        if self._awaits:
            self._take(awaited(self._awaits))
            self._awaits = ""
        if type(value) in (list, tuple):
            return type(value)([self("%s[%d]" % (name, i), v) for i, v in enumerate(value)])
        if tensors.kind_of(value) == "":
            return value
        if not self._given:
            self.headers.append(write(self.folder, "input%d" % len(self.headers), name, value))
        elif name in self._given:
            return tensors.fill(value, self._given[name])
        return value


def announce(path, headers):
    """Whole or not at all: others look for it all the time."""
    with open(path + ".new", "w") as stream:
        json.dump(headers, stream)
    os.rename(path + ".new", path)


def awaited(path):
    """Who waits in vain is ended by the runner."""
    while not os.path.exists(path):
        time.sleep(LOOK_SECONDS)
    with open(path) as stream:
        return json.load(stream)


def write(folder, file, name, value, sampled=False):
    header, data = tensors.read(value, sampled)
    path = os.path.join(folder, file)
    with open(path, "wb") as stream:
        stream.write(data)
    return dict(header, name=name, file=path)
