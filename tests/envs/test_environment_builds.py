"""Environments are whole or not there: after failures, interrupts, kills, and two builders at once.

Most tests replace the installer by one that makes a folder; the last ones run the real one.
"""

from __future__ import annotations

import importlib.metadata
import os
import signal
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from opbench.envs import builds, environments, installer
from opbench.envs.requirements import Requirement
from opbench.errors import UserError

Installer = Callable[..., tuple[str, ...]]
BASE = installer.Interpreter(sys.executable, (3, 10, 13))


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OPBENCH_HOME", str(tmp_path / "home"))
    return tmp_path / "home" / "envs"


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """An installer that takes no time; the list tells what it was asked to install."""
    asked: list[str] = []

    def build(
        folder: Path,
        base: installer.Interpreter,
        wanted: Iterable[Requirement],
        on_line: Callable[[str], None],
    ) -> tuple[str, ...]:
        asked.append(" ".join(map(str, wanted)))
        (folder / "bin").mkdir()
        (folder / "bin" / "python").symlink_to(base.path)
        (folder / "bin" / "tool").write_text(f"#!{folder}/bin/python\n")
        on_line("installing")
        return tuple(map(str, wanted))

    monkeypatch.setattr(installer, "build", build)
    return asked


def unfinished(home: Path) -> list[str]:
    return [path.name for path in home.glob(f".*{builds.UNFINISHED}")]


def test_built_once_found_by_name_and_gone_when_removed(built: list[str], home: Path) -> None:
    lines: list[str] = []
    made = builds.create("np", ["numpy==2.2.6"], on_line=lines.append)
    assert builds.create("np", ["numpy == 2.2.6"]) == made == builds.load("np")
    assert (built, lines) == (["numpy==2.2.6"], ["installing"])
    assert made.packages == ("numpy==2.2.6",)
    # A script of the environment names the interpreter where it is, not where it was built.
    assert (home / "np" / "bin" / "tool").read_text() == f"#!{home}/np/bin/python\n"
    found = environments.find("np")
    assert (found.python, found.installed) == (made.python, ("numpy==2.2.6",))
    builds.remove("np")
    assert builds.built() == []
    assert unfinished(home) == []


def test_a_name_means_one_set_of_requirements(built: list[str]) -> None:
    builds.create("np", ["numpy==2.2.6"])
    with pytest.raises(UserError, match=r"exists with numpy==2\.2\.6.*opbench env remove np"):
        builds.create("np", ["numpy==2.3.5"])
    assert len(built) == 1


def test_an_edited_requirements_file_is_noticed(built: list[str], tmp_path: Path) -> None:
    file = tmp_path / "some.txt"
    file.write_text("numpy\n")
    builds.create("np", [f"-r {file}"])
    file.write_text("numpy<2\n")
    with pytest.raises(UserError, match="earlier version"):
        builds.create("np", [f"-r {file}"])


@pytest.mark.parametrize("name", ["current", "", "a/b", "../up", ".hidden", "a b", "x" * 65, "-r"])
def test_names_that_would_be_misread_are_refused(name: str, built: list[str]) -> None:
    with pytest.raises(UserError, match="cannot be called"):
        builds.create(name, ["numpy"])
    assert builds.load(name) is None


def test_a_predefined_name_keeps_its_meaning(built: list[str]) -> None:
    with pytest.raises(UserError, match=r"predefined \(mxnet==1\.9\.1"):
        builds.create("mxnet", ["numpy"])
    assert "mxnet" in environments.names()


def test_mxnet_is_built_on_first_use_with_a_python_it_works_on(
    built: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    old = installer.Interpreter(sys.executable, (3, 10, 13))

    def known(python: str) -> installer.Interpreter:
        if python == "python3.10":
            return old
        raise UserError("not here")

    monkeypatch.setattr(installer, "interpreter", known)
    monkeypatch.setattr(installer, "check_import", lambda folder, module: None)
    lines: list[str] = []
    assert environments.find("mxnet", lines.append).name == "mxnet"
    made = builds.load("mxnet")
    assert made is not None
    assert made.python_version == "3.10.13"
    assert made.notes == (), "it works as it was installed"
    openblas = 'scipy-openblas32==0.3.34.237.2; platform_machine == "aarch64"'
    assert built == [f"mxnet==1.9.1 numpy==1.23.5 {openblas}"]
    assert lines


@pytest.mark.parametrize("repaired", [True, False])
def test_a_missing_library_is_stood_in_for_and_the_environment_says_so(
    built: list[str], home: Path, monkeypatch: pytest.MonkeyPatch, repaired: bool
) -> None:
    missing = installer.InstallError("OSError: libarmpl_lp64_mp.so: cannot open shared object file")
    stood_in: list[Path] = []

    def check_import(folder: Path, module: str) -> None:
        if not (stood_in and repaired):
            raise missing

    def repair(folder: Path) -> str:
        stood_in.append(folder)
        return "another library"

    monkeypatch.setattr(installer, "interpreter", lambda _python: BASE)
    monkeypatch.setattr(installer, "check_import", check_import)
    monkeypatch.setattr(installer, "site_packages", lambda folder: folder / "site")
    predefined = replace(builds.PREDEFINED["mxnet"], repair=repair)
    monkeypatch.setitem(builds.PREDEFINED, "mxnet", predefined)
    if repaired:
        assert builds.create_predefined("mxnet").notes == ("another library",)
        made = builds.load("mxnet")
        assert made is not None
        assert made.notes == ("another library",)
    else:
        with pytest.raises(UserError, match="'mxnet' was not built: OSError: libarmpl"):
            builds.create_predefined("mxnet")
        assert builds.load("mxnet") is None
    assert [folder.name for folder in stood_in] == ["site"]
    assert unfinished(home) == []


def test_without_such_a_python_mxnet_is_refused_with_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def none(python: str) -> installer.Interpreter:
        raise UserError("not here")

    monkeypatch.setattr(installer, "interpreter", none)
    with pytest.raises(UserError, match=r"python3\.11, python3\.10 or python3\.9.*install one"):
        environments.find("mxnet")


@pytest.mark.parametrize(
    "error",
    [installer.InstallError("no such thing"), OSError(28, "disk full"), KeyboardInterrupt()],
)
def test_a_build_that_ends_early_leaves_nothing(
    error: BaseException, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def build(folder: Path, *_rest: object) -> None:
        (folder / "half").touch()
        raise error

    monkeypatch.setattr(installer, "build", build)
    with pytest.raises((UserError, KeyboardInterrupt)) as ended:
        builds.create("np", ["numpy"])
    if not isinstance(error, KeyboardInterrupt):
        assert str(ended.value).startswith("environment 'np' was not built: ")
    assert [path.name for path in home.iterdir()] == [".locks"]


def test_an_environment_whose_interpreter_is_gone_says_so_and_can_be_made_anew(
    built: list[str], home: Path
) -> None:
    builds.create("np", ["numpy"])
    (home / "np" / "bin" / "python").unlink()
    with pytest.raises(UserError, match="opbench env remove np"):
        environments.find("np")
    builds.create("np", ["numpy"])
    assert len(built) == 2
    assert environments.find("np").name == "np"


def test_a_damaged_record_is_no_environment(built: list[str], home: Path) -> None:
    builds.create("np", ["numpy"])
    for damaged in ("", "[]", '{"requirements": 1}', "{}"):
        (home / "np" / builds.RECORD).write_text(damaged)
        assert builds.load("np") is None
    builds.remove("np")


def test_an_unknown_environment_is_answered_with_near_names_and_what_to_do(
    built: list[str],
) -> None:
    builds.create("torch-2.12", ["numpy"])
    with pytest.raises(UserError, match=r"did you mean torch-2\.12\?.*opbench env create torch2"):
        environments.find("torch2.12")
    with pytest.raises(UserError, match=r"unknown built environment 'zz'; choose from: torch"):
        builds.remove("zz")


@pytest.mark.parametrize(
    ("python", "said"),
    [("no-such-python", "interpreter not found"), ("true", "cannot create virtual environments")],
)
def test_an_interpreter_that_is_none_is_refused(
    python: str, said: str, built: list[str], home: Path
) -> None:
    with pytest.raises(UserError, match=said):
        builds.create("np", ["numpy"], python=python)
    assert not home.exists()


# -- the real installer ----------------------------------------------------------------------

CREATE = "import sys; from opbench.envs import builds as b; b.create({})"


def wheel(folder: Path) -> Path:
    """A package of one line, ready to install without an index."""
    path = folder / "tiny-1.0-py3-none-any.whl"
    meta = "tiny-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("tiny.py", "VALUE = 1\n")
        archive.writestr(f"{meta}/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
        archive.writestr(
            f"{meta}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{meta}/RECORD", "")
    return path


def start(arguments: str) -> subprocess.Popen[str]:
    command = [
        sys.executable,
        "-c",
        CREATE.format(f"{arguments}, on_line=lambda t: print(t, flush=True)"),
    ]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def test_a_killed_build_is_cleaned_up_and_two_builders_share_one_build(
    home: Path,
    tmp_path: Path,
    marked: Callable[[], list[int]],
    eventually: Callable[..., bool],
) -> None:
    arguments = f"'tiny', [{str(wheel(tmp_path))!r}]"
    killed = start(arguments)
    assert killed.stdout is not None
    killed.stdout.readline()
    assert eventually(lambda: list(home.glob(f".*{builds.UNFINISHED}/pyvenv.cfg")))
    os.kill(killed.pid, signal.SIGKILL)
    killed.communicate()
    assert eventually(lambda: not marked()), "the installer outlived the one who started it"
    assert unfinished(home) == []
    assert builds.load("tiny") is None
    # Where nobody could clean up: the machine lost its power.
    (home / f".tiny.abc{builds.UNFINISHED}").mkdir()

    outputs = [one.communicate()[0] for one in (start(arguments), start(arguments))]
    assert sum("installing" in output for output in outputs) == 1, outputs
    assert unfinished(home) == []
    made = builds.load("tiny")
    assert made is not None
    assert made.packages[0].startswith("tiny @ file://")
    asked = [made.python, "-c", "import tiny; print(tiny.VALUE)"]
    assert subprocess.run(asked, capture_output=True, text=True).stdout == "1\n"


@pytest.mark.parametrize(
    ("version", "expected"), [("22.2.2", False), ("22.3", True), ("24.1b1", True), (None, False)]
)
def test_the_pip_of_opbench_installs_where_it_can(
    monkeypatch: pytest.MonkeyPatch, version: str | None, expected: bool
) -> None:
    def installed(_name: str) -> str:
        if version is None:
            raise importlib.metadata.PackageNotFoundError
        return version

    monkeypatch.setattr(importlib.metadata, "version", installed)
    commands: list[list[str]] = []
    monkeypatch.setattr(installer, "_run", lambda command, _line: commands.append(command))
    installer.build(Path("env"), BASE, (), lambda _line: None)
    made, *pips = commands
    assert ("--without-pip" in made) == expected
    own = os.path.join("env", "bin", "python")
    for pip in pips:
        assert pip[0] == (sys.executable if expected else own)
        assert (pip[4:6] == ["--python", own]) == expected


def test_what_pip_leaves_behind_goes_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    code = "import os, tempfile; print(tempfile.mkdtemp(), flush=True); os._exit(0)"
    lines: list[str] = []
    installer._run([sys.executable, "-c", code], lines.append)
    assert Path(lines[0]).is_relative_to(tmp_path)
    assert [*tmp_path.iterdir()] == []


def test_the_installers_reason_is_told_and_nothing_stays(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")  # which may be slow, or away
    with pytest.raises(UserError, match=r"No matching distribution found for numpy==0\.0\.0\.0\.1"):
        builds.create("bad", ["numpy==0.0.0.0.1"])
    assert [path.name for path in home.iterdir()] == [".locks"]
