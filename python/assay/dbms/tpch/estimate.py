"""What a database of TPC-H takes, about: known before it is made, for the plan."""

from __future__ import annotations

# Bytes at scale factor 1 and beside it. PostgreSQL and SQL Server: tables, indexes, and the log of loading them, for
# 1.1 GB of text; DuckDB: a quarter of the text, and as much for files in the making; SQLite: somewhat more than the
# text, and sorting for indexes.
BYTES = {
    "duckdb": (600_000_000, 20_000_000),
    "postgres": (3_200_000_000, 200_000_000),
    "sqlite": (2_400_000_000, 20_000_000),
    "sqlserver": (3_500_000_000, 300_000_000),
}
# Of a query, and of making and loading, at scale factor 1, s: as seen on two CPUs; a server starts for each cold query.
_QUERY_S = {"duckdb": 0.6, "postgres": 7.0, "sqlite": 7.0, "sqlserver": 7.0}
_LOAD_S = {"duckdb": 20.0, "postgres": 100.0, "sqlite": 100.0, "sqlserver": 100.0}
_START_S = {"duckdb": 0.1, "postgres": 0.5, "sqlite": 0.1, "sqlserver": 0.5}


def needed_bytes(engine: str, scale: float) -> int:
    """Bytes of a filled folder, with room for the largest temporary files."""
    per_scale, more = BYTES[engine]
    return int(scale * per_scale) + more


def seconds(engine: str, scale: float, runs: int) -> float:
    """Of so many runs of queries, and of loading what they ask."""
    return runs * (_START_S[engine] + scale * _QUERY_S[engine]) + scale * _LOAD_S[engine]
