"""PostgreSQL, whose server runs on the drive that is cut off."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
from assay.dbms import segment
from assay.dbms.postgres.find import find
from assay.dbms.postgres.user import User, server_user
from assay.error import AssayError

from mount.cutting import Left, Victim, Worker, shut

_STARTS_WITHIN_S = 60.0
_USUAL = {
    "listen_addresses": "",
    "shared_buffers": "16MB",
    "max_connections": "10",
    "autovacuum": "off",
    # Of one that is killed nothing stays in memory.
    "dynamic_shared_memory_type": "mmap",
}
_LOOSE = {"fsync": "off", "synchronous_commit": "off"}
#: So many commits, and a checkpoint: pages of tables are in the drive's buffer, too.
_CHECKPOINT_EVERY = 16


class Commits(Worker):
    """A thread that commits numbers."""

    def __init__(self, socket: Path) -> None:
        self._count, self._said, self._ended = 0, "", threading.Event()
        self._connection = connect(socket)
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def _work(self) -> None:
        try:
            self._connection.execute("create table t (n integer primary key, data text)")
            for n in range(100_000):
                if self._ended.is_set():
                    return
                self._connection.execute("insert into t values (%s, %s)", (n, data(n)))
                self._count += 1
                if n % _CHECKPOINT_EVERY == 0:
                    self._connection.execute("checkpoint")
        except psycopg.Error as error:
            self._said = str(error)

    def acknowledged(self) -> int:
        return self._count

    def failed(self) -> str:
        return self._said

    def end(self) -> None:
        """After the server's end."""
        self._ended.set()
        self._thread.join()
        self._connection.close()


def data(n: int) -> str:
    return f"{n}-" * 40


def connect(socket: Path) -> psycopg.Connection[Any]:
    return psycopg.connect(f"host={socket} user=assay dbname=postgres", autocommit=True)


class Postgres(Victim):
    """The newest PostgreSQL that is installed."""

    name = "postgres"

    def reason(self) -> str:
        try:
            find()
            server_user()
        except AssayError as error:
            return str(error)
        return ""

    @property
    def others(self) -> tuple[int, ...]:
        user = server_user()
        return (user.uid,) if user.switch else ()

    def prepare(self, room: Path) -> None:
        """A cluster that is whole on the medium; made once, and copied."""
        user = server_user()
        for folder in (room, *room.parents):
            if folder.is_relative_to("/tmp") and folder != Path("/tmp") and folder.stat().st_uid == os.geteuid():
                folder.chmod(0o755)
        template = room / "template"
        if not template.is_dir():
            template.mkdir()
            shutil.chown(template, user.uid, user.gid)
            words = ["-D", str(template), "-U", "assay", "--auth=trust", "--no-locale", "-E", "UTF8", "--no-sync"]
            command = [find().program("initdb"), *words]
            done = subprocess.run(command, capture_output=True, text=True, check=False, **as_(user))
            assert done.returncode == 0, done.stderr
        subprocess.run(["cp", "-a", str(template), str(room / "files" / "data")], check=True)

    @contextlib.contextmanager
    def _server(self, room: Path, more: dict[str, str]) -> Iterator[Path]:
        """A server on `room/mnt`; its socket's folder. Killed at the end."""
        user = server_user()
        # The name of a socket has at most 107 bytes.
        with tempfile.TemporaryDirectory(prefix="cut-") as folder, (room / "server.log").open("ab") as log:
            shutil.chown(folder, user.uid, user.gid)
            settings = _USUAL | {"unix_socket_directories": folder} | more
            words = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
            command = [find().program("postgres"), "-D", str(room / "mnt" / "data"), *words]
            process = subprocess.Popen(command, stdout=log, stderr=log, cwd="/", start_new_session=True, **as_(user))
            try:
                until_it_answers(Path(folder), process, room / "server.log")
                yield Path(folder)
            finally:
                end(process)
                segment.free(room / "files" / "data")

    @contextlib.contextmanager
    def working(self, room: Path, *, durable: bool) -> Iterator[Worker]:
        with contextlib.ExitStack() as stack:
            socket = stack.enter_context(self._server(room, {} if durable else _LOOSE))
            worker = Commits(socket)
            try:
                yield worker
            finally:
                stack.close()
                worker.end()

    def left(self, room: Path, acknowledged: int) -> Left:
        with shut(room, self.others):
            try:
                with self._server(room, {}) as socket, connect(socket) as connection:
                    rows = connection.execute("select n, data from t order by n").fetchall()
            except (psycopg.Error, AssertionError) as error:
                return Left(acknowledged, acknowledged, str(error).strip().splitlines()[-1])
        wrong = (n for n, row in enumerate(rows) if row != (n, data(n)))
        return Left(acknowledged, max(0, acknowledged - next(wrong, len(rows))))


def as_(user: User) -> dict[str, Any]:
    """Whom a program runs as."""
    return {"user": user.uid, "group": user.gid, "extra_groups": []} if user.switch else {}


def until_it_answers(socket: Path, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + _STARTS_WITHIN_S
    while True:
        try:
            connect(socket).close()
        except psycopg.OperationalError:
            assert process.poll() is None, log.read_text(errors="replace")
            assert time.monotonic() < until, log.read_text(errors="replace")
            time.sleep(0.05)
        else:
            return


def end(process: subprocess.Popen[bytes]) -> None:
    """As a crash does: the server and all that it has started; their shared memory goes with them."""
    process.send_signal(signal.SIGQUIT)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(5)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
