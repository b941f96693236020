"""`--functions` of `compare` and `ab`: which functions changed the instruction count."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opbench.analyse.compare import Comparison
    from opbench.analyse.functions import FunctionView

#: How many cases are shown: those whose count changed most.
SHOWN = 5


def show_functions(comparisons: Sequence[Comparison], view: FunctionView) -> None:
    """Print the functions that gained or lost instructions, case by case."""
    from rich.text import Text

    from opbench.analyse.functions import changes_in
    from opbench.errors import plural
    from opbench.report.functions import changes
    from opbench.report.table import console_for

    console = console_for(sys.stdout)
    for comparison in comparisons:
        cases = changes_in(comparison, view)
        for case in cases[:SHOWN]:
            console.print(Text(f"\n{case.case_id}", style="bold"))
            console.print(changes(case.rows))
        if len(cases) > SHOWN:
            left = plural(len(cases) - SHOWN, "more case")
            console.print(Text(f"… and {left}; choose with --filter"))
        if not cases:
            console.print(Text("\nNo function executes more or fewer instructions in any case."))
