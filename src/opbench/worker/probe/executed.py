"""The functions and operators that some cases execute: `main.py probe.executed FRAMEWORK FILE`.

The file has a list of cases as JSON, of which each statement runs once. In torch a function is seen
where Python calls it, an operator where torch dispatches it: `F.pad` and `constant_pad_nd`. MXNet's
profiler names the operators that its engine ran, each by one of its names. Cases that cannot run
are listed with the reason.
"""

import ctypes
import importlib
import json
import os
import tempfile

#: An operator of MXNet's that its profiler knows by its kind alone.
KINDS = {"TernaryOp": "fill_element_0index"}


def main(framework, path):
    with open(path, encoding="utf-8") as stream:
        cases = json.load(stream)
    names, alone, failed = globals()["of_" + framework](cases)
    print(json.dumps({"names": sorted(names), "alone": sorted(alone), "failed": failed}))


def of_torch(cases):
    functions: type = importlib.import_module("torch.overrides").TorchFunctionMode
    operators: type = importlib.import_module("torch.utils._python_dispatch").TorchDispatchMode
    called: set = set()
    dispatched: set = set()

    class Functions(functions):  # type: ignore[valid-type, misc]
        def __torch_function__(self, function, types, arguments=(), keywords=None):
            called.add(getattr(function, "__name__", ""))
            return function(*arguments, **(keywords or {}))

    class Operators(operators):  # type: ignore[valid-type, misc]
        def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
            dispatched.add(function._schema.name.partition("::")[2])
            return function(*arguments, **(keywords or {}))

    seen, alone, failed = set(), set(), {}
    for case in cases:
        called.clear()
        dispatched.clear()
        try:
            names = prepared(case)
            with Functions(), Operators():
                exec(case["stmt"], names)
        except Exception as error:
            failed[case["name"]] = described(error)
        for each in (called, dispatched):
            seen |= each
            alone |= each if len(each) == 1 else set()
    return seen, alone, failed


def prepared(case):
    """The names of the case when its statement is next."""
    names = {"seed": 0}
    for section in ("globals", "setup", "before"):
        exec(case[section], names)
    return names


def described(error):
    lines = str(error).strip().splitlines() or [""]
    return "%s: %s" % (type(error).__name__, lines[-1])


def of_mxnet(cases):
    mxnet = importlib.import_module("mxnet")
    with tempfile.TemporaryDirectory() as folder:
        seen, failed = profiled_in_child(mxnet, cases, folder)
    handles = {handle_of(mxnet, name) for name in seen} - {None}
    known = mxnet.operator.get_all_registered_operators()
    return {name for name in known if handle_of(mxnet, name) in handles}, (), failed


def handle_of(mxnet, name):
    """The operator of that name: all names of one have the same; None for no operator."""
    handle = mxnet.base.OpHandle()
    found = mxnet.base._LIB.NNGetOpHandle(mxnet.base.c_str(name), ctypes.byref(handle))
    return handle.value if found == 0 else None


def profiled_in_child(mxnet, cases, folder):
    """What the cases run, and which cannot, in a child: MXNet may crash. Then each half is tried in
    a child of its own, down to the case that crashes."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        with os.fdopen(writing, "w") as stream:
            json.dump(profiled(mxnet, cases, folder), stream)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as stream:
        text = stream.read()
    if os.waitpid(child, 0)[1] == 0:
        return json.loads(text)
    if len(cases) == 1:
        return [], {cases[0]["name"]: "crashed"}
    half = len(cases) // 2
    halves = cases[:half], cases[half:]
    first, second = (profiled_in_child(mxnet, part, folder) for part in halves)
    return first[0] + second[0], {**first[1], **second[1]}


def profiled(mxnet, cases, folder):
    profiler = mxnet.profiler
    # It writes a file of its own, and replaces what has that name.
    unread = os.path.join(folder, "profile.json")
    profiler.set_config(profile_imperative=True, aggregate_stats=True, filename=unread)
    seen, failed = set(), {}
    for case in cases:
        try:
            names = prepared(case)
            mxnet.nd.waitall()
            profiler.set_state("run")
            exec(case["stmt"], names)
            mxnet.nd.waitall()
        except Exception as error:
            failed[case["name"]] = described(error)
        finally:
            profiler.set_state("stop")
            rows = [line.split() for line in profiler.dumps(reset=True).splitlines()]
        seen |= {operator_of(row[0]) for row in rows if len(row) > 1 and row[1].isdigit()}
    return sorted(seen), failed


def operator_of(name):
    """What runs within an operator of the user's own is named after that."""
    return "Custom" if "::" in name else KINDS.get(name, name)
