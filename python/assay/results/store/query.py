"""SQL over the results of one run or of many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import duckdb

from assay.error import BAD_JOB, AssayError
from assay.results import work
from assay.results.store.results import load
from assay.results.store.tables import TABLES

EXPLORED = "explore.json"
"""What a folder of `assay explore` is known by; its points are a table, too."""
Answer = TypeVar("Answer")


class QueryError(AssayError):
    """A query that DuckDB does not accept."""


# Nothing outside of the connection can be reached from here on, and nothing of this can be taken back.
_LOCKED = (
    "SET temp_directory = ''",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)
_READS = {duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN, duckdb.StatementType.PRAGMA}


def connect(directories: Sequence[Path]) -> duckdb.DuckDBPyConnection:
    """DuckDB in memory with every table loaded, shut off from files and network.

    `result` is the folder that a row comes from.
    """
    explored = [directory for directory in directories if (directory / EXPLORED).is_file()]
    runs = [directory for directory in directories if directory not in explored]
    for directory in runs:
        _ensure_tables(directory)
    connection = duckdb.connect(":memory:")
    for table in TABLES if runs else ():
        connection.execute(_loaded(table, runs))
    if explored:
        # Looked at where they lie: they may be more than memory holds.
        connection.execute(_points(explored))
        allowed = ", ".join(_quoted(str(directory.absolute() / "points")) for directory in explored)
        connection.execute(f"SET allowed_directories = [{allowed}]")
    for setting in _LOCKED:
        connection.execute(setting)
    return connection


def _ensure_tables(directory: Path) -> None:
    """Writes the tables where they are missing or older than a record, as after a kill."""
    if not (directory / "plan.json").is_file() and not (directory / work.FOLDER).is_dir():
        hint = "name the folder that a run wrote"
        raise AssayError(f"{directory} holds no results", hint=hint, code=BAD_JOB)
    written = [directory / f"{table}.parquet" for table in TABLES]
    sources = [
        directory / "journal.ndjson",
        *(directory / "records").glob("*.json"),
        *(directory / work.FOLDER).glob("*.json"),
    ]
    newest = max((path.stat().st_mtime_ns for path in sources if path.exists()), default=0)
    if any(not path.is_file() or path.stat().st_mtime_ns < newest for path in written):
        load(directory)


def _loaded(table: str, directories: Sequence[Path]) -> str:
    files = ", ".join(_quoted(str(directory / f"{table}.parquet")) for directory in directories)
    folder = "regexp_extract(filename, '([^/]+)/[^/]+$', 1)"
    return (
        f"CREATE TABLE {table} AS SELECT * EXCLUDE (filename), {folder} AS result "  # noqa: S608  Names are our own.
        f"FROM read_parquet([{files}], union_by_name = true, filename = true)"
    )


def _points(directories: Sequence[Path]) -> str:
    files = ", ".join(_quoted(f"{directory.absolute()}/points/*.parquet") for directory in directories)
    folder = "regexp_extract(filename, '([^/]+)/points/[^/]+$', 1)"
    return (
        f"CREATE VIEW points AS SELECT * EXCLUDE (filename), {folder} AS result "  # noqa: S608  Names are our own.
        f"FROM read_parquet([{files}], filename = true)"
    )


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _require_reading(sql: str) -> None:
    """Refuses what is no question: results are read here, and changed nowhere."""
    for statement in duckdb.extract_statements(sql):
        if statement.type not in _READS:
            kind = statement.type.name.lower().replace("_", " ")
            hint = (
                "ask with SELECT; `assay report` exports CSV and Parquet, and a shell can redirect what --json prints"
            )
            raise QueryError(
                f"a query reads results, and this is a statement of the kind {kind}", hint=hint, code=BAD_JOB
            )


def run(directories: Sequence[Path], sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Column names and rows of a query."""

    def rows(connection: duckdb.DuckDBPyConnection) -> tuple[list[str], list[tuple[Any, ...]]]:
        cursor = connection.execute(sql)
        return [str(column[0]) for column in cursor.description or ()], cursor.fetchall()

    return _answered(directories, sql, rows)


def arrow(directories: Sequence[Path], sql: str) -> Any:
    """The answer of a query as a `pyarrow.Table`."""
    return _answered(directories, sql, lambda connection: connection.sql(sql).to_arrow_table())


def _answered(directories: Sequence[Path], sql: str, fetch: Callable[[duckdb.DuckDBPyConnection], Answer]) -> Answer:
    connection = connect(directories)
    try:
        _require_reading(sql)
        return fetch(connection)
    except duckdb.Error as error:
        first = str(error).strip().splitlines()[0]
        hint = f"the tables are {', '.join(TABLES)}; `describe classes` shows columns"
        raise QueryError(f"the query failed: {first}", hint=hint, code=BAD_JOB) from error
    finally:
        connection.close()
