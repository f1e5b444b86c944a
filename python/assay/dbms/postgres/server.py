"""A server that this process started: it ends with it, and says why where it ends by itself."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import secrets
import signal
import socket
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import psycopg

from assay import own
from assay.dbms.ending import unbroken
from assay.dbms.place import SOCKETS
from assay.dbms.postgres import access, counters, statistics
from assay.dbms.postgres.cluster import SUPERUSER, TABLESPACES, Cluster
from assay.dbms.postgres.counters import Counters
from assay.dbms.postgres.error import PostgresError
from assay.dbms.postgres.find import Binaries
from assay.dbms.postgres.settings import Settings
from assay.error import BAD_JOB

Connection = psycopg.Connection[Any]
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True)
_START_S = 120.0
_STOP_S = 120.0
_AT_ONCE, _AT_ONCE_S = (signal.SIGQUIT, signal.SIGKILL), 10.0
_PORT = 5432
_WORD_BYTES = 24


def require_eviction(binaries: Binaries) -> None:
    """Refuses servers that cannot empty their buffers while they run."""
    if binaries.major < 17:
        message = f"PostgreSQL {binaries.version} cannot empty its buffers while it runs"
        raise PostgresError(message, hint="restart it instead, or use 17 or newer", code=BAD_JOB)


class PostgresServer:
    """PostgreSQL on a cluster. Used as a context it starts, and is stopped in the end."""

    def __init__(self, cluster: Cluster, settings: Settings) -> None:
        self.cluster = cluster
        self.settings = settings
        self._process: subprocess.Popen[bytes] | None = None
        self._folder: Path | None = None
        self._made: Path | None = None
        self._word = secrets.token_urlsafe(_WORD_BYTES)
        self._segments: list[Path] = []

    @property
    def pid(self) -> int:
        """The postmaster."""
        if self._process is None:
            raise PostgresError("the server does not run", hint="start it first")
        return self._process.pid

    @property
    def running(self) -> bool:
        """It was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    @property
    def connection_string(self) -> str:
        """For libraries that speak PostgreSQL's protocol."""
        port = self.settings.port or _PORT
        return f"host={self._folder} port={port} user={SUPERUSER} dbname=postgres"

    def start(self) -> None:
        """Starts it and waits until it answers."""
        if self.running:
            return
        self._folder = self._socket_folder()
        try:
            self._configure()
            self._refuse_taken_port()
            with unbroken(), self._log.open("wb") as log:
                self._process = self._spawn(log)
                _RUNNING.add(self)
            self._wait_ready()
            self._make_tablespaces()
            self._set_password()
            self._segments = _segments(self.pid)
        except BaseException:
            self.kill()
            raise

    @property
    def _log(self) -> Path:
        return self.cluster.places["data"].path / "server.log"

    def _socket_folder(self) -> Path:
        """A short path: the name of a socket has at most 107 bytes."""
        owner = self.cluster.user.owner
        self._made = own.make(Path(tempfile.gettempdir()), SOCKETS, owner[0] if owner else None, measured=False)
        folder = self._made / "s"
        own.make_folder(folder, owner)
        return folder

    def _configure(self) -> None:
        lines = [
            f"port = {self.settings.port or _PORT}",
            f"listen_addresses = '{'127.0.0.1' if self.settings.port else ''}'",
            f"unix_socket_directories = '{self._folder}'",
            "unix_socket_permissions = 0700",
            "password_encryption = 'scram-sha-256'",
            *self.settings.lines(),
        ]
        for role, name in TABLESPACES.items():
            if role == "temp" and role in self.cluster.places:
                lines.append(f"temp_tablespaces = '{name}'")
        (self.cluster.data / "postgresql.auto.conf").write_text("\n".join(lines) + "\n")
        access.write(self.cluster.data, self.cluster.user.name, self.settings.port)

    def _refuse_taken_port(self) -> None:
        port = self.settings.port
        if port is None:
            return
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError as error:
                message = f"port {port} is in use or not allowed: {error.strerror}"
                raise PostgresError(message, hint="choose another --port, or none at all", code=BAD_JOB) from error

    def _spawn(self, log: IO[bytes]) -> subprocess.Popen[bytes]:
        command = [self.cluster.binaries.program("postgres"), "-D", str(self.cluster.data)]
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",
            start_new_session=True,
            preexec_fn=_end_with(os.getpid()),  # noqa: PLW1509  Only prctl and kill are called there.
            **self.cluster.identity(),
        )

    def _wait_ready(self) -> None:
        deadline = time.monotonic() + _START_S
        while time.monotonic() < deadline:
            if not self.running:
                raise self.ended("the server did not start")
            with contextlib.suppress(psycopg.OperationalError), psycopg.connect(self.connection_string):
                return
            time.sleep(0.05)
        raise self.ended(f"the server did not answer within {_START_S:.0f} s")

    def _make_tablespaces(self) -> None:
        with self.connect() as connection:
            rows = connection.execute("select spcname from pg_tablespace").fetchall()
            there = {row[0] for row in rows}
            for role, name in TABLESPACES.items():
                if role in self.cluster.places and name not in there:
                    folder = str(self.cluster.folder(role)).replace("'", "''")
                    connection.execute(f"create tablespace {name} location '{folder}'")

    def _set_password(self) -> None:
        """For the port; the server learns its hash alone, and this user finds it in a file."""
        port = self.settings.port
        if port is not None:
            with self.connect() as connection:
                access.set_password(connection, SUPERUSER, self._word)
            access.tell(self.password_file, port, SUPERUSER, self._word)

    @property
    def password_file(self) -> Path:
        """Where the password for the port stands, for this user alone, as libpq reads it (PGPASSFILE)."""
        return self.cluster.places["data"].path / "password"

    @property
    def socket_folder(self) -> Path | None:
        """Where its socket lies while it runs."""
        return self._folder

    @property
    def listens(self) -> str:
        """Where it listens, and who gets in: a sentence."""
        port, me = self.settings.port, access.this_user()
        said = f"PostgreSQL listens on the socket in {self._folder}, for {me} and the server's own user alone"
        if port is None:
            return f"{said}, and on no port"
        return f"{said}, and on 127.0.0.1:{port}, where the user {SUPERUSER} needs the password in {self.password_file}"

    def ended(self, what: str) -> PostgresError:
        """An error that tells what the server said at last."""
        returned = self._process.poll() if self._process is not None else None
        if returned is not None and returned < 0:
            name = signal.Signals(-returned).name
            return PostgresError(f"{what}: {name} from outside ended it", hint=_hint(""))
        return PostgresError(f"{what}: {self.last_words()}", hint=_hint(self.last_words()))

    def wait_ended(self, seconds: float) -> bool:
        """Whether it has ended by itself, or does within so many seconds."""
        if self._process is None:
            return False
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def last_words(self) -> str:
        """The gravest of the last lines of its log."""
        try:
            lines = self._log.read_text(errors="replace").splitlines()[-200:]
        except OSError:
            return "it left no log"
        # What is wrong with a configuration stands in the lines before.
        named = [line for line in lines if any(words in line for words in _CONFIGURATION)]
        if named:
            return named[-1].split("LOG:")[-1].strip()
        for grade in ("PANIC:", "FATAL:", "ERROR:"):
            found = [line for line in lines if grade in line and not any(word in line for word in _HARMLESS)]
            if found:
                return found[-1][found[-1].index(grade) :]
        return lines[-1] if lines else "it said nothing"

    def connect(self, database: str = "postgres") -> Connection:
        """A connection in autocommit mode."""
        if not self.running:
            raise self.ended("the server has ended")
        try:
            return psycopg.connect(self.connection_string, dbname=database, autocommit=True)
        except psycopg.OperationalError as error:
            if not self.running:
                raise self.ended("the server has ended") from error
            raise PostgresError(f"the server takes no connection: {error}", hint="read its log") from error

    def counters(self) -> Counters:
        """A reading of processes, devices and the server's own counts."""
        with self.connect() as connection:
            # What other sessions have counted reaches the statistics when they are idle.
            engine = statistics.counts(connection)
        return counters.read(self.pid, self.cluster.folders(), engine)

    def checkpoint(self) -> None:
        """Writes everything that is in its buffers alone."""
        with self.connect() as connection:
            connection.execute("checkpoint")

    def clear_caches(self) -> str:
        """Restarts it with nothing of its files in the page cache, which is verified; says what was seen."""
        from assay.dbms import cold

        self.stop()
        cleared = cold.clear(self.cluster.folders())
        self.start()
        return cleared.sentence

    def evict(self) -> int:
        """Empties shared buffers without a restart (17 and newer); how many. Their pages stay in the page cache.

        Quicker than a restart, and less: caches of plans and relations stay.
        """
        major = self.cluster.binaries.major
        require_eviction(self.cluster.binaries)
        with self.connect() as connection:
            connection.execute("checkpoint")
            connection.execute("create extension if not exists pg_buffercache")
            if major >= 18:
                row = connection.execute("select buffers_evicted from pg_buffercache_evict_all()").fetchone()
            else:
                sql = "select count(*) filter (where pg_buffercache_evict(bufferid)) from pg_buffercache"
                row = connection.execute(f"{sql} where relfilenode is not null").fetchone()
        return int(row[0]) if row is not None else 0

    def stop(self) -> None:
        """Ends it in good order: sessions are closed, a checkpoint is written."""
        self._end((signal.SIGINT, *_AT_ONCE), _STOP_S)

    def kill(self) -> None:
        """Ends it at once, as a crash would: the log must be replayed."""
        self._end(_AT_ONCE, _AT_ONCE_S)

    def _end(self, signals: Sequence[signal.Signals], patience_s: float) -> None:
        process = self._process
        try:
            if process is not None:
                _told(process, signals, patience_s)
        except BaseException:
            # Who interrupts does not wait for good order.
            with unbroken():
                _told(process, _AT_ONCE, _AT_ONCE_S)
            raise
        finally:
            with unbroken():
                self._forget(process is not None)

    def _forget(self, ran: bool) -> None:
        """Removes what a server leaves that has ended."""
        self._process, self._folder = None, None
        _RUNNING.discard(self)
        if ran:
            self._free_segment()
        made, self._made = self._made, None
        if made is not None:
            own.remove(made)

    def _free_segment(self) -> None:
        """A server that was killed leaves shared memory: a segment that its note names, and those it had mapped."""
        later = [other for segment in self._segments for other in _listed(segment)]
        for segment in [*self._segments, *later]:
            with contextlib.suppress(OSError):
                segment.unlink(missing_ok=True)
        self.cluster.free_segment()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.stop()
        else:
            self.kill()


# Started and not ended yet.
_RUNNING: set[PostgresServer] = set()


@atexit.register
def _end_all() -> None:
    """Before the folders are removed in which they write: who interrupts twice may have left a server behind."""
    for server in list(_RUNNING):
        with contextlib.suppress(Exception):
            server.kill()


def _told(process: subprocess.Popen[bytes] | None, signals: Sequence[signal.Signals], patience_s: float) -> None:
    """Sends one after the other until a process has ended."""
    for number in signals:
        if process is not None and process.poll() is None:
            process.send_signal(number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(patience_s)


@contextlib.contextmanager
def explained(server: PostgresServer) -> Iterator[None]:
    """Tells of a server that ended in the middle of something; other errors pass."""
    try:
        yield
    except PostgresError:
        raise
    except Exception as error:
        time.sleep(0.2)
        if server.running:
            raise
        raise server.ended("the server ended in the middle of the run") from error


def _segments(pid: int) -> list[Path]:
    """Files of shared memory that a server has mapped; it removes them itself unless it is killed."""
    try:
        lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    except OSError:
        return []
    found = {line.split(maxsplit=5)[-1] for line in lines if "/dev/shm/PostgreSQL." in line}  # noqa: S108  The library puts them there.
    return [Path(name) for name in sorted(found) if not name.endswith("(deleted)")]


def _end_with(parent: int) -> Any:
    """The server does not outlive this process, however that ends: it shuts down at once."""

    def prepare() -> None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGQUIT)
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)

    return prepare


# What sessions hear while a server goes or comes: no reason for anything.
_HARMLESS = ("administrator command", "is starting up", "is shutting down")
_CONFIGURATION = ("unrecognized configuration parameter", "invalid value for parameter")
_HINTS = {
    "incompatible with server": "the data folder is damaged, or of another version; load it again",
    "No space left on device": "free space on the target, or choose a smaller scale",
    "could not bind": "choose another --port, or none at all",
    '"io_method"': "this build does not have it; take io_method=worker or sync",
    "invalid value for parameter": "correct the setting that it names",
    "unrecognized configuration parameter": "correct the setting that it names, or use a newer PostgreSQL",
    "checkpoint record": "the data folder is damaged; load it again",
    "control file": "the data folder is damaged; load it again",
    "could not open file": "the data folder is damaged; load it again",
    "could not map anonymous shared memory": "choose a smaller shared_buffers",
}


def _hint(words: str) -> str:
    found = next((hint for key, hint in _HINTS.items() if key in words), "")
    return found or "read its words; `dmesg` tells whether the kernel ended it"


# Of dsm_control_header and dsm_control_item in dsm.c, 14 to 18: magic and count; then items of 40 bytes, each with its
# handle and its references first.
_CONTROL, _FIRST, _STRIDE = 0x9A503D32, 16, 40


def _listed(control: Path) -> list[Path]:
    """Segments that a server made later than its first, from the list that it keeps of them; none in any other file."""
    try:
        content = control.read_bytes()
        magic, count = struct.unpack_from("=II", content)
        places = range(_FIRST, _FIRST + _STRIDE * count, _STRIDE) if magic == _CONTROL else ()
        items = [struct.unpack_from("=II", content, place) for place in places]
    except (OSError, struct.error):
        return []
    return [control.with_name(f"PostgreSQL.{handle}") for handle, references in items if references > 0]
