"""What may be asked of an installer, and what is refused before it is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from opbench.envs.installer import MAX_LENGTH, reason
from opbench.envs.requirements import applying, parse, pinned
from opbench.errors import UserError


def texts(*given: str) -> list[str]:
    return [str(requirement) for requirement in parse(given)]


def test_spelling_and_order_make_no_other_requirements() -> None:
    assert parse(["scipy>=1", "numpy == 2.2.6"]) == parse(["numpy==2.2.6", "scipy >= 1"])
    assert texts("numpy", "numpy ") == ["numpy"]
    assert texts('numpy<2; python_version < "4"') == ['numpy<2; python_version < "4"']


def test_a_project_is_meant_by_its_path_wherever_one_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pyproject.toml").touch()
    monkeypatch.chdir(tmp_path)
    assert texts(".") == texts(str(tmp_path)) == [str(tmp_path)]
    assert texts(".[fast]") == [f"{tmp_path}[fast]"]


def test_an_edited_requirements_file_is_another_requirement(tmp_path: Path) -> None:
    file = tmp_path / "some.txt"
    file.write_text("numpy==2.2.6\n")
    before = parse(["-r", str(file)])
    assert before == parse([f"-r {file}"])
    assert before[0].arguments == ["-r", str(file)]
    file.write_text("numpy==2.3.5\n")
    assert parse([f"-r {file}"]) != before


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("--index-url=https://example.org", "belong in pip's own configuration"),
        ("-e .", "is not a valid requirement"),
        ("numpy; rm -rf ~", "is not a valid requirement"),
        ("$(touch x)", "is not a valid requirement"),
        ("git+https://example.org/x.git", "write NAME @ git+https"),
        ("./nowhere", "project not found: ./nowhere"),
        ("/", "is not a project"),
        ("-r nowhere.txt", "requirements file not found: nowhere.txt"),
        ("-r", "-r needs a file"),
        ("", "is not a valid requirement"),
    ],
)
def test_what_cannot_be_installed_is_refused_in_one_line(given: str, said: str) -> None:
    with pytest.raises(UserError, match=r"\A[^\n]+\Z") as refused:
        parse([given])
    assert said in str(refused.value)


def test_a_marker_is_not_shown_and_what_it_leaves_out_neither() -> None:
    asked = ["numpy==1.23.5; python_version > '3'", "openblas==1; platform_machine == 'vax'"]
    assert applying(asked) == ["numpy==1.23.5"]
    packages = ["numpy==1.23.5", "scipy_openblas32==0.3", "six==1"]
    assert pinned(parse(asked), packages) == ["numpy==1.23.5"]


def test_what_is_installed_is_shown_with_its_version(tmp_path: Path) -> None:
    (tmp_path / "setup.py").touch()
    asked = parse(["numpy<3", "Scipy-OpenBLAS32", str(tmp_path)])
    packages = ["mine==1", "numpy==2.2.6", "scipy_openblas32==0.3"]
    assert pinned(asked, packages) == [str(tmp_path), "scipy_openblas32==0.3", "numpy==2.2.6"]


def test_nothing_is_no_environment() -> None:
    with pytest.raises(UserError, match="needs something to install"):
        parse([])


def test_the_reason_of_a_failure_is_the_installers_own() -> None:
    versions = ", ".join(f"1.{n}" for n in range(300))
    said = [
        "Looking in indexes: https://pypi.org/simple",
        "ERROR: Ignored the following versions that require a different python version: 9.9",
        f"ERROR: Could not find a version that satisfies x==9 (from versions: {versions})",
        "ERROR: No matching distribution found for x==9",
    ]
    assert reason(said) == (
        "Could not find a version that satisfies x==9 "
        "(from versions: …, 1.296, 1.297, 1.298, 1.299); No matching distribution found for x==9"
    )
    assert reason(["Traceback (…)", "OSError: disk full", ""]) == "OSError: disk full"
    assert reason([]) == ""
    assert len(reason(["ERROR: " + "x" * 9999])) == MAX_LENGTH
