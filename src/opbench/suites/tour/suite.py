"""The suite `tour`: what `opbench run` measures when nothing is named."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from opbench.define.definition import Definition
from opbench.define.suite import Suite
from opbench.errors import UserError

if TYPE_CHECKING:
    from opbench.running.recording import Finished


class Tour(Suite):
    about = "a two-minute tour: torch on the CPU, small and mixed"
    default = True
    #: Two dozen cases and the worker starts they share then take about two minutes.
    options: ClassVar[Mapping[str, Any]] = {"max_time_per_case": 3.0}

    def definitions(self) -> Iterable[Definition]:
        from opbench.suites.tour.definitions import definitions

        return definitions()

    def after_run(
        self, run: Finished, targets: Sequence[str], *, store: str | None, cont: bool
    ) -> Iterable[str]:
        """Write the page, next to the store where that is a file."""
        if not targets and not cont and run.store and run.status != "interrupted":
            folder = Path(run.store).parent if Path(run.store).exists() else Path()
            yield write_page(run.id, store, folder / "report.html")


def write_page(run_id: str, store: str | None, path: Path) -> str:
    """One line: where the page is, or why it could not be written."""
    from opbench.report.page.contents import gather
    from opbench.report.page.page import save
    from opbench.store import Store

    try:
        with Store.open(store, create=False) as opened:
            save(gather(opened, run_id), path)
    except UserError as error:
        return f"No page: {error}"
    except OSError as error:
        return f"No page: cannot write {path}: {error.strerror}"
    return f"Charts, and every case in detail: open {path} in a browser"


SUITE = Tour()
