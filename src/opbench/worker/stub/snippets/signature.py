"""`f(x, w) -> y` or `f(x: Tensor, n: int) -> y`: the inputs and outputs of a snippet, checked.

A signature gives a TorchScript function, its call in two languages and the tensor from which a
backward pass starts. One that does not fit would fail late and obscurely, in generated source; so
it is checked against the statement where it is written.
"""

from __future__ import annotations

import ast
import builtins
import keyword
import re
from dataclasses import dataclass
from typing import Optional

from .errors import SnippetError

FORM = re.compile(r"^\s*\w+\s*\((?P<args>[^()]*)\)\s*->\s*(?P<outputs>.+?)\s*$")
KNOWN = {"torch", "math", *dir(builtins)}
#: What TorchScript assumes of an argument without an annotation.
DEFAULT_TYPES = ("Tensor", "torch.Tensor")
TYPING_NAMES = re.compile(r"\b(Any|Dict|List|Optional|Tuple|Union)\b")


@dataclass(frozen=True)
class Signature:
    args: tuple[str, ...]
    #: Empty for `-> None`.
    outputs: tuple[str, ...]
    #: Types of the arguments, as written; empty where there is none.
    types: tuple[str, ...] = ()

    @property
    def parameters(self) -> str:
        """The arguments as a definition spells them, with types where they matter."""
        types = self.types or ("",) * len(self.args)
        return ", ".join(
            name if kind in ("", *DEFAULT_TYPES) else f"{name}: {kind}"
            for name, kind in zip(self.args, types)
        )

    @property
    def imports(self) -> str:
        """What the types of the arguments need."""
        found = sorted(set(TYPING_NAMES.findall(self.parameters)))
        return f"from typing import {', '.join(found)}\n" if found else ""

    def __str__(self) -> str:
        return f"f({', '.join(self.args)}) -> {', '.join(self.outputs) or 'None'}"


def parse(text: Optional[str]) -> Optional[Signature]:
    if text is None:
        return None
    match = FORM.match(text) if isinstance(text, str) else None
    if match is None:
        raise SnippetError(f"a signature is written 'f(x, w) -> y', not {text!r}")
    pairs = [part.partition(":")[::2] for part in arguments(match["args"])]
    args = names([name for name, _ in pairs], text)
    outputs = match["outputs"]
    results = () if outputs == "None" else names(outputs.strip("()").split(","), text)
    return Signature(args, results, tuple(kind.strip() for _, kind in pairs))


def arguments(text: str) -> list[str]:
    """The parts between commas; those in brackets belong to a type."""
    parts, depth = [""], 0
    for character in text:
        depth += (character == "[") - (character == "]")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part for part in parts if part.strip()]


def names(parts: list[str], signature: str) -> tuple[str, ...]:
    found = tuple(part.strip() for part in parts if part.strip())
    for name in found:
        if not name.isidentifier() or keyword.iskeyword(name):
            raise SnippetError(f"signature {signature!r}: {name!r} is not a name")
    if len(set(found)) < len(found):
        raise SnippetError(f"signature {signature!r} has a name twice")
    return found


def check_python(signature: Signature, stmt: str, setup: str, closed: bool) -> None:
    """Refuse outputs that are never assigned, arguments that the setup does not define and, where
    the statement becomes a function of its own (`closed`), names that are undefined in it."""
    try:
        tree = ast.parse(stmt)
    except SyntaxError:
        return  # the case itself reports it; the others of the file still run
    assigned = stored(tree)
    for output in signature.outputs:
        if output not in assigned and output not in signature.args:
            raise SnippetError(
                f"signature {signature}: the statement never assigns {output} "
                f"({last_line(stmt)}); write {output} = … in it, or -> None"
            )
    defined = names_defined_by(setup)
    for argument in signature.args:
        if defined is not None and argument not in defined:
            raise SnippetError(
                f"signature {signature}: setup does not define {argument}; it defines "
                f"{', '.join(sorted(defined)) or 'nothing'}"
            )
    if not closed:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            known = node.id in assigned or node.id in signature.args or node.id in KNOWN
            if not known:
                line = stmt.splitlines()[node.lineno - 1].strip()
                raise SnippetError(
                    f"signature {signature}: line {node.lineno} of the statement uses {node.id}, "
                    f"which is not one of its arguments: `{line}`"
                )


def check_cpp(signature: Signature, stmt: str, setup: str) -> None:
    for output in signature.outputs:
        if not mentions(stmt, output):
            raise SnippetError(
                f"signature {signature}: the C++ statement never mentions {output} "
                f"({last_line(stmt)})"
            )
    for argument in signature.args:
        if not mentions(setup, argument):
            raise SnippetError(
                f"signature {signature}: neither cpp_setup nor global_setup defines {argument}"
            )


def check_arguments(signature: Signature, setup: str) -> None:
    """For models: the arguments they are called with must exist."""
    defined = names_defined_by(setup)
    for argument in signature.args:
        if defined is not None and argument not in defined:
            raise SnippetError(f"signature {signature}: setup does not define {argument}")


def stored(tree: ast.AST) -> set[str]:
    found = {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found |= {(a.asname or a.name).split(".")[0] for a in node.names}
        elif isinstance(node, ast.arg):
            found.add(node.arg)
    return found


def names_defined_by(setup: str) -> Optional[set[str]]:
    """Names that the setup defines; None when its text does not show them."""
    try:
        tree = ast.parse(setup)
    except SyntaxError:
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and any(a.name == "*" for a in node.names):
            return None
        if isinstance(node, ast.Name) and node.id in ("exec", "eval", "globals", "locals", "vars"):
            return None
    return stored(tree)


def mentions(source: str, name: str) -> bool:
    return re.search(rf"\b{re.escape(name)}\b", source) is not None


def last_line(stmt: str) -> str:
    lines = [line for line in stmt.splitlines() if line.strip()]
    return f"line {len(stmt.rstrip().splitlines())}: `{lines[-1].strip()}`" if lines else "empty"
