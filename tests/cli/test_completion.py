"""What Tab offers, asked as a shell asks: bash itself, where its own rules matter."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

import page_store

SHIM = f"#!{sys.executable}\nfrom opbench.cli.main import main\nmain()\n"


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store, and the command in `bin`."""
    folder = tmp_path_factory.mktemp("shell")
    page_store.fill(folder / ".opbench" / "results.db", nights=1)
    (folder / "bin").mkdir()
    (folder / "bin" / "opbench").write_text(SHIM)
    (folder / "bin" / "opbench").chmod(0o755)
    return folder


def in_bash(folder: Path, line: str) -> list[str]:
    """What stands in COMPREPLY after Tab at the end of the line."""
    script = (
        'eval "$(opbench completion bash)"; COMP_LINE=$1 COMP_POINT=${#1}; '
        '_opbench_completion; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "-c", script, "bash", line],
        cwd=folder,
        env={**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


def test_commands_and_options(shell):
    assert in_bash(shell, "opbench exp") == ["export"]
    assert "--precision" in in_bash(shell, "opbench run --pre")


def test_runs_by_name_and_id(shell):
    offered = in_bash(shell, "opbench export ")
    assert offered[:3] == ["last", "last~1", "layers"]
    assert "20261116-120000-0001" in offered


def test_ids_are_quoted_and_completed_behind_their_equals_signs(shell):
    (first, *_) = in_bash(shell, "opbench show ops/add")
    assert first == r"ops/add\[n=1024\,framework=jax\]/forward"
    # Bash has taken `ops/add\[n` and `=` for words of their own, and replaces `64` only.
    assert in_bash(shell, r"opbench history ops/add\[n=64\,framework=to") == [r"torch\]/forward"]


def test_suites_metrics_and_formats(shell):
    assert "ops" in in_bash(shell, "opbench run o")
    assert in_bash(shell, "opbench run ops --metric time,mem") == ["time\\,memory"]
    assert in_bash(shell, "opbench export -f pytorch-h") == ["pytorch-hud"]


def test_another_store_is_asked(shell, tmp_path):
    assert in_bash(shell, f"opbench export --store {tmp_path}/none.db nigh") == [""]


def test_a_store_of_somebody_else_neither_hangs_the_shell_nor_breaks_its_lines(shell, tmp_path):
    path = tmp_path / "theirs.db"
    shutil.copy(shell / ".opbench" / "results.db", path)
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("UPDATE runs SET name = 'one' || char(10) || '--store=evil'")
        raw.execute("ALTER TABLE cases RENAME TO old")
        endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
        raw.execute(f"CREATE VIEW cases AS {endless} SELECT 'x' AS id, i FROM n")
        raw.commit()
    assert in_bash(shell, f"opbench show --store {path} x") == [""]
    offered = in_bash(shell, f"opbench export --store {path} ")
    assert "20261116-120000-0001" in offered
    assert "evil" not in "".join(offered)


@pytest.mark.parametrize("name", ["zsh", "fish"])
def test_scripts_of_other_shells_ask_the_same_way(command, name):
    printed = command("completion", name).stdout
    assert "_OPBENCH_COMPLETE=complete_bash" in printed
    assert "COMP_CWORD" in printed


def test_another_shell_is_refused(command):
    done = command("completion", "tcsh")
    assert (done.returncode, done.stderr) == (
        2,
        "opbench: unknown shell 'tcsh'; choose from: bash, zsh, fish\n",
    )


def test_nothing_heavy_is_imported(shell):
    """What a Tab costs is the import of the parser."""
    code = (
        "import sys\nfrom opbench.cli.main import main\ntry:\n    main()\nexcept SystemExit:\n"
        "    print([m for m in ('torch', 'numpy', 'sqlalchemy', 'pandas', 'scipy') "
        "if m in sys.modules])"
    )
    env = {"COMP_WORDS": "opbench show ops/ex", "COMP_CWORD": "2"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=shell,
        env={**os.environ, **env, "_OPBENCH_COMPLETE": "complete_bash"},
        capture_output=True,
        text=True,
        check=True,
    )
    *offered, heavy = done.stdout.splitlines()
    assert offered[0] == "ops/exp[n=1024,framework=jax]/forward"
    assert heavy == "[]"
