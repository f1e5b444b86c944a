"""SQL over the results of one run or of many."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb

from assay.error import BAD_JOB, AssayError
from assay.store.results import load
from assay.store.tables import TABLES


class QueryError(AssayError):
    """A query that DuckDB does not accept."""


def connect(directories: Sequence[Path]) -> duckdb.DuckDBPyConnection:
    """DuckDB in memory with a view for every table; `result` is the folder that a row comes from."""
    for directory in directories:
        _ensure_tables(directory)
    connection = duckdb.connect(":memory:")
    for table in TABLES:
        connection.execute(_view(table, directories))
    return connection


def _ensure_tables(directory: Path) -> None:
    """Writes the tables where they are missing or older than a record, as after a kill."""
    if not (directory / "plan.json").is_file():
        hint = "name the folder that a run wrote"
        raise AssayError(f"{directory} holds no results", hint=hint, code=BAD_JOB)
    written = [directory / f"{table}.parquet" for table in TABLES]
    sources = [directory / "journal.ndjson", *(directory / "records").glob("*.json")]
    newest = max((path.stat().st_mtime_ns for path in sources if path.exists()), default=0)
    if any(not path.is_file() or path.stat().st_mtime_ns < newest for path in written):
        load(directory)


def _view(table: str, directories: Sequence[Path]) -> str:
    files = ", ".join(_quoted(str(directory / f"{table}.parquet")) for directory in directories)
    folder = "regexp_extract(filename, '([^/]+)/[^/]+$', 1)"
    return (
        f"CREATE VIEW {table} AS SELECT * EXCLUDE (filename), {folder} AS result "  # noqa: S608  Names are our own.
        f"FROM read_parquet([{files}], union_by_name = true, filename = true)"
    )


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def run(directories: Sequence[Path], sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Column names and rows of a query."""
    connection = connect(directories)
    try:
        cursor = connection.execute(sql)
        columns = [str(column[0]) for column in cursor.description or ()]
        return columns, cursor.fetchall()
    except duckdb.Error as error:
        first = str(error).strip().splitlines()[0]
        hint = f"the views are {', '.join(TABLES)}; `describe classes` shows columns"
        raise QueryError(f"the query failed: {first}", hint=hint, code=BAD_JOB) from error
    finally:
        connection.close()
