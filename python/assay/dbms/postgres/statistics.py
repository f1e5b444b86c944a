"""What the server itself counts: bytes read and written, log, checkpoints; by what its version has."""

from __future__ import annotations

from typing import Any

import psycopg

Connection = psycopg.Connection[Any]
_PAGE = 8192

_DATABASE = """
select sum(blks_read) * 8192, sum(blks_hit) * 8192, sum(temp_bytes), sum(xact_commit), sum(xact_rollback),
       sum(deadlocks), sum(conflicts) from pg_stat_database
"""
_DATABASE_NAMES = (
    "buffer_missed_bytes",
    "buffer_hit_bytes",
    "temp_bytes",
    "commits",
    "rollbacks",
    "deadlocks",
    "conflicts",
)


def counts(connection: Connection) -> dict[str, float]:
    """The server's counts since its statistics began. Only differences of two readings mean something."""
    major = connection.info.server_version // 10000
    row = _one(connection, _DATABASE)
    found = dict(zip(_DATABASE_NAMES, row, strict=True))
    (found["wal_bytes"],) = _one(connection, "select wal_bytes from pg_stat_wal")
    found |= _checkpoints(connection, major)
    found |= _io(connection, major)
    return {name: float(value or 0) for name, value in found.items()}


def _checkpoints(connection: Connection, major: int) -> dict[str, Any]:
    if major >= 17:
        sql = "select num_timed, num_requested, buffers_written * 8192 from pg_stat_checkpointer"
    else:
        sql = "select checkpoints_timed, checkpoints_req, buffers_checkpoint * 8192 from pg_stat_bgwriter"
    timed, requested, written = _one(connection, sql)
    return {"checkpoints": timed + requested, "checkpoint_written_bytes": written}


def _io(connection: Connection, major: int) -> dict[str, Any]:
    """Bytes that the server asked the kernel for. Before 16 only what missed its buffers is known, and no writes of
    backends that are not in `pg_stat_bgwriter`."""
    if major < 16:
        written = "select (buffers_checkpoint + buffers_clean + buffers_backend) * 8192 from pg_stat_bgwriter"
        return {"engine_written_bytes": _one(connection, written)[0]}
    if major < 18:
        sql = """select sum(reads * op_bytes), sum(coalesce(writes, 0) * op_bytes + coalesce(extends, 0) * op_bytes)
                 from pg_stat_io"""
    else:
        sql = """select sum(read_bytes), sum(coalesce(write_bytes, 0) + coalesce(extend_bytes, 0)) from pg_stat_io
                 where object <> 'wal'"""
    read, written = _one(connection, sql)
    return {"engine_read_bytes": read, "engine_written_bytes": written}


def _one(connection: Connection, sql: Any) -> tuple[Any, ...]:
    row = connection.execute(sql).fetchone()
    assert row is not None, sql  # noqa: S101  Aggregates and one-row views have a row.
    return tuple(row)


def shown(connection: Connection, names: tuple[str, ...]) -> dict[str, str]:
    """Settings as the server has them; those that its version does not know are left out."""
    sql = "select name, current_setting(name) from pg_settings where name = any(%s) order by name"
    return {str(name): str(value) for name, value in connection.execute(sql, [list(names)]).fetchall()}


def io_methods(connection: Connection) -> list[str]:
    """Ways of asynchronous I/O that this build knows; empty before 18."""
    row = connection.execute("select enumvals from pg_settings where name = 'io_method'").fetchone()
    return list(row[0]) if row is not None and row[0] else []
