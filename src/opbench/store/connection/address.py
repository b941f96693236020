"""Where a store is: what a person may write after `--store`, and what it means."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from opbench import project
from opbench.files import expanded
from opbench.store.connection.masking import without_password
from opbench.store.errors import StoreError

DEFAULT_PATH = Path(".opbench") / "results.db"

EXPECTED = "expected a path ending in .db, sqlite:///path or postgresql://user@host/database"


@dataclass(frozen=True)
class Address:
    """Either a file (SQLite) or a server (PostgreSQL)."""

    #: The SQLite file; `None` for a server.
    path: Path | None
    url: URL

    @property
    def shown(self) -> str:
        """For people and records: a password never appears, wherever in the URL it was given."""
        query = {key: value for key, value in self.url.query.items() if "password" not in key}
        url = self.url.set(drivername=self.url.get_backend_name(), query=query)
        return url.render_as_string(hide_password=True)

    @property
    def place(self) -> str:
        """The short form for messages."""
        return str(self.path) if self.path is not None else self.shown


def parse_address(text: str | Path | None) -> Address:
    """Of what was given; else of `OPBENCH_STORE` or the project; else the folder's own."""
    text = project.store() if text is None else text
    if text is None:
        return file_address(DEFAULT_PATH)
    if not isinstance(text, (str, Path)):
        raise StoreError(f"the store is not an object of type {type(text).__name__}: {EXPECTED}")
    if isinstance(text, Path) or "://" not in text:
        path = expanded(text)
        if path.suffix != ".db":
            shown = without_password(str(text))
            raise StoreError(f"store {shown!r} is not understood: {EXPECTED}")
        return file_address(path)
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        # The text is not repeated: a mistyped URL may well contain a password.
        raise StoreError(f"the URL of the store is not understood: {EXPECTED}") from None
    backend = url.get_backend_name()
    if backend == "sqlite":
        if not url.database or url.database == ":memory:":
            raise StoreError("a store in memory would forget its results: name a file")
        return file_address(expanded(url.database))
    if backend in ("postgresql", "postgres"):
        return Address(None, url.set(drivername="postgresql+psycopg"))
    raise StoreError(f"stores of kind {backend!r} are not supported: {EXPECTED}")


def file_address(path: Path) -> Address:
    return Address(path, URL.create("sqlite", database=str(path)))
