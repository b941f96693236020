"""`from opbench.snippets import GroupedStmts, GroupedSetup, …`: the public names of snippets.

The implementation is in the workers' stub, because users' files are also imported where opbench is
not installed.
"""

from __future__ import annotations

from opbench.worker.stub.snippets import (
    AutogradMode,
    AutoLabels,
    Definition,
    FlatDefinition,
    FlatIntermediateDefinition,
    GroupedBenchmark,
    GroupedModules,
    GroupedSetup,
    GroupedStmts,
    GroupedVariants,
    Label,
    Language,
    RuntimeMode,
    Setup,
    SnippetError,
    TimerArgs,
    flatten,
    iter_parsed_lines,
    materialize,
    parse_stmts,
)

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
    "iter_parsed_lines",
    "materialize",
    "parse_stmts",
]
