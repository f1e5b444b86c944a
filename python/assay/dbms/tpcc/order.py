"""What a run of TPC-C is asked to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.dbms.sqlserver.settings import Settings
from assay.error import BAD_JOB, AssayError

Json = dict[str, Any]
# Bytes of a loaded warehouse with its keys, and of a minute's growth per terminal, as seen on PostgreSQL 15 and SQLite.
WAREHOUSE_BYTES = 130 << 20
SPARE_BYTES = 1 << 30
# Of the storage engine's log, which is one file of a size.
LOG_BYTES = 1 << 30
WORDS = {"wal": "log", "temp": "temporary files", "index": "indexes"}
RIVALS = ("lmdb", "rocksdb", "wiredtiger", "redb")
ENGINES = ("sqlite", "postgres", "assay", *RIVALS, "sqlserver")
# Parts that can lie apart, by engine.
APART: dict[str, tuple[str, ...]] = {
    "postgres": ("wal", "temp", "index"),
    "assay": ("wal",),
    "sqlserver": ("wal", "temp"),
}
# These give up a transaction that would have to wait, and the driver tries it again.
TRIES = dict.fromkeys(("assay", *RIVALS), 10_000)


@dataclass(frozen=True)
class TpccFlags:
    """The flags of `assay dbms tpcc`."""

    engine: str = "sqlite"
    warehouses: int = 1
    terminals: int = 2
    duration_s: float = 60.0
    ramp_s: float | None = None
    on: Sequence[str] = (".",)
    wal: str = ""
    temp: str = ""
    index: str = ""
    rate: float | None = None
    poisson: bool = False
    think: float | None = None
    choice: str = "home"
    zipf: float = 0.99
    mix: str = ""
    isolation: str = "read-committed"
    synchronous: str = "full"
    repeats: int = 1
    seed: int = 1
    spoil: int | None = None
    small: bool = False
    buffers: int | None = None
    pg_bin: Path | None = None
    pg_settings: Sequence[str] = field(default_factory=tuple)
    port: int | None = None
    freeze_costs: bool = False
    connect: str = ""
    external: bool = False
    sqlserver: Settings | None = None

    def validate(self) -> None:
        """Refuses what does not go together."""
        if self.engine not in ENGINES:
            raise _bad(f"TPC-C does not run on `{self.engine}`", f"use one of {', '.join(ENGINES)}")
        wrong = [name for name in self.apart() if name not in APART.get(self.engine, ())]
        if wrong:
            message = f"{self.engine} keeps its {WORDS[wrong[0]]} beside its data: --{wrong[0]} cannot be"
            raise _bad(message, "leave it out, or use --engine postgres")
        if self.engine == "assay" and self.synchronous == "normal":
            raise _bad("the storage engine flushes at every commit or never", "use --synchronous full or off")
        if self.rate is not None and self.think is not None:
            raise _bad("--rate and --think are two paces", "give one of them")
        if self.connect and self.engine not in ("postgres", "sqlserver"):
            raise _bad("--connect is for servers", "use --engine postgres or sqlserver, or leave it out")
        if self.engine == "sqlserver" and not self.connect:
            raise _bad(
                "SQL Server is used where it runs", "say --connect 'Server=HOST,PORT;User Id=NAME;Password=WORD'"
            )
        if self.sqlserver is not None and self.engine != "sqlserver":
            hint = "leave --hybrid-buffer-pool, --affinity and --recovery-interval out, or take --engine sqlserver"
            raise _bad(f"{self.engine} has no such settings", hint)

    def scale(self) -> Json:
        """The data set."""
        scale: Json = {"warehouses": self.warehouses}
        if self.small:
            scale |= {"items": 1000, "customers": 30}
        return scale

    def data_bytes(self) -> int:
        """Bytes of it, about, with what a run adds."""
        per_warehouse = WAREHOUSE_BYTES // (50 if self.small else 1)
        return self.warehouses * per_warehouse + self.part_bytes("wal")

    def part_bytes(self, role: str) -> int:
        """Bytes of a part that lies apart, about."""
        if role != "wal":
            return self.data_bytes() // 2
        spare = SPARE_BYTES // (8 if self.small else 1)
        return max(spare, LOG_BYTES) if self.engine == "assay" else spare

    def apart(self) -> list[str]:
        """Roles that have a target of their own."""
        return [name for name in WORDS if getattr(self, name)]

    def drive(self) -> Json:
        """The measured part, as the driver is told."""
        ramp = self.ramp_s if self.ramp_s is not None else max(2.0, self.duration_s / 10)
        document: Json = {"terminals": self.terminals, "ramp_s": ramp, "measure_s": self.duration_s}
        document["interval_s"] = min(1.0, self.duration_s / 10)
        if self.rate is not None:
            document["pace"] = {"kind": "rate", "per_s": self.rate, "poisson": self.poisson}
        elif self.think is not None:
            document["pace"] = {"kind": "think", "factor": self.think}
        document["choice"] = {"kind": self.choice}
        if self.choice == "zipf":
            document["choice"]["exponent"] = self.zipf
        if self.mix:
            document["mix"] = _mix(self.mix)
        if self.engine in TRIES:
            document["tries"] = TRIES[self.engine]
        return document

    def job(self, store: Json, sites: list[Json], **more: Any) -> Json:
        """The driver's job."""
        order: Json = {"name": "tpcc", "scale": self.scale(), "seed": self.seed, "load_seed": 1, "sites": sites, **more}
        return {"store": store, "order": order}


def _mix(text: str) -> Json:
    names = ("new_order", "payment", "order_status", "delivery", "stock_level")
    words = text.split(",")
    if len(words) != len(names) or not all(word.strip().isdigit() for word in words):
        raise _bad(f"`{text}` is no mix", "give five shares in percent, such as 45,43,4,4,4")
    return dict(zip(names, map(int, words), strict=True))


def _bad(message: str, hint: str) -> AssayError:
    return AssayError(message, hint=hint, code=BAD_JOB)
