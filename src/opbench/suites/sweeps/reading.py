"""Sweeps from files: a TOML or JSON file that names its model, a Python file that has it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import ValidationError

from opbench.case import UserModule
from opbench.define.collecting import collected
from opbench.define.definition import Definition
from opbench.define.document import first_error, read
from opbench.define.suite import CollectedFile, TargetFile
from opbench.define.userfile import raise_error
from opbench.errors import UserError
from opbench.suites.sweeps.content import Sweep
from opbench.suites.sweeps.definition import Model, definition_of


def checked(data: Any, path: Path) -> Sweep:
    try:
        return Sweep.model_validate(data)
    except ValidationError as error:
        raise UserError(f"{path}: {first_error(error, Sweep, data)}") from None


def from_file(file: TargetFile) -> tuple[Definition, Sweep]:
    """The sweep of a TOML or JSON file. The model is looked up in a process of its own."""
    sweep = checked(read(file.path), file.path)
    model = find_model(str(sweep.model), file)
    return _defined(sweep, model, file.path), sweep


def from_module(collected: CollectedFile) -> Definition:
    """The sweep that the names of a Python file define."""
    file = collected.file
    sweep = checked(collected.content["sweep"], file.path)
    if isinstance(sweep.model, str):
        model = find_model(sweep.model, file)
    else:
        model = _model(sweep.model, collected.user, collected.modules, file.path)
    return _defined(sweep, model, file.path)


def _defined(sweep: Sweep, model: Model, path: Path) -> Definition:
    if model.takes is not None and not model.takes and sweep.model_init_params:
        raise UserError(
            f"{path}: model_init_params: {model.name} takes no arguments, "
            f"not {', '.join(sweep.model_init_params)}"
        )
    return definition_of(sweep, model, path)


def find_model(text: str, by: TargetFile) -> Model:
    """`models.py:Mini` in the folder of the file, `package.module:Mini`, or `torch.nn.Linear`."""
    path = by.path
    where, colon, name = text.rpartition(":")
    if not colon:
        where, _, name = text.rpartition(".")
    if not where or not name.isidentifier() or text.endswith(".py"):
        raise UserError(
            f"{path}: model: expected FILE.py:NAME or package.module:NAME, found '{text}'"
        )
    target = where
    file = _file_of(where, path.parent)
    if file is not None:
        target = str(file)
    elif where.endswith(".py"):
        raise UserError(f"{path}: model: no file {where} in its folder")
    elif not all(part.isidentifier() for part in where.split(".")):
        raise UserError(f"{path}: model: '{where}' is neither a file nor a module")
    content = collected(Path(target), by.python, env=by.env, model=name)
    raise_error(content, path if file is None else file)
    user = (
        UserModule(content["module"], content["root"], content["digest"])
        if content["module"]
        else None
    )
    return _model(content["model"], user, tuple(content["modules"]), path if file is None else file)


def _file_of(where: str, folder: Path) -> Path | None:
    """The file that is meant, if it is in the folder of the sweep."""
    if where.endswith(".py"):
        file = folder / where
    else:
        file = folder.joinpath(*where.split(".")).with_suffix(".py")
    return file if file.is_file() else None


def _model(
    model: dict[str, Any], user: UserModule | None, modules: tuple[str, ...], path: Path
) -> Model:
    if not model["kind"]:
        raise UserError(
            f"{path}: model must be an nn.Module class or a function that makes a module, not "
            f"{model['name']}; write model = MyModel, without calling it"
        )
    takes = model["takes"]
    known = None if takes is None or model.get("open") else tuple(takes)
    return Model(model["module"], model["name"], known, user, modules)
