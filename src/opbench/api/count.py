"""Count the instructions of one statement: `ob.count("torch.add(x, y)", "x = y = torch.ones(4)")`.

For a question that comes up while one is working; nothing is stored. What is measured again and
again belongs in a file.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import dedent, indent

from opbench.analyse.function_counts import InstructionStats
from opbench.analyse.functions import stats_of
from opbench.case import Case, CppBuild
from opbench.define.definition import Definition
from opbench.define.expand import expand
from opbench.define.program import Program
from opbench.define.reading import check_python
from opbench.envs.environments import find
from opbench.errors import UserError, unknown
from opbench.plan.groups import PlannedGroup
from opbench.plan.options import RunOptions, asked
from opbench.plan.request import Request
from opbench.result import Result
from opbench.running.listener import Listener
from opbench.running.recording import Finished
from opbench.running.runner import Runner

LANGUAGES = {"python": "python", "py": "python", "cpp": "cpp", "c++": "cpp"}
#: A statement that mentions it runs with torch imported, as in torch's Timer.
TORCH = re.compile(r"\b(torch|at|c10)\b")
#: Copies of a statement at module level that one call executes: the call itself is then a
#: thousandth of it.
UNROLLED = 100


class NotCounted(UserError):
    """The statement failed, or cannot be counted here."""

    def __init__(self, case: Case, result: Result) -> None:
        super().__init__(f"the statement was not counted: {result.outcome_text}")
        #: That of a run whose only result it is.
        self.exit_code = Finished("", [(case, result)]).exit_code


@dataclass(frozen=True)
class Counted:
    """What one call executes; `stats` has the functions."""

    case: Case
    #: By metric: instructions, instructions_raw, allocations.
    results: dict[str, Result]

    @property
    def stats(self) -> InstructionStats:
        return stats_of(self.results["instructions"], self.case)

    def per_call(self, metric: str = "instructions") -> float:
        return self.results[metric].estimate or 0.0

    def __repr__(self) -> str:
        raw, allocations = self.per_call("instructions_raw"), self.per_call("allocations")
        least = "at least " if self.results["allocations"].warnings else ""
        return (
            f"{self.per_call():,.1f} instructions per call "
            f"({raw:,.1f} with allocators and hash tables, {least}{allocations:,.1f} allocations)"
        )


def count(
    stmt: str,
    setup: str = "",
    *,
    global_setup: str = "",
    language: str = "python",
    globals: bool = False,
    env: str = "current",
    number: int | None = None,
    repeats: int | None = None,
    timeout: float | str = 60.0,
    extra_include_paths: Sequence[str] = (),
    extra_cflags: Sequence[str] = (),
    extra_ldflags: Sequence[str] = (),
    pool: bool = True,
    listener: Listener | None = None,
) -> Counted:
    """Instructions of one call of `stmt` after `setup`, counted by Callgrind.

    Names of Python are variables of a function; with `globals` they are looked up as those of a
    module, as in the script of torch's `Timer.collect_callgrind`. A statement in C++ is compiled
    with the `extra_…` options of torch's cpp_extension. The worker is kept for the next call, by
    default (docs/workers.md). A statement that fails, or cannot be counted here, is `NotCounted`.
    """
    if language.lower() not in LANGUAGES:
        raise UserError(unknown("language", language, LANGUAGES))
    extras = map(tuple, (extra_include_paths, extra_cflags, extra_ldflags))
    build = CppBuild(str(Path.cwd()), *extras)
    case = case_of(stmt, setup, global_setup, LANGUAGES[language.lower()], globals, build)
    given = {"number": number, "repeats": repeats, "timeout": timeout}
    options = RunOptions(**asked({key: value for key, value in given.items() if value}))
    request = Request(
        groups=(PlannedGroup((case,)),),
        policy=options.policy,
        metrics=("instructions",),
        environments=(find(env),),
        number=options.number,
        repeats=options.repeats,
        jobs=1,
        pool=pool,
    )
    runner = Runner(request, lambda _case, _result, _replacing: None, listener)
    found = {result.metric: result for _case, result in runner.run()}
    counted = found["instructions"]
    if not counted.ok:
        raise NotCounted(case, counted)
    if globals:
        found = {metric: per_statement(result) for metric, result in found.items()}
        case = replace(case, stmt=stmt, setup=setup)
    return Counted(case, found)


def at_module_level(stmt: str, setup: str) -> tuple[str, str]:
    """Statement and setup of a case that executes them as a module, `UNROLLED` times per call."""
    body = "\n".join([stmt] * UNROLLED)
    return "exec(body, module)", (
        "module = dict(globals(), __name__='__main__')\n"
        f"exec(compile({setup!r}, 'setup', 'exec'), module)\n"
        f"body = compile({body!r}, 'statement', 'exec')"
    )


def check(source: str, what: str, globals: bool) -> None:
    """Raise for what is no Python: as a module, or as the body of a function."""
    try:
        compile(source, what, "exec")
    except SyntaxError as error:
        raise UserError(f"{what} line {error.lineno}: not valid Python: {error.msg}") from None
    try:
        compile("def f():\n pass\n" + indent(source, " "), what, "exec")
    except SyntaxError as error:
        if not globals:
            raise UserError(
                f"{what} line {(error.lineno or 3) - 2}: {error.msg}: it becomes part of a "
                "function; with --globals (globals=True) it is executed as a module, as by torch's "
                "Timer"
            ) from None


def per_statement(result: Result) -> Result:
    """Of one of the statements that a call executed."""

    def share(value: float | None) -> float | None:
        return None if value is None else value / UNROLLED

    detail = dict(result.detail)
    if "calls" in detail:
        detail["calls"] *= UNROLLED
    return replace(
        result,
        estimate=share(result.estimate),
        low=share(result.low),
        high=share(result.high),
        samples=tuple(replace(s, value=s.value / UNROLLED) for s in result.samples),
        detail=detail,
    )


def case_of(
    stmt: str,
    setup: str,
    global_setup: str,
    language: str,
    globals: bool = False,
    build: CppBuild | None = None,
) -> Case:
    """`build`: how C++ is compiled, with the headers of the current folder unless it says more."""
    here = CppBuild(str(Path.cwd()))
    torch = TORCH.search("\n".join((stmt, setup, global_setup))) is not None
    framework = "torch" if torch else "python"
    if language == "cpp":
        if globals:
            raise UserError("--globals is about names of Python; a C++ statement has none")
        return Case(
            "count", "statement", "call", stmt, setup, global_setup, language="cpp",
            framework=framework, preload=("torch",) if torch else (),
            cpp_build=build or here,
        )  # fmt: skip
    if global_setup:
        raise UserError("global_setup belongs to C++; in Python everything is setup")
    if build not in (None, here):
        raise UserError("folders of headers and flags belong to C++: give --language cpp too")
    stmt, setup = dedent(stmt), dedent(setup)
    check(stmt, "the statement", globals)
    check_python(stmt, "the statement")
    check(setup, "setup", globals)
    preload = imported(setup)
    if globals:
        stmt, setup = at_module_level(stmt, setup)
    program = Program(stmt, setup=setup, preload=preload)
    definition = Definition(
        "count", "statement", program=lambda _point, _context: program,
        framework=framework, stages=("call",),
    )  # fmt: skip
    return next(iter(expand([definition])))


def imported(setup: str) -> tuple[str, ...]:
    """NumPy, where the setup imports it: a worker that has it already need not import it again."""
    try:
        nodes = list(ast.walk(ast.parse(setup)))
    except SyntaxError:
        return ()
    names = {a.name.split(".")[0] for n in nodes if isinstance(n, ast.Import) for a in n.names}
    return ("numpy",) if "numpy" in names else ()
