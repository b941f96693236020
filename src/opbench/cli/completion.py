"""`opbench completion SHELL`: what Tab offers: commands, options, suites, runs and case ids.

The parser knows its commands and options; the functions here give values. They run on every Tab:
nothing heavy is imported, a store is read through `sqlite3` alone, and what cannot be read is not
offered. The shells ask by the environment variable that typer listens to.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import typer

from opbench.errors import UserError, unknown

#: Set by a shell that asks.
ASKED = "_OPBENCH_COMPLETE"
#: More than this nobody reads.
MOST = 200
#: A store of any size is read within it, and somebody else's may be made to take for ever. Asked
#: after so many steps of SQLite's.
SECONDS, STEPS = 1.0, 10_000

#: Bash breaks words at = and : too, and replaces only what stands behind the last of them. Case ids
#: have brackets, so what is offered is quoted.
BASH = """\
_opbench_completion() {
    local IFS=$' \\t\\n' line="${COMP_LINE:0:COMP_POINT}" word found broken
    local words=( $line )
    local number=$(( ${#words[@]} - 1 )) current="${line##* }"
    [[ -z $current ]] && number=${#words[@]}
    broken="${current%"${current##*[=:]}"}"
    COMPREPLY=()
    while IFS= read -r found; do
        [[ -z $found ]] && continue
        printf -v word '%q' "$found"
        COMPREPLY+=( "${word#"$broken"}" )
    done < <(COMP_WORDS="$line" COMP_CWORD=$number _OPBENCH_COMPLETE=complete_bash \\
        "${words[0]}" 2>/dev/null)
}
complete -o default -o nosort -F _opbench_completion opbench
"""
ZSH = """\
#compdef opbench
_opbench() {
    local -a found
    found=("${(@f)$(COMP_WORDS="${words[1,CURRENT]}" COMP_CWORD=$((CURRENT - 1)) \\
        _OPBENCH_COMPLETE=complete_bash "${words[1]}" 2>/dev/null)}")
    if [[ -n "${found[1]}" ]]; then compadd -a found; else _files; fi
}
compdef _opbench opbench
"""
FISH = """\
function __opbench_complete
    COMP_WORDS=(commandline -cp) COMP_CWORD=(count (commandline -opc)) \\
        _OPBENCH_COMPLETE=complete_bash opbench 2>/dev/null
end
complete --command opbench --arguments '(__opbench_complete)'
"""
SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}


def completion(shell: str = typer.Argument(metavar="bash|zsh|fish", help="Your shell.")) -> None:
    """Print the script that makes Tab complete in your shell.

    It completes commands, options, suites, runs and case ids.

    bash: put `eval "$(opbench completion bash)"` into ~/.bashrc. zsh: the same with zsh, after
    compinit, into ~/.zshrc. fish: `opbench completion fish | source` into config.fish.
    """
    if shell not in SCRIPTS:
        raise UserError(unknown("shell", shell, SCRIPTS))
    typer.echo(SCRIPTS[shell], nl=False)


def answer_shells(command: Callable[..., Any]) -> None:
    """Lets the parser answer a shell that asks, which ends the process; typer does so by itself
    only for apps with its own options for installing."""
    if os.environ.get(ASKED):
        from typer.completion import completion_init

        completion_init()
        command(prog_name="opbench")


# ------------------------------------------------------------------------------------- values


def run_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Runs, newest first, by name and by id."""
    query = "SELECT name, id FROM runs ORDER BY created DESC LIMIT ?"
    rows = _stored(ctx, query, MOST)
    names = ["last", "last~1", *(str(each) for row in rows for each in row if each)]
    return [name for name in _offered(names) if name.startswith(incomplete)]


def case_ids(ctx: typer.Context, incomplete: str) -> list[str]:
    """Ids of stored cases."""
    query = "SELECT DISTINCT id FROM cases WHERE substr(id, 1, ?) = ? ORDER BY id LIMIT ?"
    return _offered(str(row[0]) for row in _stored(ctx, query, len(incomplete), incomplete, MOST))


def _offered(names: Iterable[str]) -> list[str]:
    """Each once, on a line of its own: one with a line break would be two."""
    return [name for name in dict.fromkeys(names) if name.isprintable()]


def suite_names(incomplete: str) -> list[str]:
    """Suites; where none is meant, the shell offers files."""
    from opbench.define.suites import named

    return [name for name in named() if name.startswith(incomplete)]


def export_formats(incomplete: str) -> list[str]:
    from opbench.report.export import formats

    return [name for name in formats() if name.startswith(incomplete)]


def _metrics() -> Iterable[str]:
    from opbench.plan.metrics import metrics

    return metrics()


def _stages() -> Iterable[str]:
    from opbench.case import STAGES

    return STAGES


#: Options of a run whose values are known, by name.
VALUES: dict[str, Callable[[], Iterable[str]]] = {"metrics": _metrics, "stages": _stages}


def values_of(option: str) -> Callable[..., list[str]] | None:
    """Completes an option that takes several names, with commas between them."""
    known = VALUES.get(option)
    if known is None:
        return None

    def complete(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        return [before + comma + name for name in known() if name.startswith(last)]

    return complete


def _stored(ctx: typer.Context, query: str, *values: Any) -> list[tuple[Any, ...]]:
    """Rows of a store in a file. A server is not asked: Tab must answer at once."""
    from opbench import project

    try:
        where = ctx.params.get("store") or project.store() or ".opbench/results.db"
        path = Path(str(where).removeprefix("sqlite:///")).expanduser().absolute()
        if "://" in str(where).removeprefix("sqlite:///") or not path.is_file():
            return []
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=0.5)) as store:
            until = time.monotonic() + SECONDS
            store.set_progress_handler(lambda: time.monotonic() > until, STEPS)
            return store.execute(query, values).fetchall()
    except (sqlite3.Error, UserError, OSError, RuntimeError, ValueError):
        return []
