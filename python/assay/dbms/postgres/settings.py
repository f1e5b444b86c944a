"""Settings by hardware, after PGTune's formulas (le0pard/pgtune, MIT), and those that keep plans equal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from assay.dbms.postgres.error import PostgresError
from assay.dbms.postgres.find import Binaries
from assay.error import BAD_JOB

GIB, MIB = 1 << 30, 1 << 20
# Requests in flight that a kind of device rewards, as PGTune has it.
CONCURRENCY = {"hdd": 2, "ssd": 200, "nvme": 1000, "memory": 1000}
# Settings that bear on the planner's costs. Frozen, they are the same on every target, and so are the plans.
FROZEN = {
    "seq_page_cost": "1.0",
    "random_page_cost": "1.1",
    "cpu_tuple_cost": "0.01",
    "cpu_index_tuple_cost": "0.005",
    "cpu_operator_cost": "0.0025",
    "effective_io_concurrency": "200",
    "jit": "off",
}
# What could make a result mean something else; never changed silently, always in the record.
WATCHED = (
    "fsync",
    "full_page_writes",
    "synchronous_commit",
    "wal_sync_method",
    "wal_compression",
    "data_checksums",
    "shared_buffers",
    "effective_cache_size",
    "max_wal_size",
    "checkpoint_timeout",
    "random_page_cost",
    "effective_io_concurrency",
    "max_parallel_workers_per_gather",
    "work_mem",
    "jit",
    "io_method",
    "io_workers",
    "debug_io_direct",
    "huge_pages",
    "autovacuum",
)


@dataclass(frozen=True)
class Hardware:
    """What the formulas ask of the machine. `storage` is `hdd`, `ssd`, `nvme` or `memory`."""

    memory_bytes: int
    cpus: int
    storage: str = "ssd"


@dataclass(frozen=True)
class Settings:
    """Settings of a server, as its configuration file has them."""

    values: Mapping[str, str] = field(default_factory=dict)
    port: int | None = None
    """A port on the loopback interface; without one the server listens on a socket in a folder alone."""

    def with_values(self, values: Mapping[str, str]) -> Settings:
        """These settings with others in their place."""
        return Settings({**self.values, **values}, self.port)

    def lines(self) -> list[str]:
        """Lines of a configuration file."""
        return [f"{name} = '{_quoted(value)}'" for name, value in self.values.items()]


def _quoted(value: str) -> str:
    return value.replace("\\", "\\\\").replace("'", "''")


def hardware(facts: Mapping[str, Any]) -> Hardware:
    """The machine out of `assayer facts`; the kind of storage is that of the first target."""
    devices = [target["device"] for target in facts["targets"] if target.get("device")]
    return Hardware(int(facts["memory"]["total_bytes"]), int(facts["cpu"]["usable"]), _storage(devices, facts))


def _storage(devices: list[Mapping[str, Any]], facts: Mapping[str, Any]) -> str:
    if not devices:
        kinds = [(target.get("file_system") or {}).get("kind") for target in facts["targets"]]
        return "memory" if kinds and kinds[0] in ("tmpfs", "ramfs") else "ssd"
    if devices[0]["rotational"]:
        return "hdd"
    return "nvme" if str(devices[0]["name"]).startswith("nvme") else "ssd"


def tuned(
    binaries: Binaries,
    machine: Hardware,
    *,
    connections: int = 20,
    warehouse: bool = False,
    data_bytes: int = 0,
    freeze_costs: bool = False,
    shared_buffers: int | None = None,
) -> Settings:
    """PGTune's answer for transactions, or for a data `warehouse`, on this machine.

    `freeze_costs` takes what depends on the device out of the planner's hands, so that all targets get equal plans.
    """
    memory, cpus = machine.memory_bytes, machine.cpus
    buffers = shared_buffers or memory // 4
    workers = max(2, min(cpus, 40))
    values = {
        "max_connections": str(connections + 5),
        "shared_buffers": _kib(buffers),
        "effective_cache_size": _kib(memory * 3 // 4),
        "maintenance_work_mem": _kib(min(memory // (8 if warehouse else 16), 2 * GIB)),
        "wal_buffers": _kib(max(min(buffers * 3 // 100, 16 * MIB), 32 << 10)),
        "checkpoint_completion_target": "0.9",
        "default_statistics_target": "500" if warehouse else "100",
        "random_page_cost": _random_page_cost(machine, warehouse, data_bytes),
        "effective_io_concurrency": str(CONCURRENCY[machine.storage]),
        "work_mem": _kib(_work_mem(memory, buffers, connections, workers, warehouse)),
        "min_wal_size": "4GB" if warehouse else "2GB",
        "max_wal_size": "16GB" if warehouse else "8GB",
        "max_worker_processes": str(max(workers, 8)),
        "max_parallel_workers": str(workers),
        "max_parallel_workers_per_gather": str(-(-workers // 2) if warehouse else min(-(-workers // 2), 4)),
        "huge_pages": "try" if memory >= 32 * GIB else "off",
        "track_io_timing": "on",
        "autovacuum": "on",
    }
    if freeze_costs:
        values |= FROZEN
    if binaries.major >= 14:
        values["track_wal_io_timing"] = "on"
    return Settings(values)


def _random_page_cost(machine: Hardware, warehouse: bool, data_bytes: int) -> str:
    """4 on disks that turn, and for a data warehouse that does not fit into memory."""
    large = warehouse and data_bytes > machine.memory_bytes
    return "4" if machine.storage == "hdd" or large else "1.1"


def _work_mem(memory: int, buffers: int, connections: int, workers: int, warehouse: bool) -> int:
    parts = max((connections + max(workers, 8)) * 3, 1)
    share = max(memory - buffers, GIB // 4) // parts
    return max(share // 2 if warehouse else share, 4 * MIB)


def _kib(size: int) -> str:
    return f"{max(size, 0) >> 10}kB"


def parse(texts: list[str]) -> dict[str, str]:
    """`name=value` as typed."""
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip().replace(".", "_").isidentifier():
            message = f"`{text}` is no setting of PostgreSQL"
            raise PostgresError(message, hint="write NAME=VALUE, such as synchronous_commit=off", code=BAD_JOB)
        if not value.isprintable():
            message = f"the value of {name.strip()} has more than one line, or signs that cannot be printed"
            raise PostgresError(message, hint="write NAME=VALUE in one line", code=BAD_JOB)
        found[name.strip()] = value.strip()
    return found
