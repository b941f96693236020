"""What driver and nodes send each other, as plain JSON types: units one way, results the other.

Users' files are sent with their cases. A node that has the same file in the same place (a shared
disk) uses it; otherwise the Python files of the project are written to a folder of its own.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from opbench.case import Case, UserModule
from opbench.envs.environments import Environment, current, find
from opbench.errors import UserError
from opbench.fleet.work_units import WorkUnit
from opbench.plan.groups import PlannedGroup
from opbench.plan.policy import Adaptive, Fixed, Policy
from opbench.result import Result, Warning
from opbench.store.payload import sample_columns, samples_from_columns

POLICIES = {"adaptive": Adaptive, "fixed": Fixed}

#: A project larger than this belongs on a shared disk.
MAX_FILES = 2000
MAX_BYTES = 20_000_000
#: Folders that hold other people's code.
FOREIGN = ("site-packages", "dist-packages", "node_modules", "__pycache__")


# -- what is measured ------------------------------------------------------------------------


def unit_to_dict(unit: WorkUnit) -> dict[str, Any]:
    return {
        "metrics": list(unit.metrics),
        "groups": [
            {
                "cases": [slot.case.to_dict() for slot in group.slots],
                "environments": [slot.environment.name for slot in group.slots],
                "base": group.base,
                "time_factor": group.time_factor,
            }
            for group in unit.groups
        ],
    }


def groups_from_dict(
    unit: Mapping[str, Any], environments: Mapping[str, Environment], roots: Mapping[str, str]
) -> tuple[PlannedGroup, ...]:
    """`roots` says where this node has the users' files of a folder of the sender."""
    return tuple(
        PlannedGroup(
            tuple(_moved(Case.from_dict(case), roots) for case in group["cases"]),
            tuple(environments[name] for name in group["environments"]),
            group["base"],
            group["time_factor"],
        )
        for group in unit["groups"]
    )


def _moved(case: Case, roots: Mapping[str, str]) -> Case:
    module = case.module
    if module is None or module.root not in roots:
        return case
    return replace(case, module=replace(module, root=roots[module.root]))


def policy_to_dict(policy: Policy) -> dict[str, Any]:
    kind = next(name for name, known in POLICIES.items() if type(policy) is known)
    return {"kind": kind, **{field.name: getattr(policy, field.name) for field in fields(policy)}}


def policy_from_dict(data: Mapping[str, Any]) -> Policy:
    values = dict(data)
    policy: Policy = POLICIES[values.pop("kind")](**values)
    return policy


# -- where it is measured --------------------------------------------------------------------


def environments_to_dicts(environments: Iterable[Environment]) -> list[dict[str, Any]]:
    by_name: dict[str, Environment] = {}
    for environment in environments:
        if by_name.setdefault(environment.name, environment) != environment:
            raise UserError(f"two environments are named '{environment.name}'")
    return [environment_to_dict(environment) for environment in by_name.values()]


def environment_to_dict(environment: Environment) -> dict[str, Any]:
    """What a node needs to build the same environment; UserError where it cannot."""
    if environment.commit or environment.path:
        raise UserError(
            f"environment '{environment.name}' is a folder of this machine, which the nodes of a "
            "fleet do not have; compare commits on one machine, with opbench ab"
        )
    for package in environment.installed:
        if "file:" in package:
            raise UserError(
                f"environment '{environment.name}' holds {package.partition(' ')[0]} from a "
                "folder of this machine, which nodes cannot install; publish it, or give a URL"
            )
    return {
        "name": environment.name,
        "installed": list(environment.installed),
        "broken": environment.broken,
    }


def environment_from_dict(data: Mapping[str, Any]) -> Environment:
    """The same environment on this node, built if need be."""
    from opbench.envs import builds

    name = data["name"]
    if data["broken"]:
        return Environment(name, "", broken=data["broken"])
    try:
        if name == "current":
            return current()
        if name in builds.PREDEFINED:
            return find(name)
        # Named by its content: this node may have another environment of the same name.
        digest = hashlib.sha256("\n".join(data["installed"]).encode()).hexdigest()[:8]
        build = builds.create(f"{name[:50]}-{digest}", data["installed"])
    except UserError as error:
        return Environment(name, "", broken=str(error))
    return Environment(name, build.python, installed=build.packages)


# -- users' files ----------------------------------------------------------------------------


def files_of(cases: Iterable[Case]) -> dict[str, dict[str, bytes]]:
    """The Python files of each folder that cases import from, by relative name."""
    found: dict[str, dict[str, bytes]] = {}
    for case in cases:
        if case.module is not None and case.module.root not in found:
            found[case.module.root] = _python_files(case.module)
    return found


def _python_files(module: UserModule) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    total = 0
    for folder, below, names in os.walk(module.root):
        below[:] = [
            name
            for name in below
            if not name.startswith(".")
            and name not in FOREIGN
            and not os.path.exists(os.path.join(folder, name, "pyvenv.cfg"))
        ]
        for name in names:
            path = os.path.join(folder, name)
            if not name.endswith(".py") or not os.path.isfile(path):
                continue
            content = Path(path).read_bytes()
            total += len(content)
            found[os.path.relpath(path, module.root)] = content
            if len(found) > MAX_FILES or total > MAX_BYTES:
                raise UserError(
                    f"{module.root} is too large to send to every node; put the project on a disk "
                    f"that all nodes share, or {module.module} into a folder of its own"
                )
    return found


def write_files(files: Mapping[str, Mapping[str, bytes]], folder: Path) -> dict[str, str]:
    """Write what this node lacks below `folder`, named by content, so that the next run finds it.
    Returns where each folder of the sender is here."""
    roots: dict[str, str] = {}
    for root, contents in files.items():
        if not all(_is_there(root, name, content) for name, content in contents.items()):
            roots[root] = str(_write_project(contents, folder))
    return roots


def _write_project(contents: Mapping[str, bytes], folder: Path) -> Path:
    digest = hashlib.sha256()
    for name, content in sorted(contents.items()):
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    place = folder / digest.hexdigest()[:20]
    if place.is_dir():
        return place
    folder.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=".", dir=folder))
    for name, content in contents.items():
        file = draft / name
        if not file.resolve().is_relative_to(draft.resolve()):
            continue  # a name that leads out of the folder
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    try:
        draft.rename(place)
    except OSError:  # another agent was faster
        shutil.rmtree(draft, ignore_errors=True)
    return place


def _is_there(root: str, name: str, content: bytes) -> bool:
    try:
        return Path(root, name).read_bytes() == content
    except OSError:
        return False


# -- results ---------------------------------------------------------------------------------


def result_to_dict(result: Result) -> dict[str, Any]:
    data = {field.name: getattr(result, field.name) for field in fields(result)}
    data["samples"] = sample_columns(result.samples) if result.samples else None
    data["warnings"] = [[warning.code, warning.text] for warning in result.warnings]
    return data


def result_from_dict(data: Mapping[str, Any]) -> Result:
    values = dict(data)
    values["samples"] = samples_from_columns(data["samples"]) if data["samples"] else ()
    values["warnings"] = tuple(Warning(code, text) for code, text in data["warnings"])
    return Result(**values)
