"""A case: one concrete benchmark, as source code plus labels.

Everything a worker needs to run the benchmark is text in this object, so a case can be hashed,
stored, sent to another interpreter or machine, and printed as a standalone script. Nothing here
knows of clocks, processes or storage.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Any

Label = str | int | float | bool | None

#: The parts of a training step that a case can measure; `call` is any other statement.
STAGES = ("forward", "backward", "forward_backward", "step", "call")

#: How the timed statement is separated from what must happen, untimed, before it.
#:   repeatable  the statement runs back to back in one loop; nothing happens between two calls
#:   each        `before` runs untimed before every call; each call is timed on its own
#:   prebuilt    `before` runs n times first, its assignments are kept, then n calls are timed
#:   difference  the time of `minus` is subtracted from that of the statement, block by block
TIMING_MODES = ("repeatable", "each", "prebuilt", "difference")


@dataclass(frozen=True)
class UserModule:
    """A file of the user's, imported in the child that runs the case, under its package name."""

    module: str
    #: Folder put on `sys.path` so that `module` and its relative imports resolve.
    root: str
    #: Hash over the content of the file and of every module it imports from its project.
    digest: str


@dataclass(frozen=True)
class Parity:
    """What must agree between cases that compute the same thing, before any of them is timed.

    Cases of one `key` are given the same inputs, made once; what they compute is compared with
    what the case of the lowest `rank` computes.
    """

    key: str
    #: Variables that the setup assigns, each once, in its order.
    inputs: tuple[str, ...] = ()
    #: Names and expressions of what is compared, read after one call.
    outputs: tuple[tuple[str, str], ...] = ()
    #: values      every element, within the tolerance of the dtype
    #: ties        the same, but a few may differ: equal values may come in any order, and halves
    #:             may be rounded up or down
    #: statistics  shape, mean and spread: for random outputs
    #: shape       shape alone: for uninitialised outputs
    compare: str = "values"
    #: Factor on the tolerance of the dtype, where many rounding errors add up.
    tolerance: float = 1.0
    rank: int = 0


@dataclass(frozen=True)
class Work:
    """The work of one call, by its formula: for rates, and for the machine's limits."""

    flops: float = 0.0
    #: Bytes that must at least be read and written, each once.
    bytes: float = 0.0


@dataclass(frozen=True)
class CppBuild:
    """What a statement in C++ needs of its compiler, under the names of torch's cpp_extension."""

    #: Of the file that defines the statement: headers are found there, paths are relative to it.
    folder: str
    extra_include_paths: tuple[str, ...] = ()
    extra_cflags: tuple[str, ...] = ()
    extra_ldflags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Case:
    suite: str
    name: str
    stage: str
    #: Timed source.
    stmt: str
    #: Untimed source run once per session, in the scope of the loop. It sees the integer `seed`.
    setup: str = ""
    #: Source run once at module level before `setup`: imports, functions, classes.
    globals: str = ""
    #: Untimed source before each call (see `TIMING_MODES`).
    before: str = ""
    #: For a case in another language: Python run first, which may write the file `model_path`.
    prelude: str = ""
    timing_mode: str = "repeatable"
    #: With `difference`: the statement whose time is subtracted.
    minus: str = ""
    #: Untimed source that ends when the work of the statement has ended, on asynchronous devices.
    sync: str = ""
    #: The axes of the definition and their values at this point, in the order of the definition.
    labels: tuple[tuple[str, Label], ...] = ()
    #: Named expressions whose bytes a memory measurement reports one by one.
    components: tuple[tuple[str, str], ...] = ()
    language: str = "python"
    framework: str = "python"
    runtime: str = "eager"
    device: str = "cpu"
    dtype: str = ""
    threads: int = 1
    seed: int = 0
    #: Modules the worker imports, and only imports, before it forks a child for this case.
    preload: tuple[str, ...] = ()
    module: UserModule | None = None
    #: Why this point of the definition cannot run, where that is known in advance.
    unsupported: str = ""
    parity: Parity | None = None
    work: Work | None = None
    cpp_build: CppBuild | None = None
    #: The label of its definition as it was written, where a file of results wants it.
    label: tuple[str, ...] | None = None
    #: Whether its set-up writes to nothing but its own memory, so that several children may run it
    #: at once; None where nobody says so: of a user's code, which may write a file.
    independent: bool | None = None

    @cached_property
    def id(self) -> str:
        """A readable, stable name: `layers/linear[batch=16,mode=hooks]/forward_backward`."""
        axes = ",".join(f"{axis}={label_text(value)}" for axis, value in self.labels)
        return f"{self.suite}/{self.name}{f'[{axes}]' if axes else ''}/{self.stage}"

    @cached_property
    def hash(self) -> str:
        """Twenty hex digits over everything that decides what is executed.

        The content of a user's file is part of it, its folder is not: the same project in two
        places is the same case, and an edited helper module makes another. Modules to preload,
        parity, work and independence do not change what is executed.
        """
        identity = self.to_dict()
        for left_out in ("preload", "parity", "work", "label", "independent"):
            identity.pop(left_out, None)
        if self.cpp_build is not None:
            del identity["cpp_build"]["folder"]
            if not any(identity["cpp_build"].values()):
                del identity["cpp_build"]
        if not self.prelude:  # added later: cases without one keep their hash
            del identity["prelude"]
        if self.module is not None:
            identity["module"] = {"module": self.module.module, "digest": self.module.digest}
        text = json.dumps(identity, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:20]

    @cached_property
    def source(self) -> str:
        """All that it executes, one text after another."""
        parts = (self.prelude, self.globals, self.setup, self.before, self.stmt, self.minus)
        return "\n".join(part for part in parts if part)

    @cached_property
    def axes(self) -> dict[str, Label]:
        return dict(self.labels)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types only; `Case.from_dict` is its inverse."""
        data = asdict(self)
        data["way"] = data.pop("timing_mode")  # the stored name, which is part of every hash
        data["labels"] = [list(pair) for pair in self.labels]
        data["components"] = [list(pair) for pair in self.components]
        data["preload"] = list(self.preload)
        if self.label is not None:
            data["label"] = list(self.label)
        if self.cpp_build is not None:
            data["cpp_build"] = {
                name: list(value) if isinstance(value, tuple) else value
                for name, value in data["cpp_build"].items()
            }
        if self.parity is not None:
            data["parity"]["inputs"] = list(self.parity.inputs)
            data["parity"]["outputs"] = [list(pair) for pair in self.parity.outputs]
        return {key: data[key] for key in data if data[key] is not None or key not in _OPTIONAL}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Case:
        values = dict(data)
        if "way" in values:
            values["timing_mode"] = values.pop("way")
        if not values.keys() <= _FIELDS:  # written by a later version
            values = {key: value for key, value in values.items() if key in _FIELDS}
        values["labels"] = tuple((axis, value) for axis, value in values.get("labels", ()))
        values["components"] = tuple((name, expr) for name, expr in values.get("components", ()))
        values["preload"] = tuple(values.get("preload", ()))
        if values.get("module"):
            values["module"] = UserModule(**values["module"])
        if values.get("parity"):
            parity = dict(values["parity"], inputs=tuple(values["parity"]["inputs"]))
            parity["outputs"] = tuple((name, expr) for name, expr in parity["outputs"])
            values["parity"] = Parity(**parity)
        if values.get("work"):
            values["work"] = Work(**values["work"])
        if values.get("cpp_build"):
            build = dict(values["cpp_build"])
            folder = build.pop("folder")
            values["cpp_build"] = CppBuild(folder, **{k: tuple(v) for k, v in build.items()})
        if values.get("label"):
            values["label"] = tuple(values["label"])
        if not values.keys() >= _REQUIRED:
            return cls(**values)  # raises, naming what is missing
        if not {type(values[name]) for name in _TEXTS if name in values} <= {str}:
            raise ValueError("a case has a field that is not text")
        if not {type(value) for _, value in values["labels"]} <= _LABELS:
            raise ValueError("a case has a label that is neither text nor a number")
        # Not through the constructor, which sets every field by a call of its own: stores hold
        # hundreds of thousands of cases. Defaults are found in the class.
        case = object.__new__(cls)
        vars(case).update(values)
        return case


_FIELDS = frozenset(field.name for field in fields(Case))
_REQUIRED = {"suite", "name", "stage", "stmt"}
_LABELS = {str, int, float, bool, type(None)}
_TEXTS = tuple(field.name for field in fields(Case) if field.type == "str")

#: Fields that were added later: stores and golden files hold them only where they are set.
_OPTIONAL = ("parity", "work", "cpp_build", "label", "independent")


def label_text(value: Label) -> str:
    """A label as it appears in an id; whole floats keep their point, `None` is `none`."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def shortens(text: str, case_id: str) -> bool:
    """Whether the text is the id less what tables leave out: its suite, axes, its stage.

    `linear[n=64]` is short for `layers/linear[mode=hooks,n=64]/forward`."""
    name, labels, stage = _parts(text.lower())
    full_name, full_labels, full_stage = _parts(case_id.lower())
    return (
        bool(labels)
        and f"/{full_name}".endswith(f"/{name}")
        and labels <= full_labels
        and stage in ("", full_stage)
    )


def _parts(case_id: str) -> tuple[str, set[str], str]:
    """What is before, in and behind the brackets."""
    name, _, rest = case_id.partition("[")
    labels, _, stage = rest.rpartition("]")
    return name, set(filter(None, labels.split(","))), stage
