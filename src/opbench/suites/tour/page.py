"""The page at the end of the tour: what was measured, to look at rather than to read."""

from __future__ import annotations

from pathlib import Path


def write_tour_page(run_id: str, store: str | None, saved: str) -> str:
    """Writes it beside the store (a file), or here; one line that says where it is, or why not."""
    from opbench.cli.report_page import write_page
    from opbench.errors import UserError
    from opbench.report.page.contents import gather
    from opbench.store import Store

    beside = Path(saved).parent if Path(saved).exists() else Path()
    page = beside / "report.html"
    try:
        with Store.open(store, create=False) as opened:
            write_page(gather(opened, run_id), page)
    except UserError as error:
        return f"No page: {error}"
    return f"Charts, and every case in detail: open {page} in a browser"
