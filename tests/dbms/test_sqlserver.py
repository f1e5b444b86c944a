"""SQL Server's adapter against a stand-in at the library's edge: DuckDB answers, statements are kept."""

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from assay.binary import Binary
from assay.dbms import secret
from assay.dbms.grant import Grant
from assay.dbms.sqlserver.connection import Address, ServerError, address, connect
from assay.dbms.sqlserver.engine import SqlServer
from assay.dbms.sqlserver.settings import Settings, from_flags
from assay.dbms.target import DatabaseTarget
from assay.dbms.tpcc import run as tpcc_run
from assay.dbms.tpcc.order import TpccFlags
from assay.dbms.tpcc.sqlserver import SqlServerBench
from assay.dbms.tpch import data, engines, query
from assay.dbms.tpch.dialect import DUCKDB, SQLSERVER
from assay.dbms.tpch.engine import QueryWish
from assay.dbms.tpch.schema import TABLES
from assay.error import AssayError
from assay.study.run import Summary
from assay.study.work import load

STRING = "Server=tcp:db.example,14330;User Id=sa;Password=secret;Encrypt=yes"


# What the server says of itself before anything is set.
_AS_IT_WAS: dict[str, list[tuple[Any, ...]]] = {
    "hybrid_buffer_pool_configuration": [(False,)],
    "affinity_type_desc": [("MANUAL",)],
    "cpu_id": [(3,), (4,)],
    "sys.configurations": [(7,)],
}


class StandIn:
    """A server: what it was told, and the rows of the tables, in one DuckDB per name of a database."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.databases: dict[str, Any] = {}
        known = zip(query.queries(SQLSERVER, 0.01), query.queries(DUCKDB, 0.01), strict=True)
        self.meaning = {ours.sql: theirs.sql for ours, theirs in known}
        self.counters = 0

    def connect(self, where: Address) -> "Session":
        assert where.password == "secret"  # noqa: S105
        return Session(self)


class Session:
    """A connection and its cursor in one."""

    def __init__(self, server: StandIn) -> None:
        self.server, self.rows, self.database, self.showplan = server, [], "", False  # type: ignore[var-annotated]

    def cursor(self) -> "Session":
        return self

    def close(self) -> None:
        pass

    def fetchall(self) -> list[Any]:
        return self.rows

    def execute(self, sql: str, _parameters: Any = ()) -> None:
        self.server.told.append(sql)
        self.rows = self._answer(sql)

    def _answer(self, sql: str) -> list[Any]:
        server = self.server
        if sql in server.meaning:
            if self.showplan:
                return [("text of the statement",), ("  |--Clustered Index Scan(lineitem)",)]
            return list(server.databases[self.database].execute(server.meaning[sql]).fetchall())
        if sql.startswith("create database"):
            for path in re.findall(r"filename = N'([^']+)'", sql):
                Path(path).touch()
            server.databases.setdefault(re.findall(r"\[(\w+)\]", sql)[0], None)
        if sql.startswith("use"):
            self.database = re.findall(r"\[(\w+)\]", sql)[0]
            server.databases[self.database] = server.databases[self.database] or duckdb.connect()
        if sql.startswith("create table"):
            table = next(one for one in TABLES if f"create table {one.name} (" in sql)
            server.databases[self.database].execute(DUCKDB.create(table))
        self.showplan = sql == "set showplan_text on" or (self.showplan and sql != "set showplan_text off")
        if "dm_exec_sessions" in sql:
            server.counters += 1
            return [(100 * server.counters, 10 * server.counters, 0, 1000 * server.counters, 5 * server.counters)]
        if "dm_io_virtual_file_stats" in sql:
            server.counters += 1
            return [(8192 * server.counters, 0, 512 * server.counters, 1000 * server.counters, server.counters)]
        for words, rows in _AS_IT_WAS.items():
            if words in sql:
                return rows
        return [("Microsoft SQL Server 2022 (a stand-in)\nnothing",)] if "@@version" in sql else []

    def copy_to(self, file: Any, table_or_view: str, sep: str, columns: list[str]) -> None:
        assert sep == "|"
        rows = [line.rstrip("\n").split("|") for line in file]
        assert {len(row) for row in rows} == {len(columns)}
        from_values = ", ".join(f"unnest(${n})" for n in range(1, len(columns) + 1))
        statement = f"insert into {table_or_view} select {from_values}"
        self.server.databases[self.database].execute(statement, [list(column) for column in zip(*rows, strict=True)])


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    found = StandIn()
    real = engines.make

    def make(wish: QueryWish) -> Any:
        if wish.name != "sqlserver":
            return real(wish)
        return SqlServer(wish, 2, connector=found.connect)

    monkeypatch.setattr(engines, "make", make)
    yield found
    for one in found.databases.values():
        if one is not None:
            one.close()


class Seen(SqlServerBench):
    """TPC-C's database as the server is told of it; what the driver does goes to SQLite, which answers."""

    def __init__(self, order: TpccFlags, binary: Binary, target: DatabaseTarget) -> None:
        super().__init__(order, binary, target, connector=self.server.connect)
        self.told_driver = super().store()

    server: StandIn

    def store(self) -> dict[str, Any]:
        return {"sqlite": {"path": str(self._places["data"].path / "stand-in.sqlite"), "synchronous": "off"}}

    def snapshot(self) -> Any:
        made = super().snapshot()
        shutil.copyfile(self._places["data"].path / "stand-in.sqlite", getattr(made, "path"))  # noqa: B009
        return made

    def restore(self, snapshot: Any) -> None:
        super().restore(snapshot)
        shutil.copyfile(snapshot.path, self._places["data"].path / "stand-in.sqlite")


@pytest.mark.usefixtures("assayer")
def test_tpcc_makes_backs_up_restores_and_drops_databases_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tpcc: Callable[..., Summary]
) -> None:
    Seen.server = server = StandIn()
    monkeypatch.setenv(secret.WORD, "secret")
    monkeypatch.setitem(tpcc_run._BENCHES, "sqlserver", Seen)
    for name in ("a", "b", "log", "fast"):
        (tmp_path / name).mkdir()
    asked = {
        "engine": "sqlserver", "duration": "500ms", "ramp": "100ms", "small": True,
        "hybrid_buffer_pool": "on", "affinity": "0-1", "recovery_interval": 60,
    }  # fmt: skip
    places = [str(tmp_path / "a"), str(tmp_path / "b"), f"wal={tmp_path / 'log'}", f"temp={tmp_path / 'fast'}"]
    summary = tpcc(asked, places, tmp_path / "out", grant=Grant(connect=STRING.replace("Password=secret;", "")))
    assert summary.exit_code == 0, summary.not_measured
    for record in load(tmp_path / "out"):
        assert record["subject"]["settings"]["hybrid_buffer_pool"] == "on"
        assert "a verified adapter" in [one["what"] for one in record["not_measured"]]
        assert record["figures"]["engine_read_bytes"]["value"] > 0
        assert record["figures"]["engine_cpu_s"]["value"] > 0
        assert {one["role"] for one in record["targets"]} == {"data", "wal"}
    told = server.told
    made = [re.findall(r"\[(\w+)\]", one)[0] for one in told if one.startswith("create database")]
    dropped = [re.findall(r"\[(\w+)\]", one)[0] for one in told if one.startswith("drop database")]
    assert sorted(made) == sorted(dropped)
    assert len(made) == 2
    (backup,) = [one for one in told if one.startswith("backup")]
    assert f"backup database [{made[0]}] to disk = N'" in backup
    restored = [one for one in told if one.startswith("restore")]
    assert [re.findall(r"\[(\w+)\]", one)[0] for one in restored] == made
    assert all("replace, move N'data' to N'" in one and "/log/" in one for one in restored)
    assert sum("allow_snapshot_isolation on" in one for one in told) == 2
    assert sum("name = tempdev" in one and "/fast/tempdb.mdf'" in one for one in told) == 2
    assert "secret" not in "".join(path.read_text() for path in (tmp_path / "out").rglob("*.json*"))
    for name in ("a", "b", "log"):
        assert list((tmp_path / name).iterdir()) == []


def test_the_driver_is_told_where_the_server_is(tmp_path: Path) -> None:
    Seen.server = StandIn()
    order = TpccFlags(engine="sqlserver", connect=STRING, isolation="serializable")
    target = DatabaseTarget("a", tmp_path, "ext4", ())
    bench = Seen(order, Binary(Path("/nothing")), target)
    told = bench.told_driver["sqlserver"]
    assert told.pop("database").startswith("assay_tpcc_")
    assert told == {
        "host": "db.example", "port": 14330, "user": "sa", "password": "secret", "isolation": "serializable",
    }  # fmt: skip
    bench.remove()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("order", "words"),
    [
        (TpccFlags(engine="sqlserver"), "where it runs"),
        (TpccFlags(engine="sqlserver", connect=STRING, index="/x"), "keeps its indexes beside its data"),
        (TpccFlags(engine="sqlite", sqlserver=Settings(True)), "has no such settings"),
    ],
)
def test_orders_that_sql_server_cannot_do_are_refused(order: TpccFlags, words: str) -> None:
    with pytest.raises(AssayError, match=words):
        order.validate()


@pytest.mark.usefixtures("assayer")
def test_all_queries_run_and_the_record_says_that_no_server_was_seen(
    server: StandIn, tmp_path: Path, tpch: Callable[..., Summary], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(secret.WORD, "secret")
    folder, temp = tmp_path / "data", tmp_path / "t'"
    folder.mkdir()
    temp.mkdir()
    table = {"engine": "sqlserver", "scale": "0.01", "affinity": "0-1", "recovery_interval": 60}
    table |= {"hybrid_buffer_pool": "on"}
    grant = Grant(connect=STRING.replace("Password=secret;", ""), command="tpch")
    summary = tpch(table, ["cold"], [str(folder), f"temp={temp}"], tmp_path / "out", grant=grant)
    (record,) = load(tmp_path / "out")
    assert summary.exit_code == 0, record["checks"]
    assert "secret" not in "".join(path.read_text() for path in (tmp_path / "out").glob("*.json"))
    assert len(record["checks"]) == 22
    assert record["subject"]["settings"]["adapter"] == "not verified against a server"
    assert "a verified adapter" in [one["what"] for one in record["not_measured"]]
    assert "secret" not in str(record)
    part = record["parts"][0]
    assert part["figures"]["cpu_s"]["value"] == pytest.approx(0.1)
    assert part["figures"]["device_read_bytes"]["value"] == 10 * 8192
    told = server.told
    assert sum(one == "dbcc dropcleanbuffers" for one in told) >= 22
    assert "alter server configuration set memory_optimized hybrid_buffer_pool = on" in told
    assert "alter server configuration set process affinity cpu = 0 to 1" in told
    assert "exec sp_configure 'recovery interval (min)', 60" in told
    assert any("name = tempdev" in one and "t''" in one for one in told)
    last = "\n".join(told[-12:])
    assert "hybrid_buffer_pool = off" in last, "the whole server is put back"
    assert "process affinity cpu = 3, 4" in last
    assert "'recovery interval (min)', 7" in last
    made = [re.findall(r"\[(\w+)\]", one)[0] for one in told if one.startswith("create database")]
    dropped = [re.findall(r"\[(\w+)\]", one)[0] for one in told if one.startswith("drop database")]
    assert made == dropped
    assert all(name.startswith("assay_tpch_") for name in made)
    assert list(folder.iterdir()) == []


def test_a_query_that_the_server_refuses_is_told(server: StandIn, tmp_path: Path) -> None:
    engine = SqlServer(QueryWish("sqlserver", connect=STRING), 2, connector=server.connect)
    folder = tmp_path / "data"
    folder.mkdir()
    engine.load(data.generate(tmp_path / "text", 0.001), folder)
    engine.start(folder)
    (first, *_) = query.queries(SQLSERVER, 0.01, [1])
    server.meaning[first.sql] = "select nothing from nowhere"
    with pytest.raises(AssayError, match="sqlserver:"):
        engine.run(first.sql)
    engine.close()


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "no server"),
        ("Server=x,port;User Id=y;Password=z", "no port"),
        ("Colour=blue", "`Colour` is no part"),
    ],
)
def test_connection_strings_that_say_too_little_are_refused(text: str, part: str) -> None:
    with pytest.raises(ServerError, match=part):
        address(text)


def test_no_password_is_in_a_message() -> None:
    with pytest.raises(ServerError) as caught:
        address("Server=x,port;User Id=y;Password=secret")
    assert "secret" not in caught.value.message + caught.value.hint


def test_a_connection_string_is_read() -> None:
    assert address(STRING) == Address("db.example", "sa", "secret", 14330)


def test_a_server_that_is_not_there_is_a_sentence() -> None:
    with pytest.raises(ServerError, match="takes no connection") as caught:
        connect(Address("127.0.0.1", "sa", "secret", 1))
    assert "secret" not in caught.value.message


def test_flags_become_settings_and_words_without_meaning_are_refused() -> None:
    assert from_flags("", "", None) is None
    assert from_flags("off", "2-5", 60) == Settings(hybrid_buffer_pool=False, cpus=(2, 5), recovery_minutes=60)
    assert from_flags("", "3", None) == Settings(cpus=(3, 3))
    for words in (("maybe", "", None), ("", "5-2", None), ("", "all", None)):
        with pytest.raises(AssayError):
            from_flags(*words)
    with pytest.raises(AssayError, match="duckdb has no such settings"):
        engines.make(QueryWish("duckdb", sqlserver=Settings(cpus=(0, 1))))
