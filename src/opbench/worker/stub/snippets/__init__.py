"""Grouped snippets: one definition for Python and C++, eager and TorchScript, forward and
backward, on several numbers of threads.

The names and their meaning are those of PyTorch's instruction-count suite, so that a definition
written for it runs unchanged after its import line. Standard library only: a user's file is
imported where neither opbench nor, perhaps, torch is installed.
"""

from __future__ import annotations

from .args import AutogradMode, AutoLabels, Language, RuntimeMode, TimerArgs
from .errors import SnippetError
from .found import flatten, found_in
from .grouped import (
    GroupedBenchmark,
    GroupedModules,
    GroupedSetup,
    GroupedStmts,
    GroupedVariants,
)
from .materialize import materialize
from .setups import Setup
from .tables import iter_parsed_lines, parse_stmts

#: Types of nested and of flat definitions, for annotations in users' files.
Definition = dict
FlatIntermediateDefinition = dict
FlatDefinition = tuple
Label = tuple

__all__ = [
    "AutoLabels",
    "AutogradMode",
    "Definition",
    "FlatDefinition",
    "FlatIntermediateDefinition",
    "GroupedBenchmark",
    "GroupedModules",
    "GroupedSetup",
    "GroupedStmts",
    "GroupedVariants",
    "Label",
    "Language",
    "RuntimeMode",
    "Setup",
    "SnippetError",
    "TimerArgs",
    "flatten",
    "found_in",
    "iter_parsed_lines",
    "materialize",
    "parse_stmts",
]
