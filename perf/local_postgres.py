"""A real PostgreSQL server on loopback, in a temporary folder, that tests and figures start.

It uses the distribution's packages (`scripts/setup.sh` installs them where it can). PostgreSQL
refuses to run as root, so root starts it as `postgres`, or as `nobody`.
"""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

DEBIAN = Path("/usr/lib/postgresql")
USER = "opbench"


class Unavailable(Exception):
    """Why no server can be started here."""


@dataclass(frozen=True)
class Server:
    folder: Path
    port: int
    password: str
    _prefix: tuple[str, ...]
    _bin: Path
    #: Whether a commit waits for the disk, as everywhere but in tests.
    durable: bool = True

    def url(self, database: str = "opbench", user: str = USER, password: str | None = None) -> str:
        """With the password, unless it is empty: then it comes from the environment."""
        secret = self.password if password is None else password
        return (
            f"postgresql://{user}{f':{secret}' if secret else ''}@127.0.0.1:{self.port}/{database}"
        )

    def sql(self, *statements: str, database: str = "postgres") -> None:
        import psycopg

        url = self.url(database)
        with psycopg.connect(url, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)

    def new_database(self) -> str:
        name = f"o{secrets.token_hex(6)}"
        self.sql(f"CREATE DATABASE {name}")
        return self.url(name)

    def stop(self, how: str = "immediate") -> None:
        command = ["pg_ctl", "-D", str(self.folder / "data"), "-m", how, "-w", "stop"]
        _call(self._prefix, self._bin, command)

    def start(self) -> None:
        options = (
            f"-p {self.port} -c listen_addresses=127.0.0.1 "
            f"-c unix_socket_directories={self.folder} -c max_connections=60"
            f"{'' if self.durable else ' -c fsync=off'}"
        )
        log = str(self.folder / "log")
        data = str(self.folder / "data")
        _call(
            self._prefix,
            self._bin,
            ["pg_ctl", "-D", data, "-l", log, "-o", options, "-w", "-t", "300", "start"],
        )


@contextmanager
def postgres(durable: bool = True) -> Iterator[Server]:
    """A server for the duration of the block; `Unavailable` says why there is none."""
    programs, prefix, owner = _programs(), *_unprivileged()
    folder = Path(tempfile.mkdtemp(prefix="opbench-postgres-"))
    server = Server(folder, _free_port(), secrets.token_hex(8), prefix, programs, durable)
    try:
        (folder / "password").write_text(server.password)
        if owner is not None:
            os.chown(folder, owner, -1)
            os.chown(folder / "password", owner, -1)
        make = ["initdb", "-D", str(folder / "data"), "-U", USER, "-A", "scram-sha-256"]
        make += [
            "--pwfile",
            str(folder / "password"),
            "-E",
            "UTF8",
            "--no-sync",
            "--locale=C.UTF-8",
        ]
        _call(prefix, programs, make)
        server.start()
        try:
            _wait(server)
            server.sql("CREATE DATABASE opbench")
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _programs() -> Path:
    found = sorted(DEBIAN.glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if found:
        return found[-1].parent
    on_path = shutil.which("initdb")
    if on_path:
        return Path(on_path).parent
    raise Unavailable("PostgreSQL is not installed: sudo apt-get install postgresql")


def _unprivileged() -> tuple[tuple[str, ...], int | None]:
    """The command prefix that runs as a user other than root, and the id of that user."""
    try:
        import psycopg  # noqa: F401
    except ModuleNotFoundError:
        raise Unavailable("psycopg is not installed: pip install 'opbench[postgres]'") from None
    if os.geteuid() != 0:
        return (), None
    for name in ("postgres", "nobody"):
        try:
            user = pwd.getpwnam(name)
        except KeyError:
            continue
        who = (f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups")
        if shutil.which("setpriv"):
            return ("setpriv", *who), user.pw_uid
    raise Unavailable(
        "PostgreSQL does not run as root, and there is no user `postgres` or `nobody` to run it"
    )


def _call(prefix: Sequence[str], programs: Path, command: Sequence[str]) -> None:
    words = [*prefix, str(programs / command[0]), *command[1:]]
    # The server inherits the output of pg_ctl; a pipe would never end.
    with tempfile.TemporaryFile() as output:
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd="/", timeout=120
        )
        if done.returncode:
            output.seek(0)
            raise Unavailable(f"{command[0]}: {output.read().decode(errors='replace').strip()}")


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _wait(server: Server) -> None:
    import psycopg

    for _ in range(100):
        try:
            psycopg.connect(server.url("postgres"), connect_timeout=2).close()
            return
        except psycopg.OperationalError:
            time.sleep(0.1)
    raise Unavailable("the server did not start")
