"""A process that has one embedded database open: questions come in as lines of JSON, answers go out.

It is a process of its own so that its CPU and its bytes are those of the database alone, and so that it can be ended in
the middle of a query.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import resource
import signal
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from assay.dbms.tpch.answers import plain
from assay.untyped import Json

_PR_SET_PDEATHSIG = 1


class Meter:
    """Counters of this process from now on."""

    def __init__(self) -> None:
        self._before = self._now()

    @staticmethod
    def _now() -> tuple[float, ...]:
        used = resource.getrusage(resource.RUSAGE_SELF)
        moved = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
        ran, queued, _ = Path(f"/proc/self/task/{os.getpid()}/schedstat").read_text().split()
        cpu_s = used.ru_utime + used.ru_stime
        read, written = float(moved["read_bytes"]), float(moved["write_bytes"])
        return time.perf_counter(), cpu_s, read, written, int(ran) / 1e9, int(queued) / 1e9

    def read(self) -> Json:
        """What was used since."""
        seconds, cpu_s, read, written, ran_s, queued_s = (
            now - before for now, before in zip(self._now(), self._before, strict=True)
        )
        wait_s = min(seconds, max(0.0, seconds - ran_s - queued_s))
        moved = {"read_bytes": read, "written_bytes": written}
        return {"cpu_s": cpu_s, **moved, "wait_s": wait_s, "queued_s": min(queued_s, seconds)}


class Duck:
    """DuckDB."""

    def __init__(self, file: str, options: Json) -> None:
        import duckdb

        self.connection = duckdb.connect(file, config=dict(options))

    def rows(self, sql: str) -> list[Any]:
        """Runs a statement to its last row."""
        found: list[Any] = self.connection.execute(sql).fetchall()
        return found

    def plan(self, sql: str) -> Json:
        """Operators with their tables, without estimates."""
        text = self.rows(f"explain (format json) {sql}")[0][1]
        return {"text": "\n".join(_operators(json.loads(text), 0))}

    def profile(self, sql: str) -> Json | None:
        """The operator with the most time of its own."""
        text = self.rows(f"explain (analyze, format json) {sql}")[0][1]
        timed = sorted(_timings(json.loads(text)), reverse=True)
        whole = sum(seconds for seconds, _ in timed)
        if not timed or whole <= 0:
            return None
        name = timed[0][1]
        # Tables are columns in blocks that scans read in order.
        return {"name": name, "share": timed[0][0] / whole, "pattern": "sequential" if "SCAN" in name else ""}

    def close(self) -> None:
        """Gives everything back."""
        self.connection.close()


def _operators(nodes: Any, depth: int) -> Iterator[str]:
    for node in nodes if isinstance(nodes, list) else [nodes]:
        extra = node.get("extra_info") or {}
        table = extra.get("Table", "") if isinstance(extra, dict) else ""
        yield " " * depth + f"{node.get('name', '').strip()} {str(table).rsplit('.', 1)[-1]}".rstrip()
        yield from _operators(node.get("children") or [], depth + 1)


def _timings(node: Any) -> Iterator[tuple[float, str]]:
    """Own time and name of every operator; the names of the keys changed with version 2."""
    for one in node if isinstance(node, list) else [node]:
        name = str(one.get("type") or one.get("operator_name") or one.get("operator_type") or "").strip()
        if name and not name.startswith(("EXPLAIN", "RESULT")):
            extra = one.get("extra_info") or {}
            table = str(extra.get("Table", "") if isinstance(extra, dict) else "").rsplit(".", 1)[-1]
            yield float(one.get("timing") or one.get("operator_timing") or 0.0), f"{name} {table}".rstrip()
        yield from _timings(one.get("children") or [])
        yield from _timings(one.get("operator") or [])


class Lite:
    """SQLite."""

    def __init__(self, file: str, options: Json) -> None:
        self.connection = sqlite3.connect(file)
        for name, value in options.items():
            self.connection.execute(f"pragma {name} = {value}")

    def rows(self, sql: str) -> list[Any]:
        """Runs a statement to its last row."""
        return self.connection.execute(sql).fetchall()

    def plan(self, sql: str) -> Json:
        """The steps of the plan; numbers of registers are left out."""
        steps = [str(row[3]) for row in self.rows(f"explain query plan {sql}")]
        return {"text": "\n".join(re.sub(r"\d{3,}", "N", step) for step in steps)}

    def profile(self, sql: str) -> None:
        """SQLite times no nodes."""
        del sql

    def close(self) -> None:
        """Gives everything back."""
        self.connection.close()


OPENERS: dict[str, Callable[[str, Json], Duck | Lite]] = {"duckdb": Duck, "sqlite": Lite}


def answer(database: Duck | Lite, asked: Json) -> Json:
    """The answer to one question."""
    kind, sql = asked["do"], asked.get("sql", "")
    if kind == "plan":
        return database.plan(sql)
    if kind == "profile":
        return database.profile(sql) or {}
    if kind == "execute":
        for one in asked["statements"]:
            database.rows(one)
        return {}
    meter, begun = Meter(), time.perf_counter()
    rows = database.rows(sql)
    seconds = time.perf_counter() - begun
    return {"seconds": seconds, **meter.read(), "rows": plain(rows)}


def main() -> int:
    """Serves until its input ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # Nobody would read the answers.
    name, options = sys.argv[1], json.loads(sys.argv[2])
    database = None
    for line in sys.stdin:
        try:
            asked = json.loads(line)
            if asked["do"] == "open":
                database = OPENERS[name](asked["file"], options)
                found: Json = {}
            elif database is None:
                found = {"error": "nothing is open"}
            elif asked["do"] == "close":
                database.close()
                database, found = None, {}
            else:
                found = answer(database, asked)
        except Exception as error:  # noqa: BLE001  Whatever the engine says is the answer.
            found = {"error": f"{type(error).__name__}: {error}".splitlines()[0]}
        sys.stdout.write(json.dumps(found) + "\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
