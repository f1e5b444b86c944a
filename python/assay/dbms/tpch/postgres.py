"""PostgreSQL as an engine of TPC-H: a cluster per target, copied from the one that was loaded."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psycopg

from assay.binary import Binary
from assay.dbms.postgres import Cluster, Layout, PostgresServer, Settings, find, tuned
from assay.dbms.postgres.cluster import TABLESPACES
from assay.dbms.postgres.server import explained, require_eviction
from assay.dbms.postgres.settings import WATCHED, hardware, parse
from assay.dbms.postgres.statistics import io_methods, shown
from assay.dbms.tpch import dialect as dialects
from assay.dbms.tpch.answers import plain
from assay.dbms.tpch.data import Files
from assay.dbms.tpch.embedded import QueryError, timed
from assay.dbms.tpch.engine import Loaded, PlanNode, QueryPlan, QueryRun, QueryWish
from assay.dbms.tpch.estimate import BYTES
from assay.dbms.tpch.schema import INDEXES, TABLES, index_name
from assay.error import FAILED
from assay.untyped import Json

Connection = psycopg.Connection[Any]
_BLOCK = 1 << 20
_RANDOM = ("Index Scan", "Index Only Scan", "Bitmap Heap Scan", "Bitmap Index Scan", "Tid Scan")


class PostgreSQL:
    """PostgreSQL, started on folders of our own."""

    name = "postgres"
    dialect = dialects.POSTGRES

    def __init__(self, wish: QueryWish, workers: int) -> None:
        self.workers = workers
        self._wish = wish
        self._binaries = find(wish.pg_bin)
        if wish.evict:
            require_eviction(self._binaries)
        self.version = self._binaries.version
        self._tuned: Settings | None = None
        self._shown: dict[str, str] = {}
        self._clusters: dict[Path, Cluster] = {}
        self._server: PostgresServer | None = None
        self._connection: Connection | None = None

    def settings(self) -> Json:
        """What bears on figures, as the server showed it."""
        return {**self._shown, "frozen_costs": self._wish.freeze_costs}

    def load(self, files: Files, folder: Path) -> Loaded:
        """COPY, keys, indexes, VACUUM (ANALYZE), CHECKPOINT."""
        cluster = Cluster.create(self._binaries, self._layout(folder))
        self._clusters[folder] = cluster
        seconds: dict[str, float] = {}
        with PostgresServer(cluster, self._settings(folder, files.scale)) as server, explained(server):
            with server.connect() as connection:
                self._shown = shown(connection, WATCHED)
                if methods := io_methods(connection):
                    self._shown["io_methods_of_the_build"] = ", ".join(methods)
                _fill(connection, files, seconds, apart=self._wish.index is not None)
            with timed(seconds, "checkpoint"):
                server.checkpoint()
        return Loaded(seconds, cluster.bytes(), cluster.bytes_by_role())

    def copy(self, source: Path, folder: Path) -> None:
        """The loaded cluster on another target: the same pages, the same statistics."""
        self._clusters[folder] = Cluster.copy_of(self._clusters[source], self._layout(folder))

    def _layout(self, folder: Path) -> Layout:
        return Layout(data=folder, wal=self._wish.wal, temp=self._wish.temp, index=self._wish.index)

    def _settings(self, folder: Path, scale: float) -> Settings:
        """Those of the first target serve all: what differed would change plans."""
        if self._tuned is None:
            facts = Binary.find().document("facts", "--on", str(folder))
            self._tuned = tuned(
                self._binaries,
                hardware(facts),
                warehouse=True,
                data_bytes=int(scale * BYTES["postgres"][0]),
                freeze_costs=self._wish.freeze_costs,
                shared_buffers=self._wish.buffers_bytes,
            ).with_values(
                {
                    "statement_timeout": str(int(self._wish.limit_s * 1000)),
                    "autovacuum": "off",
                    "jit": "off",
                    **parse(list(self._wish.pg_settings)),
                }
            )
        return self._tuned

    def folders(self, folder: Path) -> Sequence[Path]:
        """Data, log, temporary files."""
        return self._clusters[folder].folders()

    def start(self, folder: Path) -> None:
        """Starts the server and connects."""
        self.stop()
        if self._tuned is None:
            raise QueryError("nothing was loaded", hint="load first", code=FAILED)
        self._server = PostgresServer(self._clusters[folder], self._tuned)
        self._server.start()
        self._connection = self._server.connect()

    def stop(self) -> None:
        """Stops the server and waits until it is gone."""
        if self._connection is not None:
            self._connection.close()
        server, self._server, self._connection = self._server, None, None
        if server is not None:
            server.stop()

    def kill(self) -> None:
        """Ends the server at once."""
        server, self._server, self._connection = self._server, None, None
        if server is not None:
            server.kill()

    def close(self) -> None:
        """Ends the server and removes what was made."""
        self.kill()
        for cluster in self._clusters.values():
            cluster.remove()
        self._clusters.clear()

    def empty(self, folder: Path) -> str:
        """Empties the buffers of a server that goes on running on a folder; says what was done."""
        if self._server is None or self._server.cluster is not self._clusters[folder]:
            self.start(folder)
        server, _ = self._running()
        with explained(server):
            return f"{server.evict()} buffers were emptied without a restart"

    def warm(self) -> str:
        """Reads all tables and indexes into shared buffers."""
        server, connection = self._running()
        with explained(server):
            there = connection.execute("select 1 from pg_available_extensions where name = 'pg_prewarm'").fetchone()
            if there is None:
                return ""
            connection.execute("create extension if not exists pg_prewarm")
            sql = """select sum(pg_prewarm(c.oid)), sum(pg_relation_size(c.oid)) from pg_class c
                     join pg_namespace n on n.oid = relnamespace where nspname = 'public' and relkind in ('r', 'i')"""
            row = connection.execute(sql).fetchone()
        buffers = self._shown.get("shared_buffers", "?")
        return f"pg_prewarm read {int(row[0] or 0)} pages into shared buffers of {buffers}" if row else ""

    def plan(self, sql: str) -> QueryPlan:
        """The plan; without costs it is the same on every target."""
        server, connection = self._running()
        with explained(server):
            text = "\n".join(row[0] for row in connection.execute(f"explain (costs off) {sql}").fetchall())
        return QueryPlan(hashlib.sha256(text.encode()).hexdigest()[:12], text)

    def run(self, sql: str) -> QueryRun:
        """Runs a query to the last row."""
        server, connection = self._running()
        with explained(server):
            self._flush(connection)  # What planning read must not count as this query's.
            waited, before = self._read_ms(server), server.counters()
            begun = time.perf_counter()
            try:
                rows = connection.execute(sql).fetchall()
            except psycopg.errors.Error as error:
                if not server.running:
                    raise
                words = str(error).splitlines()[0]
                raise QueryError(f"postgres: {words}", hint="the engine's own words", code=FAILED) from error
            seconds = time.perf_counter() - begun
            self._flush(connection)
            used = before.until(server.counters())
            read_s = (self._read_ms(server) - waited) / 1000
        return QueryRun(
            seconds=seconds,
            rows=plain(rows),
            cpu_s=used.cpu_s,
            read_bytes=float(used.process_read_bytes),
            written_bytes=float(used.process_written_bytes),
            wait_s=min(seconds, max(0.0, read_s) / self._processes(connection, sql)),
            wait_method="derived",
            buffer_bytes=used.engine.get("buffer_missed_bytes"),
        )

    def _flush(self, connection: Connection) -> None:
        """Sessions hand in what they counted when they are idle, at most once a second unless they are told to."""
        if self._binaries.major >= 15:
            connection.execute("select pg_stat_force_next_flush()")

    @staticmethod
    def _read_ms(server: PostgresServer) -> float:
        """Time that all processes together spent in reads, as `track_io_timing` counts it."""
        with server.connect() as other:
            row = other.execute("select sum(blk_read_time) from pg_stat_database").fetchone()
        return float(row[0] or 0.0) if row else 0.0

    @staticmethod
    def _processes(connection: Connection, sql: str) -> int:
        """Processes that share a query: the leader and the workers that its plan wants."""
        text = "\n".join(row[0] for row in connection.execute(f"explain (costs off) {sql}").fetchall())
        wanted = [int(line.split(": ")[1]) for line in text.splitlines() if "Workers Planned" in line]
        return 1 + max(wanted, default=0)

    def profile(self, sql: str) -> PlanNode | None:
        """The node with the most time of its own."""
        server, connection = self._running()
        with explained(server):
            row = connection.execute(f"explain (analyze, buffers, format json) {sql}").fetchone()
        if row is None:
            return None
        document = row[0] if isinstance(row[0], list) else json.loads(row[0])
        timings = sorted(own_times(document[0]["Plan"], 1), reverse=True)
        whole = sum(seconds for seconds, _ in timings)
        name = timings[0][1]
        pattern = "sequential" if "Seq Scan" in name else "random" if any(word in name for word in _RANDOM) else ""
        return PlanNode(name, timings[0][0] / whole, pattern) if whole > 0 else None

    def _running(self) -> tuple[PostgresServer, Connection]:
        if self._server is None or self._connection is None:
            raise QueryError("postgres is not running", hint="start it first", code=FAILED)
        return self._server, self._connection


def own_times(node: Json, processes: int) -> Iterator[tuple[float, str]]:
    """Time of each node without that of the nodes below, ms, and its name.

    Below a Gather a node's loops run side by side in `processes` processes.
    """
    below = processes if not node["Node Type"].startswith("Gather") else 1 + int(node.get("Workers Launched", 0))
    children = node.get("Plans", [])
    own = _whole(node, processes) - sum(_whole(child, below) for child in children)
    name = " ".join([node["Node Type"], *([node["Relation Name"]] if "Relation Name" in node else [])])
    yield max(0.0, own), name
    for child in children:
        yield from own_times(child, below)


def _whole(node: Json, processes: int) -> float:
    return float(node.get("Actual Total Time", 0.0)) * float(node.get("Actual Loops", 1)) / processes


def _fill(connection: Connection, files: Files, seconds: dict[str, float], *, apart: bool) -> None:
    """Tables, then keys and indexes; `apart` puts those into a tablespace of their own."""
    space = TABLESPACES["index"]
    keys, others = (f" using index tablespace {space}", f" tablespace {space}") if apart else ("", "")
    with timed(seconds, "copy"):
        for table in TABLES:
            connection.execute(dialects.POSTGRES.create(table))
            statement = f"copy {table.name} from stdin (delimiter '|')"
            with connection.cursor().copy(statement) as copy, files.table(table.name).open("rb") as file:
                while lines := file.readlines(_BLOCK):
                    copy.write(b"".join(lines).replace(b"|\n", b"\n"))
    with timed(seconds, "indexes"):
        for table in TABLES:
            connection.execute(f"alter table {table.name} add primary key ({', '.join(table.primary_key)}){keys}")
        for name, columns in INDEXES:
            connection.execute(f"create index {index_name(name, columns)} on {name} ({columns}){others}")
    with timed(seconds, "analyze"):
        connection.execute("vacuum (analyze)")
