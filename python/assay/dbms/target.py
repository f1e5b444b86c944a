"""Targets of databases: folders, with what lies beneath them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.binary import Binary
from assay.dbms.cold import IN_MEMORY
from assay.dbms.cpus import Cpus
from assay.error import BAD_JOB, NOT_POSSIBLE, AssayError
from assay.space import kept
from assay.study.work.declared import NotHereError
from assay.target.target import Target
from assay.units.show import size
from assay.untyped import Json

_SECTOR_BYTES = 512


# Parts of a database that can lie apart.
PARTS = {"wal": "log", "temp": "temporary files", "index": "indexes"}


class TargetError(AssayError):
    """A target is no folder, or too small."""


@dataclass(frozen=True)
class DatabaseTarget:
    """A folder that a database can live in. `devices` are the kernel's names of the devices that take its I/O."""

    name: str
    folder: Path
    file_system: str
    devices: tuple[str, ...]

    @property
    def in_memory(self) -> bool:
        """Its files lie in memory: nothing can be cold there."""
        return self.file_system in IN_MEMORY


def refuse_twin(name: str) -> None:
    """Refuses a target that is only a model: nothing is stored there."""
    if name.startswith("twin:"):
        hint = f"play it, `mount:{name}`; or measure on a folder and ask `assay dbms predict RECORDS --on {name}`"
        raise TargetError(f"a database cannot run on `{name}`", hint=hint, code=BAD_JOB)


def folder_of(target: Target, role: str = "main") -> str:
    """The folder that a study's target names for a database.

    Raises:
        NotHereError: where it is none, or several.
    """
    refuse_twin(target.label)
    if target.kind != "folder" or len(target.members) > 1:
        hint = "name one folder; a file system on several drives is a folder too"
        raise NotHereError(f"a database lives in a folder, and {target.label} ({role}) is none", hint)
    return target.members[0]


def require_parts(names: Iterable[str]) -> None:
    """Refuses what is no part of a database."""
    if unknown := [name for name in names if name not in PARTS]:
        message = f"a database has no part `{unknown[0]}`"
        raise TargetError(message, hint=f"its parts are {', '.join(PARTS)}", code=BAD_JOB)


def target_of(binary: Binary, name: str) -> DatabaseTarget:
    """The target of that name.

    Raises:
        TargetError: where it is no folder.
    """
    refuse_twin(name)
    folder = Path(name).expanduser().resolve()
    if not folder.is_dir():
        raise TargetError(f"{name} is no folder", hint="name a folder that is there", code=NOT_POSSIBLE)
    facts = (binary.document("facts", "--on", str(folder)).get("targets") or [{}])[0]
    device = facts.get("device") or {}
    kind = str((facts.get("file_system") or {}).get("kind", ""))
    return DatabaseTarget(name, folder, kind, (str(device["name"]),) if device.get("name") else ())


def check_room(needs: Sequence[tuple[DatabaseTarget, int]]) -> None:
    """Looks whether all of it fits at once; folders of one file system share its room.

    Raises:
        TargetError: where less than `kept` of a file system would stay free.
    """
    wanted: dict[int, int] = {}
    for where, need in needs:
        key = where.folder.stat().st_dev
        wanted[key] = wanted.get(key, 0) + need
    for where, _ in needs:
        need = wanted[where.folder.stat().st_dev]
        seen = os.statvfs(where.folder)
        free, whole = seen.f_bavail * seen.f_frsize, seen.f_blocks * seen.f_frsize
        if free - need < kept(whole):
            message = (
                f"{where.name} has {size(free)} free, and {size(need)} are needed with {size(kept(whole))} left over"
            )
            hint = "take less data (--scale, --warehouses), fewer targets on one disk, or a larger disk"
            raise TargetError(message, hint=hint, code=NOT_POSSIBLE)


@dataclass
class Counters:
    """The kernel's counters of block devices, summed over windows. Bytes, requests, s."""

    names: tuple[str, ...]
    window_s: float = 0.0

    def __post_init__(self) -> None:
        self._sums = {name: [0.0] * 11 for name in self.names}
        self._before: dict[str, list[float]] = {}
        self.cpus = Cpus()

    def open(self) -> None:
        """A window begins."""
        self.cpus.open()
        self._before = {name: _stat(name) for name in self.names}

    def close(self, seconds: float) -> Mapping[str, list[float]]:
        """The window ends; what it brought, by device."""
        found = {}
        for name, before in self._before.items():
            change = [now - then for now, then in zip(_stat(name), before, strict=True)]
            self._sums[name] = [total + one for total, one in zip(self._sums[name], change, strict=True)]
            found[name] = change
        self.window_s += seconds
        self.cpus.close()
        return found

    def state(self) -> Json:
        """All that was counted, to be restored when the run goes on."""
        cpus = [self.cpus.busy_s, self.cpus.total_s]
        return {"window_s": self.window_s, "sums": self._sums, "cpus": cpus}

    def restore(self, state: Json) -> None:
        """Counts on from there."""
        self.window_s = state["window_s"]
        # A run that began before CPUs were counted goes on without those windows.
        self.cpus = Cpus(*state.get("cpus", (0.0, 0.0)))
        self._sums |= {name: list(sums) for name, sums in state["sums"].items()}

    def documents(self) -> list[Json]:
        """For the record."""
        return [_document(name, sums, max(self.window_s, 1e-9)) for name, sums in self._sums.items()]


def read_requests(changes: Mapping[str, Sequence[float]]) -> tuple[float, float, float]:
    """Requests and bytes that devices read in a window, and the seconds in which the busiest was busy."""
    found = list(changes.values())
    busy_s = max((one[8] / 1000 for one in found), default=0.0)
    return sum(one[0] for one in found), sum(one[2] for one in found) * _SECTOR_BYTES, busy_s


def _stat(name: str) -> list[float]:
    """Reads, merged, sectors, ms; writes, merged, sectors, ms; in flight, busy ms, weighted ms; and flushes."""
    text = Path(f"/sys/class/block/{name}/stat").read_text().split()
    values = [float(word) for word in text]
    return [*values[:8], *values[9:11], values[15] if len(values) > 15 else 0.0]


def _document(name: str, sums: Sequence[float], seconds: float) -> Json:
    def figure(value: float, unit: str, method: str = "kernel-accounting") -> Json:
        return {"value": value, "unit": unit, "provenance": "measured", "method": method}

    return {
        "device": name,
        "read_bytes": figure(sums[2] * _SECTOR_BYTES, "bytes"),
        "written_bytes": figure(sums[6] * _SECTOR_BYTES, "bytes"),
        "reads": figure(sums[0], "count"),
        "writes": figure(sums[4], "count"),
        "flushes": figure(sums[10], "count"),
        "mean_in_flight": figure(sums[9] / 1000 / seconds, "ratio", "derived"),
        "utilisation": figure(min(1.0, sums[8] / 1000 / seconds), "ratio", "derived"),
    }


def names_of(targets: Iterable[DatabaseTarget]) -> tuple[str, ...]:
    """Devices beneath targets, each once."""
    return tuple(dict.fromkeys(name for where in targets for name in where.devices))
