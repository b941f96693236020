"""What travels between driver and nodes, as plain JSON types: parcels there, results back.

Users' files travel with their cases. A node that has the same file in the same place (a shared
disk) uses that; otherwise the Python files of the project are laid out in a temporary folder.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from opbench.case import Case, UserModule
from opbench.envs.environments import Environment, current, find
from opbench.errors import UserError
from opbench.fleet.parcels import Parcel
from opbench.plan.groups import PlannedGroup
from opbench.plan.policy import Adaptive, Fixed, Policy
from opbench.result import Result, Warning
from opbench.store.payload import sample_columns, samples_from_columns

POLICIES = {"adaptive": Adaptive, "fixed": Fixed}

#: A project larger than this belongs on a shared disk.
MOST_FILES = 2000
MOST_BYTES = 20_000_000
#: Folders that hold other people's code.
FOREIGN = ("site-packages", "dist-packages", "node_modules", "__pycache__")


# -- what is measured ------------------------------------------------------------------------


def parcel_to_dict(parcel: Parcel) -> dict[str, Any]:
    return {
        "metrics": list(parcel.metrics),
        "groups": [
            {
                "cases": [slot.case.to_dict() for slot in group.slots],
                "environments": [slot.environment.name for slot in group.slots],
                "base": group.base,
                "time_factor": group.time_factor,
            }
            for group in parcel.groups
        ],
    }


def groups_from_dict(
    told: Mapping[str, Any], environments: Mapping[str, Environment], roots: Mapping[str, str]
) -> tuple[PlannedGroup, ...]:
    """`roots` says where the users' files of a folder lie on this node."""
    return tuple(
        PlannedGroup(
            tuple(_moved(Case.from_dict(case), roots) for case in group["cases"]),
            tuple(environments[name] for name in group["environments"]),
            group["base"],
            group["time_factor"],
        )
        for group in told["groups"]
    )


def _moved(case: Case, roots: Mapping[str, str]) -> Case:
    module = case.module
    if module is None or module.root not in roots:
        return case
    return replace(case, module=replace(module, root=roots[module.root]))


def policy_to_dict(policy: Policy) -> dict[str, Any]:
    kind = next(name for name, known in POLICIES.items() if type(policy) is known)
    return {"kind": kind, **{one.name: getattr(policy, one.name) for one in fields(policy)}}


def policy_from_dict(told: Mapping[str, Any]) -> Policy:
    values = {key: value for key, value in told.items() if key != "kind"}
    found: Policy = POLICIES[told["kind"]](**values)
    return found


# -- where it is measured --------------------------------------------------------------------


def environment_to_dict(environment: Environment) -> dict[str, Any]:
    """What a node needs to make the same environment; refused where it cannot."""
    if environment.commit or environment.path:
        raise UserError(
            f"environment '{environment.name}' is a folder of this machine, which nodes of a "
            "fleet do not have; measure commits on one machine, with opbench ab"
        )
    for package in environment.installed:
        if "file:" in package:
            raise UserError(
                f"environment '{environment.name}' holds {package.partition(' ')[0]} from a "
                "folder of this machine; nodes cannot install that: publish it, or name a URL"
            )
    return {
        "name": environment.name,
        "installed": list(environment.installed),
        "broken": getattr(environment, "broken", ""),
    }


def environment_from_dict(told: Mapping[str, Any]) -> Environment:
    """The same environment on this node, built when it is not there yet."""
    from opbench.envs import builds

    name = told["name"]
    if told.get("broken"):
        return Environment(name, "", broken=told["broken"])
    try:
        if name == "current":
            return current()
        if name in builds.PREDEFINED:
            return find(name)
        # Under a name of its content: this node may have another environment called the same.
        mark = hashlib.sha256("\n".join(told["installed"]).encode()).hexdigest()[:8]
        build = builds.create(f"{name[:50]}-{mark}", told["installed"])
    except UserError as error:
        return Environment(name, "", broken=str(error))
    return Environment(name, build.python, installed=build.packages)


# -- users' files ----------------------------------------------------------------------------


def files_of(cases: Iterable[Case]) -> dict[str, dict[str, bytes]]:
    """For each folder that cases import from: its Python files, by relative name."""
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
            if len(found) > MOST_FILES or total > MOST_BYTES:
                raise UserError(
                    f"{module.root} is too large to send to every node; put the project on a disk "
                    f"that all nodes share, or {module.module} into a folder of its own"
                )
    return found


def lay_out(files: Mapping[str, Mapping[str, bytes]], folder: Path) -> dict[str, str]:
    """Write what this node lacks below `folder`, under names of their content: it is there for the
    next run as well. The answer says where each sender's folder now lies."""
    roots: dict[str, str] = {}
    for root, contents in files.items():
        if not all(_is_there(root, name, content) for name, content in contents.items()):
            roots[root] = str(_laid_out(contents, folder))
    return roots


def _laid_out(contents: Mapping[str, bytes], folder: Path) -> Path:
    mark = hashlib.sha256()
    for name, content in sorted(contents.items()):
        mark.update(f"{name}\0{len(content)}\0".encode() + content)
    place = folder / mark.hexdigest()[:20]
    if place.is_dir():
        return place
    folder.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=".", dir=folder))
    for name, content in contents.items():
        file = draft / name
        if not file.resolve().is_relative_to(draft.resolve()):
            continue  # a name that leads out of the folder is nobody's Python file
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    try:
        draft.rename(place)
    except OSError:  # another agent was quicker
        shutil.rmtree(draft, ignore_errors=True)
    return place


def _is_there(root: str, name: str, content: bytes) -> bool:
    try:
        return Path(root, name).read_bytes() == content
    except OSError:
        return False


# -- results ---------------------------------------------------------------------------------


def result_to_dict(result: Result) -> dict[str, Any]:
    told = {one.name: getattr(result, one.name) for one in fields(result)}
    told["samples"] = sample_columns(result.samples) if result.samples else None
    told["warnings"] = [[warning.code, warning.text] for warning in result.warnings]
    return told


def result_from_dict(told: Mapping[str, Any]) -> Result:
    values = dict(told)
    values["samples"] = samples_from_columns(told["samples"]) if told["samples"] else ()
    values["warnings"] = tuple(Warning(code, text) for code, text in told["warnings"])
    return Result(**values)


def names_of(environments: Sequence[Environment]) -> None:
    """Two environments of one name cannot be told apart on a node."""
    by_name: dict[str, Environment] = {}
    for one in environments:
        if by_name.setdefault(one.name, one) != one:
            raise UserError(f"two environments are called '{one.name}'")
