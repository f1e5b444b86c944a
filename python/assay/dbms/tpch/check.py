"""What answers are held against: stored ones where there are any, a second engine on the same files otherwise."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from assay.dbms.tpch import answers, query
from assay.dbms.tpch.data import Files
from assay.dbms.tpch.embedded import DuckDB, SQLite
from assay.dbms.tpch.estimate import needed_bytes
from assay.dbms.tpch.order import TpchFlags
from assay.dbms.workspace import Workspace


class Reference:
    """Right answers, and where they come from."""

    def __init__(
        self,
        source: str,
        stored: dict[str, answers.Summary] | None = None,
        rows: dict[str, list[answers.Row]] | None = None,
    ) -> None:
        self.source = source
        self._stored = stored or {}
        self._rows = rows or {}

    def judge(self, name: str, rows: Sequence[answers.Row]) -> str:
        """How an answer is wrong; empty where it is right."""
        if name in self._stored:
            return answers.against_summary(rows, self._stored[name])
        return answers.difference(rows, self._rows[name])


def stored(order: TpchFlags) -> dict[str, answers.Summary]:
    """Stored answers that fit: they are those of the validation parameters."""
    return answers.stored(order.scale) if order.seed is None else {}


def second_bytes(order: TpchFlags) -> int:
    """Bytes that the second engine takes while answers are checked."""
    return 0 if stored(order) else needed_bytes(_second(order).name, order.scale)


def _second(order: TpchFlags) -> DuckDB | SQLite:
    """DuckDB checks the others; SQLite checks DuckDB."""
    workers = len(os.sched_getaffinity(0))
    return SQLite(workers) if order.engine.name == "duckdb" else DuckDB(workers)


def reference(order: TpchFlags, files: Files, space: Workspace, listen: Callable[[str], None]) -> Reference:
    """The right answers to the queries that were asked."""
    known = stored(order)
    if known:
        return Reference(f"the stored answers of scale factor {order.scale:g}", stored=known)
    engine = _second(order)
    listen(f"answers of {engine.name} on the same files")
    folder = space.folder("second")
    try:
        engine.load(files, folder)
        engine.start(folder)
        wanted = query.queries(engine.dialect, order.scale, order.queries, order.seed)
        rows = {one.name: engine.run(one.sql).rows for one in wanted}
    finally:
        engine.kill()
        space.remove(folder)
    return Reference(f"{engine.name} {engine.version} on the same files", rows=rows)
