"""A case as a standalone script: the framework and the standard library are all it needs, and
for a benchmark in a file of the user's that file.

The sources of the case are pasted as they are, into the same shape of loop that a worker runs,
so that a number can be reproduced, profiled or sent to somebody who has never heard of opbench.
"""

from __future__ import annotations

import ast
import textwrap
from functools import lru_cache

from opbench import frameworks
from opbench.case import Case
from opbench.errors import UserError, printable
from opbench.report.script import cpp as script_cpp
from opbench.worker.source import assigned

_LOOPS = {
    "repeatable": """\
_it = _itertools.repeat(None, _n)
{sync}
_start = _clock()
for _ in _it:
    {stmt}
{sync}
_elapsed = _clock() - _start
""",
    "each": """\
_elapsed = 0
for _ in _itertools.repeat(None, _n):
    {before}
    {sync}
    _start = _clock()
    {stmt}
    {sync}
    _elapsed += _clock() - _start
""",
    "prebuilt": """\
_batch = []
for _ in _itertools.repeat(None, _n):
    {before}
    _batch.append({names})
{sync}
_start = _clock()
for {names} in _batch:
    {stmt}
{sync}
_elapsed = _clock() - _start
_batch = None
""",
    "difference": """\
_it, _it_minus = _itertools.repeat(None, _n), _itertools.repeat(None, _n)
{sync}
_start = _clock()
for _ in _it:
    {stmt}
{sync}
_middle = _clock()
for _ in _it_minus:
    {minus}
{sync}
_elapsed = (_middle - _start) - (_clock() - _middle)
""",
}

_ABOUT = {
    "repeatable": "calls back to back in one loop",
    "each": "each call timed on its own, after untimed preparation",
    "prebuilt": "preparation for a whole block first, then its calls timed together",
    "difference": "the time of a second statement is subtracted, block by block",
}

_SESSION = '''

def {name}(seed, _clock=_time.perf_counter_ns):
    """{doc}"""
    {setup}
    _n = yield
    while True:
        {first}
        {loop}
        _n = yield _elapsed
'''

_MAIN = '''

def _timed(block, n):
    """Nanoseconds of one block of n calls, garbage collection off."""
    _gc.disable()
    try:
        return block.send(n)
    finally:
        _gc.enable()


def _main():
    block, empty = _session(SEED), _empty(SEED)
    next(block), next(empty)
    _timed(block, 1)  # the first call pays for what is made once
    n = 1
    while True:  # double until the clock's own cost is negligible, or a block gets tedious
        began = _time.perf_counter_ns()
        took = _timed(block, n)
        if took >= BLOCK_NS or _time.perf_counter_ns() - began >= 20 * BLOCK_NS:
            break
        n *= 2
    end = _time.monotonic() + WARM_UP_S
    while _time.monotonic() < end:
        _timed(block, n)
    loop = min(_timed(empty, n) for _ in range(5))
    samples = []
    end = _time.monotonic() + MEASURE_S
    while len(samples) < 7 or (_time.monotonic() < end and len(samples) < 200):
        samples.append((_timed(block, n) - loop) / n * 1e-9)
    low, median, high = _statistics.quantiles(samples, n=4, method="inclusive")
    unit, scale = next(u for u in UNITS if abs(median) * u[1] >= 1 or u is UNITS[-1])
    print(
        f"median {median * scale:.4g} {unit} per call, quartiles {low * scale:.4g} to "
        f"{high * scale:.4g} {unit}, {len(samples)} blocks of {n} calls"
    )
    print(f"median_seconds {median:.6e}")


if __name__ == "__main__":
    _main()
'''


def script(case: Case) -> str:
    """Python source that measures the case alone and prints the median time of one call."""
    return "".join(pieces(case))


def pieces(case: Case) -> tuple[str, ...]:
    """The script in parts, one after the other. Cases of one kind share most of theirs."""
    if case.language == "cpp":
        return (script_cpp.script(case, header(case), environment(case)),)
    if case.language != "python":
        raise ValueError(f"{case.id} is written in {case.language}, not Python")
    future, globals_ = without_future(case.globals)
    level = f"\n# module level\n{globals_.strip()}\n" if globals_.strip() else ""
    start = (
        f"{future}\nimport gc as _gc\nimport itertools as _itertools\n"
        "import statistics as _statistics\nimport time as _time\n"
        f"{environment(case)}{user_module(case)}{level}\nSEED = {case.seed}\n"
        "BLOCK_NS, WARM_UP_S, MEASURE_S = 5_000_000, 0.3, 2.0\n"
        'UNITS = (("s", 1.0), ("ms", 1e3), ("µs", 1e6), ("ns", 1e9))\n'
    )
    before, after = _around(case.timing_mode, case.before, case.stmt, case.minus, case.sync)
    setup = indented(case.setup.strip("\n"), "    ") + "\n" if case.setup.strip() else ""
    return header(case), start, before, setup, after, _end(case.timing_mode)


@lru_cache(maxsize=4096)
def _around(timing: str, before: str, stmt: str, minus: str, sync: str) -> tuple[str, str]:
    """The measured function, up to where its set-up stands and from there on."""
    loop = _LOOPS[timing]
    if timing == "prebuilt":
        loop = loop.replace("{names}", f"({', '.join(sorted(assigned(ast.parse(before).body)))},)")
    parts = {"before": before, "stmt": stmt, "minus": minus, "sync": sync}
    # An untimed call first brings caches and branch predictors back.
    first = fill("{before}\n{stmt}\n{minus}", parts)
    doc = f"Block by block: {_ABOUT[timing]}."
    ends = {"name": "_session", "doc": doc, "first": first, "loop": fill(loop, parts)}
    top, bottom = _SESSION.split("    {setup}\n")
    return fill(top, ends), fill(bottom, ends)


@lru_cache(maxsize=8)
def _end(timing: str) -> str:
    # What the loop and its clock cost. In a difference they cancel out by themselves.
    shape = "each" if timing == "each" else "repeatable"
    nothing = {"before": "", "stmt": "pass", "sync": ""}
    cancelled = "_elapsed = 0" if timing == "difference" else fill(_LOOPS[shape], nothing)
    doc = "The same loop around nothing: its cost is subtracted."
    empty = {"name": "_empty", "doc": doc, "setup": "", "first": "", "loop": cancelled}
    return fill(_SESSION, empty) + _MAIN


def header(case: Case) -> str:
    packages = dict.fromkeys(module.split(".")[0] for module in case.preload)
    needs = " and ".join(filter(None, ("the standard library", ", ".join(packages))))
    own = case.module and f"{needs}, and your module {case.module.module}: send that along."
    lines = [
        case.id,
        f"case {case.hash}: {case.framework} ({case.runtime}), {case.device}, "
        f"threads {case.threads}, seed {case.seed}",
        f"Written by `opbench show --script`; needs {own or f'{needs} only.'}",
    ]
    if case.unsupported:
        lines.append(f"opbench does not run this case: {case.unsupported}")
    return "".join(f"# {printable(line)}\n" for line in lines)


def environment(case: Case) -> str:
    """Thread settings that a framework reads when it is imported."""
    try:
        variables = frameworks.get(case.framework).thread_env(case.threads)
    except UserError:
        variables = {}
    if not variables:
        return ""
    settings = "".join(f'os.environ["{k}"] = "{v}"\n' for k, v in variables.items())
    return f"\n# read once, when {case.framework} is imported\nimport os\n\n{settings}"


def user_module(case: Case) -> str:
    if case.module is None:
        return ""
    return (
        "\n# Your own module: change this path if the project has moved. The stand-in keeps\n"
        "# `import opbench` in it harmless: the decorator gives back what it decorates.\n"
        "import sys\nfrom unittest.mock import MagicMock\n\n"
        f"sys.path.insert(0, {case.module.root!r})\n"
        'sys.modules["opbench"] = MagicMock()\n'
        'sys.modules["opbench"].bench = lambda target=None, **_: target or (lambda found: found)\n'
    )


def without_future(source: str) -> tuple[str, str]:
    """`from __future__` lines, which must come first in a file, and the rest."""
    if "__future__" not in source:
        return "", source
    lines = source.splitlines(keepends=True)
    future = ""
    for node in ast.parse(source).body:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            for number in range(node.lineno - 1, node.end_lineno or node.lineno):
                future += lines[number].rstrip("\n") + "\n"
                lines[number] = ""
    return future, "".join(lines)


def fill(template: str, parts: dict[str, str]) -> str:
    """The template with source in its places, indented as the place is; empty places vanish."""
    done = []
    for line in template.split("\n"):
        place = line.strip()
        if place.startswith("{") and place.endswith("}") and place[1:-1] in parts:
            source = parts[place[1:-1]]
            if source.strip():
                done.append(indented(source.strip("\n"), line[: line.index("{")]))
            continue
        for name, source in parts.items():
            line = line.replace(f"{{{name}}}", source)
        done.append(line)
    return "\n".join(done)


#: Without one of these no string spans lines, and source need not be parsed to be indented.
SPANNING = ('"""', "'''", "\\\n")


def indented(source: str, prefix: str) -> str:
    """Indent code, but not the inside of strings that span lines: that would change them."""
    inside: set[int] = set()
    if not any(sign in source for sign in SPANNING):
        return textwrap.indent(source, prefix)
    try:
        tree = ast.parse(textwrap.dedent(source))
    except SyntaxError:  # a fragment such as a loop already filled with `yield`
        tree = ast.Module(body=[], type_ignores=[])
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr) or (
            isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes))
        ):
            inside.update(range(node.lineno + 1, (node.end_lineno or node.lineno) + 1))
    lines = source.split("\n")
    return "\n".join(
        prefix + line if line.strip() and number not in inside else line
        for number, line in enumerate(lines, 1)
    )
