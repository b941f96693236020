"""`from opbench.snippets import GroupedStmts, GroupedSetup, …`: the public names of snippets.

One implementation serves here and where users' files are imported without opbench, so it lives
with the workers' stub.
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
