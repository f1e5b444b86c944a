"""What differs between the engines' SQL."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from assay.dbms.tpch.schema import Column, Table


@dataclass(frozen=True)
class Dialect:
    """How one engine writes what the others write otherwise; templates call these."""

    name: str
    year_form: str
    substring_name: str
    date_form: str
    types: tuple[tuple[str, str], ...]
    top_first: bool = False

    def year(self, expression: str) -> str:
        """The year of a date, as a whole number."""
        return self.year_form.format(expression)

    def part(self, expression: str, start: int, length: int) -> str:
        """A piece of a text, counted from 1."""
        return f"{self.substring_name}({expression}, {start}, {length})"

    def date(self, day: str | dt.date) -> str:
        """A date as a literal."""
        return self.date_form.format(day)

    def top(self, rows: int) -> str:
        """The limit, where it stands behind `select`."""
        return f"top {rows}" if self.top_first else ""

    def limit(self, rows: int) -> str:
        """The limit, where it stands at the end."""
        return "" if self.top_first else f"limit {rows}"

    def column(self, column: Column) -> str:
        """A column's declaration."""
        known = dict(self.types)
        base = column.kind.partition("(")[0]
        return f"{column.name} {known.get(base, column.kind)} not null"

    def create(self, table: Table, *, keyed: bool = False) -> str:
        """The statement that makes a table."""
        lines = [self.column(column) for column in table.columns]
        if keyed:
            lines.append(f"primary key ({', '.join(table.primary_key)})")
        return f"create table {table.name} ({', '.join(lines)})"


_STANDARD = (("key", "integer"), ("int", "integer"), ("money", "decimal(15,2)"))
DUCKDB = Dialect(
    "duckdb",
    "extract(year from {})",
    "substring",
    "date '{}'",
    (("key", "bigint"), ("int", "integer"), ("money", "decimal(15,2)"), ("char", "varchar"), ("varchar", "varchar")),
)
POSTGRES = Dialect("postgres", "cast(extract(year from {}) as integer)", "substring", "date '{}'", _STANDARD)
SQLITE = Dialect(
    "sqlite",
    "cast(substr({}, 1, 4) as integer)",
    "substr",
    "'{}'",
    (
        ("key", "integer"),
        ("int", "integer"),
        ("money", "real"),
        ("date", "text"),
        ("char", "text"),
        ("varchar", "text"),
    ),
)
SQLSERVER = Dialect(
    "sqlserver", "year({})", "substring", "cast('{}' as date)", (("key", "int"), *_STANDARD[1:]), top_first=True
)
DIALECTS = {dialect.name: dialect for dialect in (DUCKDB, POSTGRES, SQLITE, SQLSERVER)}
