"""What a run of TPC-C is asked to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from assay.dbms.grant import Grant
from assay.dbms.sqlserver.settings import Settings, from_flags
from assay.dbms.target import PARTS, require_parts
from assay.error import BAD_JOB, AssayError
from assay.units.parse import parse_bytes, parse_seconds
from assay.untyped import Json

# Bytes of a loaded warehouse with its keys, and of a minute's growth per terminal, as seen on PostgreSQL 15 and SQLite.
WAREHOUSE_BYTES = 130 << 20
SPARE_BYTES = 1 << 30
# Of the storage engine's log, which is one file of a size.
LOG_BYTES = 1 << 30
RIVALS = ("lmdb", "rocksdb", "wiredtiger", "redb")
ENGINES = ("sqlite", "postgres", "assay", *RIVALS, "sqlserver")
CHOICES = ("home", "uniform", "zipf")
# Consistency conditions of the specification.
CONDITIONS = 12
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
    """What a run is asked to do, and where parts of the database lie that do not lie with the data."""

    engine: str = "sqlite"
    warehouses: int = 1
    terminals: int = 2
    duration_s: float = 60.0
    ramp_s: float | None = None
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
        """Refuses what cannot be, and what does not go together."""
        self._require_values()
        if self.engine not in ENGINES:
            raise _bad(f"TPC-C does not run on `{self.engine}`", f"use one of {', '.join(ENGINES)}")
        wrong = [name for name in self.apart() if name not in APART.get(self.engine, ())]
        if wrong:
            message = f"{self.engine} keeps its {PARTS[wrong[0]]} beside its data: --{wrong[0]} cannot be"
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

    def _require_values(self) -> None:
        for name in ("warehouses", "terminals"):
            if getattr(self, name) < 1:
                raise _bad(f"{name} is {getattr(self, name)}", "it is 1 or more")
        if self.spoil is not None and not 1 <= self.spoil <= CONDITIONS:
            raise _bad(f"there is no condition {self.spoil} to spoil", f"there are 1 to {CONDITIONS}")
        if self.duration_s <= 0:
            raise _bad("a window of no time measures nothing", "give a duration such as 60s")
        if self.choice not in CHOICES:
            raise _bad(f"terminals cannot work for `{self.choice}`", f"use one of {', '.join(CHOICES)}")

    def placed(self, parts: Mapping[str, str], seed: int, grant: Grant) -> TpccFlags:
        """With the folders of its parts, a seed, and what the command line gives."""
        require_parts(parts)
        more: Json = {**parts, "pg_bin": grant.pg_bin, "connect": grant.connect, "external": grant.external}
        return replace(self, seed=seed, **more)

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
        return [name for name in PARTS if getattr(self, name)]

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


def asked(
    engine: str = "sqlite",
    warehouses: int = 1,
    terminals: int = 2,
    duration: str = "60s",
    ramp: str = "",
    rate: float | None = None,
    poisson: bool = False,
    think: float | None = None,
    warehouse: str = "home",
    zipf: float = 0.99,
    mix: str = "",
    isolation: str = "read-committed",
    synchronous: str = "full",
    spoil: int | None = None,
    small: bool = False,
    buffers: str = "",
    pg_set: tuple[str, ...] = (),
    port: int | None = None,
    freeze_costs: bool = False,
    hybrid_buffer_pool: str = "",
    affinity: str = "",
    recovery_interval: int | None = None,
) -> TpccFlags:
    """What a command or a study's `[work]` asks for, in their words; `assay dbms tpcc --help` says what each means."""
    return TpccFlags(
        engine=engine,
        warehouses=warehouses,
        terminals=terminals,
        duration_s=parse_seconds(duration),
        ramp_s=parse_seconds(ramp) if ramp else None,
        rate=rate,
        poisson=poisson,
        think=think,
        choice=warehouse,
        zipf=zipf,
        mix=mix,
        isolation=isolation,
        synchronous=synchronous,
        spoil=spoil,
        small=small,
        buffers=int(parse_bytes(buffers)) if buffers else None,
        pg_settings=pg_set,
        port=port,
        freeze_costs=freeze_costs,
        sqlserver=from_flags(hybrid_buffer_pool, affinity, recovery_interval),
    )


def _mix(text: str) -> Json:
    names = ("new_order", "payment", "order_status", "delivery", "stock_level")
    words = text.split(",")
    if len(words) != len(names) or not all(word.strip().isdigit() for word in words):
        raise _bad(f"`{text}` is no mix", "give five shares in percent, such as 45,43,4,4,4")
    return dict(zip(names, map(int, words), strict=True))


def _bad(message: str, hint: str) -> AssayError:
    return AssayError(message, hint=hint, code=BAD_JOB)
