"""Engines by name."""

from __future__ import annotations

import os

from assay.dbms.tpch.embedded import DuckDB, EngineError, QueryError, SQLite
from assay.dbms.tpch.engine import Engine, QueryWish
from assay.error import BAD_JOB, AssayError, did_you_mean

NAMES = ("duckdb", "postgres", "sqlite", "sqlserver")


def require(wish: QueryWish) -> None:
    """Refuses an engine that is none, or that cannot do what is asked.

    Raises:
        AssayError: where it is so.
    """
    if wish.name not in NAMES:
        raise AssayError(f"there is no engine `{wish.name}`", hint=did_you_mean(wish.name, NAMES), code=BAD_JOB)
    if wish.name == "sqlserver" and not wish.connect:
        hint = "say --connect 'Server=HOST,PORT;User Id=NAME;Password=WORD'"
        raise AssayError("SQL Server is used where it runs", hint=hint, code=BAD_JOB)
    if wish.sqlserver is not None and wish.name != "sqlserver":
        hint = "leave --hybrid-buffer-pool, --affinity and --recovery-interval out, or take --engine sqlserver"
        raise AssayError(f"{wish.name} has no such settings", hint=hint, code=BAD_JOB)
    if wish.evict and wish.name != "postgres":
        hint = "leave --cold-by out, or take --engine postgres"
        raise AssayError(f"{wish.name} cannot empty its buffer while it runs", hint=hint, code=BAD_JOB)
    if wish.name in ("postgres", "sqlserver"):
        return
    if wish.wal is not None:
        hint = "leave --wal out, or take --engine postgres"
        raise AssayError(f"{wish.name} writes no log in queries that could lie elsewhere", hint=hint, code=BAD_JOB)
    if wish.index is not None or wish.pg_settings:
        message = f"--index and --pg-set are not of {wish.name}"
        raise AssayError(message, hint="leave them out, or take --engine postgres", code=BAD_JOB)


def make(wish: QueryWish) -> Engine:
    """The engine.

    Raises:
        AssayError: where there is none of that name, it cannot do what was asked, or its programs are not there.
    """
    require(wish)
    workers = len(os.sched_getaffinity(0))
    if wish.name == "postgres":
        from assay.dbms.tpch.postgres import PostgreSQL

        return PostgreSQL(wish, workers)
    if wish.name == "sqlserver":
        from assay.dbms.sqlserver.engine import SqlServer

        return SqlServer(wish, workers)
    if wish.name == "duckdb":
        return DuckDB(workers, wish.temp, wish.limit_s)
    return SQLite(workers, wish.temp, wish.limit_s)


__all__ = ["NAMES", "EngineError", "QueryError", "QueryWish", "make"]
