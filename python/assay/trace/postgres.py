"""PostgreSQL as something to record: its process, its folders, and what it counts itself (`pg_stat_io`)."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.error import BAD_JOB, NOT_POSSIBLE
from assay.trace.classes import TracedClass
from assay.trace.error import TraceError

_PAGE = 8192
_SETTINGS = "select name, setting from pg_settings where name = any(%s)"
_IO = """select sum(reads), sum(coalesce(writes, 0) + coalesce(extends, 0)), sum(fsyncs) from pg_stat_io
where object <> 'wal'"""
_IO_16 = "select sum(reads), sum(coalesce(writes, 0) + coalesce(extends, 0)), sum(fsyncs) from pg_stat_io"
_OLD = """select (select sum(blks_read) from pg_stat_database), buffers_checkpoint + buffers_clean + buffers_backend,
buffers_backend_fsync from pg_stat_bgwriter"""


@dataclass(frozen=True)
class ServerCounts:
    """What a server counted so far: pages read and written through the kernel, bytes of log, calls to sync each."""

    reads: float
    writes: float
    syncs: float
    log_bytes: float
    log_writes: float
    log_syncs: float

    def since(self, before: ServerCounts) -> ServerCounts:
        """The difference."""
        return ServerCounts(
            *(max(0.0, now - then) for now, then in zip(vars(self).values(), vars(before).values(), strict=True))
        )


@dataclass
class TracedServer:
    """A server by data folder or connection string. `pid` is none where it runs elsewhere."""

    pid: int | None = None
    folders: list[Path] = field(default_factory=list)
    connection: Any = None
    version: str = ""

    def counts(self) -> ServerCounts | None:
        """Its own counts; none without a connection."""
        if self.connection is None:
            return None
        major = self.connection.info.server_version // 10000
        sql = _OLD if major < 16 else _IO_16 if major < 18 else _IO
        reads, writes, syncs = self.connection.execute(sql).fetchone()
        return ServerCounts(float(reads or 0), float(writes or 0), float(syncs or 0), *self._log(major))

    def _log(self, major: int) -> tuple[float, float, float]:
        if major >= 18:
            sql = """select (select wal_bytes from pg_stat_wal), sum(writes), sum(fsyncs) from pg_stat_io
                     where object = 'wal'"""
        elif major >= 14:
            sql = "select wal_bytes, wal_write, wal_sync from pg_stat_wal"
        else:
            return 0.0, 0.0, 0.0
        row = self.connection.execute(sql).fetchone()
        found = [float(value or 0) for value in row]
        return found[0], found[1], found[2]

    def close(self) -> None:
        """Ends the connection."""
        if self.connection is not None:
            with suppress(Exception):
                self.connection.close()


def find(text: str) -> TracedServer:
    """The server that a data folder or a connection string names.

    Raises:
        TraceError: where there is none.
    """
    if "=" in text or text.startswith(("postgres://", "postgresql://")):
        return _connected(text)
    folder = Path(text).expanduser()
    if not (folder / "PG_VERSION").is_file():
        hint = "name the folder with PG_VERSION in it, or a connection string such as 'host=/tmp user=me'"
        raise TraceError(f"{text} is no data folder of PostgreSQL", hint=hint, code=BAD_JOB)
    pid = _postmaster(folder)
    if pid is None:
        hint = "start it, or record its device with --path"
        raise TraceError(f"no server runs on {text}", hint=hint, code=BAD_JOB)
    return TracedServer(pid, _folders(folder), version=(folder / "PG_VERSION").read_text().strip())


def _connected(text: str) -> TracedServer:
    import psycopg

    try:
        connection = psycopg.connect(text, autocommit=True, connect_timeout=10)
    except psycopg.Error as error:
        words = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        hint = "check the connection string with psql"
        raise TraceError(f"PostgreSQL takes no connection: {words}", hint=hint, code=NOT_POSSIBLE) from error
    server = TracedServer(connection=connection, version=str(connection.info.parameter_status("server_version") or ""))
    with suppress(psycopg.Error):
        shown: dict[str, str] = dict(connection.execute(_SETTINGS, [["data_directory"]]).fetchall())
        folder = Path(shown.get("data_directory", "/nonexistent"))
        server.pid = _postmaster(folder) if (folder / "PG_VERSION").is_file() else None
        server.folders = _folders(folder) if server.pid is not None else []
    return server


def _postmaster(folder: Path) -> int | None:
    """The process that the server's own note names, if it works on that folder."""
    try:
        pid = int((folder / "postmaster.pid").read_text().splitlines()[0])
        same = Path(f"/proc/{pid}/cwd").resolve() == folder.resolve()
    except (OSError, ValueError, IndexError):
        return None
    return pid if same and Path(f"/proc/{pid}").exists() else None


def _folders(folder: Path) -> list[Path]:
    """Data folder, log, and places of tablespaces."""
    links = [folder / "pg_wal"]
    with suppress(OSError):
        links += list((folder / "pg_tblspc").iterdir())
    return [folder.resolve(), *(link.resolve() for link in links if link.is_symlink() and link.exists())]


def classes_of(counts: ServerCounts, seconds: float) -> list[TracedClass]:
    """Classes out of the server's own counts: pages at random, the log in order."""
    log_size = counts.log_bytes / counts.log_writes if counts.log_writes else _PAGE
    log_page = max(_PAGE, round(log_size / _PAGE) * _PAGE)
    found = [
        _seen("point-reads", "read", _PAGE, counts.reads, seconds),
        _seen("page-writes", "write", _PAGE, counts.writes, seconds),
        _seen("log", "write", log_page, counts.log_writes or counts.log_bytes / log_page, seconds, counts.log_syncs),
    ]
    return sorted((one for one in found if one.rate_per_s > 0), key=lambda one: -one.bytes_per_s)


def _seen(name: str, operation: str, size: int, count: float, seconds: float, syncs: float = 0.0) -> TracedClass:
    return TracedClass(
        name=name,
        operation=operation,
        sequential=name == "log",
        sizes=((size, 1),),
        count=round(count),
        rate_per_s=count / seconds,
        depth=1,
        mean_depth=1.0,
        footprint_bytes=round(count * size),
        flushes_per_s=syncs / seconds,
    )
