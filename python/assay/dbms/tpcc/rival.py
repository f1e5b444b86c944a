"""Other people's engines under TPC-C: they run inside a program of their own."""

from __future__ import annotations

from assay import rivals
from assay.binary import Binary
from assay.dbms.target import DatabaseTarget
from assay.dbms.tpcc.files import FileBench
from assay.dbms.tpcc.order import TpccFlags
from assay.untyped import Json

# What a commit waits for, by what --synchronous says.
DURABILITY = {"full": "fsync", "normal": "wal", "off": "none"}


class RivalBench(FileBench):
    """A folder of LMDB's, RocksDB's, WiredTiger's or redb's."""

    def __init__(self, order: TpccFlags, binary: Binary, target: DatabaseTarget) -> None:
        self._program = rivals.program(order.engine)
        super().__init__(order, binary, target)

    def program(self, binary: Binary) -> Binary:
        del binary
        return self._program

    def store(self) -> Json:
        store: Json = {
            "engine": self._order.engine,
            "folder": str(self._folder("data")),
            "durability": DURABILITY[self._order.synchronous],
        }
        if self._order.buffers is not None:
            store["cache_bytes"] = self._order.buffers
        return store
