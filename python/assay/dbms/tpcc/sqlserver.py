"""SQL Server under TPC-C: databases of our own on a server that runs already. Not verified against a server."""

from __future__ import annotations

import contextlib
import os
import pwd
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from assay import own
from assay.binary import Binary
from assay.dbms.place import Place, clean
from assay.dbms.sqlserver.connection import address, connect
from assay.dbms.sqlserver.engine import UNVERIFIED
from assay.dbms.sqlserver.server import Connector, SqlServer
from assay.dbms.sqlserver.settings import Settings, quoted
from assay.dbms.target import DatabaseTarget, target_of
from assay.dbms.tpcc.bench import Bench, ServerSnapshot, bytes_of, site
from assay.dbms.tpcc.order import TpccFlags
from assay.record import WorkRecord
from assay.study.work import figure
from assay.untyped import Json

# Bytes of the files of a database, CPU of all the server's work, and pages that checkpoints wrote.
_COUNTS = """select
sum(case when f.type_desc = 'ROWS' then s.num_of_bytes_read else 0 end),
sum(case when f.type_desc = 'ROWS' then s.num_of_bytes_written else 0 end),
sum(case when f.type_desc = 'LOG' then s.num_of_bytes_written else 0 end),
(select sum(total_cpu_usage_ms) from sys.dm_resource_governor_workload_groups),
(select sum(cntr_value) from sys.dm_os_performance_counters where counter_name = 'Checkpoint pages/sec')
from sys.dm_io_virtual_file_stats(db_id({database}), null) s
join sys.master_files f on f.database_id = s.database_id and f.file_id = s.file_id"""
_FILES = "files"
_NAMES = ("read_bytes", "written_bytes", "wal_bytes", "cpu_ms", "checkpoint_pages")


@dataclass(frozen=True)
class _Backup:
    """A backup that the server wrote; it reads it again from the same place."""

    path: Path

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)


def _server_user() -> tuple[int, int] | None:
    """The user that the server's packages make, where this process may give it a folder."""
    try:
        found = pwd.getpwnam("mssql")
    except KeyError:
        return None
    return (found.pw_uid, found.pw_gid) if os.geteuid() == 0 else None


class SqlServerBench(Bench):
    """A database of our own; it is dropped in the end, and no other is touched."""

    def __init__(
        self, order: TpccFlags, binary: Binary, target: DatabaseTarget, connector: Connector = connect
    ) -> None:
        self.name = target.name
        self._order = order
        self._server = SqlServer(address(order.connect), connector)
        self._settings = replace(order.sqlserver or Settings(), temp=Path(order.temp) if order.temp else None)
        self._targets = {"data": target}
        if order.wal:
            self._targets["wal"] = target_of(binary, order.wal)
        self._database = f"assay_tpcc_{secrets.token_hex(4)}"
        self._places: dict[str, Place] = {}
        self._back: list[str] = []
        self._made = False
        try:
            self._create()
        except BaseException:
            self.remove()
            raise

    def _create(self) -> None:
        for role, target in self._targets.items():
            clean(target.folder)
            owner = _server_user()
            self._places[role] = Place.make(target.folder, owner)
            files = self._folder(role)
            own.make_folder(files, owner)
            if owner is None:
                files.chmod(0o777)  # The server writes there as a user that is not known.
        self._back = self._settings.server_statements_back(self._server.ask)
        for statement in self._settings.server_statements():
            self._server.do(statement)
        data, log = (f"filename = {quoted(str(path))}" for path in self._files())
        self._server.do(
            f"create database [{self._database}] on (name = data, {data}) log on (name = log, {log}) "
            "collate Latin1_General_BIN2"
        )
        self._made = True
        for word in ("recovery simple", "allow_snapshot_isolation on"):
            self._server.do(f"alter database [{self._database}] set {word}")
        for statement in self._settings.database_statements(self._database):
            self._server.do(statement)

    def _files(self) -> tuple[Path, Path]:
        log = self._places.get("wal", self._places["data"])
        return self._places["data"].path / _FILES / "assay.mdf", log.path / _FILES / "assay.ldf"

    def _folder(self, role: str) -> Path:
        return self._places[role].path / _FILES

    def store(self) -> Json:
        where = self._server.address
        return {
            "sqlserver": {
                "host": where.server,
                "port": where.port,
                "user": where.user,
                "password": where.password,
                "database": self._database,
                "isolation": self._order.isolation,
            }
        }

    def sites(self) -> list[Json]:
        return [site(role, one, self._places[role].path) for role, one in self._targets.items()]

    def snapshot(self) -> ServerSnapshot | None:
        """A backup beside the data, which the server itself writes and reads."""
        path = self._folder("data") / "assay.bak"
        self._server.do(f"backup database [{self._database}] to disk = {quoted(str(path))} with copy_only, init")
        return _Backup(path)

    def restore(self, snapshot: ServerSnapshot) -> None:
        if isinstance(snapshot, _Backup):
            data, log = (quoted(str(path)) for path in self._files())
            self._server.do(f"alter database [{self._database}] set single_user with rollback immediate")
            self._server.do(
                f"restore database [{self._database}] from disk = {quoted(str(snapshot.path))} "
                f"with replace, move N'data' to {data}, move N'log' to {log}"
            )
            self._server.do(f"alter database [{self._database}] set multi_user")

    def engine_counts(self) -> Mapping[str, float]:
        rows = self._server.ask(_COUNTS.format(database=quoted(self._database)))
        return {name: float(value or 0) for name, value in zip(_NAMES, rows[0], strict=True)} if rows else {}

    def account(self, record: WorkRecord, before: Mapping[str, float]) -> None:
        record["subject"]["settings"] |= self._settings.document() | {"recovery": "simple", "snapshots": "allowed"}
        for name, count in self.engine_counts().items():
            used = count - before.get(name, 0.0)
            # From before the ramp-up to after the checks, as the server counts them.
            if name == "cpu_ms":
                record["figures"]["engine_cpu_s"] = figure(used / 1000, "s", method="kernel-accounting")
            elif name.endswith("_bytes"):
                record["figures"][f"engine_{name}"] = figure(used, "bytes", method="kernel-accounting")
            else:
                record["figures"][f"engine_{name}"] = figure(used, "count")
        for role, place in self._places.items():
            record["figures"][f"{role}_bytes"] = figure(bytes_of(place.path), "bytes", method="kernel-accounting")
        record["not_measured"].append(
            {
                "what": "a verified adapter",
                "reason": f"the adapter of sqlserver was {UNVERIFIED}",
                "fix": "hold its figures against the server's own tools before they are used",
            }
        )

    def remove(self) -> None:
        """Drops the database, and puts back what was set for the whole server."""
        back, self._back = self._back, []
        drop = [f"alter database [{self._database}] set single_user with rollback immediate"]
        drop.append(f"drop database [{self._database}]")
        for statement in [*(drop if self._made else []), *back]:
            with contextlib.suppress(Exception):
                self._server.do(statement)
        self._made = False
        for place in self._places.values():
            place.remove()
