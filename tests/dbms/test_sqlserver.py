"""SQL Server's adapter against a stand-in at the library's edge: DuckDB answers, statements are kept."""

import re
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import Any

import duckdb
import pytest
from assay.dbms.sqlserver.connection import Address, ServerError, address, connect
from assay.dbms.sqlserver.engine import SqlServer
from assay.dbms.sqlserver.settings import Settings, from_flags
from assay.dbms.tpch import data, engines, query, run
from assay.dbms.tpch.dialect import DUCKDB, SQLSERVER
from assay.dbms.tpch.engine import Wish
from assay.dbms.tpch.schema import TABLES
from assay.error import AssayError

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

    def make(wish: Wish) -> Any:
        if wish.name != "sqlserver":
            return real(wish)
        return SqlServer(wish, 2, connector=found.connect)

    monkeypatch.setattr(engines, "make", make)
    yield found
    for one in found.databases.values():
        if one is not None:
            one.close()


@pytest.mark.usefixtures("assayer")
def test_all_queries_run_and_the_record_says_that_no_server_was_seen(server: StandIn, tmp_path: Path) -> None:
    settings = Settings(hybrid_buffer_pool=True, cpus=(0, 1), recovery_minutes=60, temp=PurePath("/t'"))
    wish = Wish("sqlserver", connect=STRING, sqlserver=settings)
    outcome = run.run(run.Order(wish, [str(tmp_path)], 0.01, protocols=["cold"]))
    (record,) = outcome.records
    assert outcome.exit_code == 0, record["checks"]
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
    assert list(tmp_path.iterdir()) == []


def test_a_query_that_the_server_refuses_is_told(server: StandIn, tmp_path: Path) -> None:
    engine = SqlServer(Wish("sqlserver", connect=STRING), 2, connector=server.connect)
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
        ("Server=x;User Id=y", "no password"),
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
        engines.make(Wish("duckdb", sqlserver=Settings(cpus=(0, 1))))
