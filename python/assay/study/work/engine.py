"""From what is wanted of the engine to the measuring program's job."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from assay import home
from assay.error import BAD_JOB, AssayError
from assay.target import names
from assay.target.target import Target, parse
from assay.units.parse import format_bytes, parse_bytes, parse_rate, parse_seconds
from assay.untyped import Json

_VERSION = 1
# Bytes of a collection unit where nobody knows the drive's.
_USUAL_UNIT = 64 << 20
LEARN = "learn"
"""In the place of a turn's time: measure it anew."""


class CommitDurability(StrEnum):
    """What makes an acknowledged transaction durable."""

    NONE = "none"
    FDATASYNC = "fdatasync"
    PLP = "plp"
    PMEM = "pmem"


class EngineWay(StrEnum):
    """How pages and log are reached."""

    IO_URING = "io_uring"
    LIBAIO = "libaio"
    PREAD = "pread"


class WritePlacement(StrEnum):
    """Where written pages go."""

    ANY = "any"
    FLASH = "flash"


class PagePlacement(StrEnum):
    """What becomes of a page in the memory below that is read."""

    COPY = "copy"
    IN_PLACE = "in-place"
    HOT = "hot"


@dataclass(frozen=True)
class Wish:
    """How the engine runs; targets say where. Sizes as they are typed; empty text means what is usual."""

    pool: str = "1GiB"
    page: str = "4KiB"
    log_size: str = "1GiB"
    logs: int | None = None
    path: EngineWay = EngineWay.IO_URING
    write_rate: str = ""
    write_placement: WritePlacement = WritePlacement.ANY
    collection_unit: str = ""
    threads: int = 1
    tasks: int = 32
    duration: str = "10s"
    warmup: str = "2s"
    durability: CommitDurability = CommitDurability.FDATASYNC
    keep: Path | None = None
    tier: str = ""
    placement: PagePlacement | None = None
    turn: str = ""


def job(workload: Json, wanted: Wish, on: Target, roles: Mapping[str, Target], seed: int) -> Json:
    """The job of `assayer engine`: pages lie on a target, the log and its tail where roles (`log`, `pmem`) say.

    Raises:
        AssayError: where parts do not go together, or a number is none.
    """
    _require_parts(workload, wanted, roles)
    document: Json = {
        "version": _VERSION,
        "name": f"engine {workload['kind']}",
        "durability": wanted.durability.value,
        "pool_bytes": int(parse_bytes(wanted.pool)),
        "page_bytes": int(parse_bytes(wanted.page)),
        "log_bytes": int(parse_bytes(wanted.log_size)),
        "threads": wanted.threads,
        "tasks": wanted.tasks,
        "warmup_s": parse_seconds(wanted.warmup),
        "duration_s": parse_seconds(wanted.duration),
        "seed": seed,
        "workload": workload,
    }
    if wanted.logs is not None:
        document["logs"] = wanted.logs
    if wanted.path is not EngineWay.IO_URING:
        document["path"] = wanted.path.value
    if wanted.write_rate:
        document["write_rate_bytes_per_s"] = _bytes_per_s(wanted.write_rate)
    if wanted.write_placement is WritePlacement.FLASH:
        document["collection_unit_bytes"] = _unit(wanted, on)
    if wanted.keep is not None:
        document["keep"] = str(wanted.keep.expanduser().absolute())
    return document | (_measured(wanted, on, roles) if on.twin is None else _played(wanted, on, roles))


def _require_parts(workload: Json, wanted: Wish, roles: Mapping[str, Target]) -> None:
    if wanted.durability is CommitDurability.PMEM and "pmem" not in roles:
        hint = "name a folder on persistent memory with --pmem DIR; one in memory (/dev/shm) stands in for it"
        raise AssayError("durability pmem needs persistent memory for the log's tail", hint=hint, code=BAD_JOB)
    if wanted.placement is not None and not wanted.tier:
        hint = "name the memory below the pool with --tier DIR:BYTES, or leave --placement out"
        message = "--placement says what becomes of pages in a tier, and there is no tier"
        raise AssayError(message, hint=hint, code=BAD_JOB)
    if wanted.collection_unit and wanted.write_placement is not WritePlacement.FLASH:
        hint = "add --write-placement flash, or leave --collection-unit out"
        raise AssayError("--collection-unit is for pages that are placed for flash", hint=hint, code=BAD_JOB)
    if workload["kind"] == "ledger" and wanted.keep is None:
        raise AssayError("a ledger is kept, and no folder was named", hint="name one with --keep DIR", code=BAD_JOB)


def _measured(wanted: Wish, on: Target, roles: Mapping[str, Target]) -> Json:
    """Where pages, log, tail and tier lie: folders, or devices that are named with their serial numbers."""
    if wanted.turn:
        hint = "leave it away, or name a twin: --on 'twin:970evoplus*4'"
        raise AssayError("--host, --cores, --clock and --turn are for twins", hint=hint, code=BAD_JOB)
    found: Json = {"target": on.members[0]}
    if on.kind == "block-device":
        found["devices"] = _devices(on)
    elif on.members[1:]:
        found["stripes"] = list(on.members[1:])
    if "log" in roles and roles["log"].kind == "block-device":
        found["log_devices"] = _devices(roles["log"])
    elif "log" in roles:
        found["log_target"] = _folder(roles["log"])
    if "pmem" in roles:
        found["tail_target"] = _folder(roles["pmem"])
    if wanted.tier:
        name, size = _tier(wanted.tier)
        found["tier"] = _below(_roomy(_folder(parse(name)), size), size, wanted)
    return found


def _devices(target: Target) -> Json:
    return {"members": list(target.members), "serials": list(target.serials), "yes_destroy": target.yes_destroy}


def _folder(target: Target) -> str:
    if target.kind != "folder" or target.members[1:]:
        raise AssayError(f"{target.label} is no folder", hint="name a folder that is there", code=BAD_JOB)
    return target.members[0]


def _below(target: str, size: int, wanted: Wish) -> Json:
    return {"target": target, "bytes": size, "placement": (wanted.placement or PagePlacement.HOT).value}


def _unit(wanted: Wish, on: Target) -> int:
    """What is filled as a whole: as typed, as the twin's drive erases, or what is usual."""
    if wanted.collection_unit:
        return int(parse_bytes(wanted.collection_unit))
    known = None if on.twin is None else names.unit_bytes(on.twin["target"])
    return known or _USUAL_UNIT


def _bytes_per_s(text: str) -> float:
    rate = parse_rate(text).bytes_per_s
    if rate is None:
        raise AssayError(f"--write-rate {text} is no rate of bytes", hint="write it so: 250MB/s", code=BAD_JOB)
    return rate


def _tier(named: str) -> tuple[str, int]:
    """Where a tier is, and how large."""
    target, colon, size = named.rpartition(":")
    if not colon or not target:
        hint = "write where it is and how large, such as --tier /mnt/pmem:4GiB or --tier twin:pmem100-128g*2:4GiB"
        raise AssayError(f"--tier {named} names no size", hint=hint, code=BAD_JOB)
    return target, int(parse_bytes(size))


def _roomy(folder: str, size: int) -> str:
    """A folder with room for a tier: its file is filled before anything begins."""
    free = shutil.disk_usage(folder).free
    if size > free:
        told = f"a tier of {format_bytes(size)} was asked for, and {folder} has room for {format_bytes(free)}"
        raise AssayError(told, hint="ask for a smaller tier, or name a folder with more room", code=BAD_JOB)
    return folder


def _played(wanted: Wish, on: Target, roles: Mapping[str, Target]) -> Json:
    """The twins behind pages, log, tail and tier, all with the host that drives the one of the pages."""
    if wanted.path is not EngineWay.IO_URING:
        raise AssayError("--path is not for twins", hint="leave it away, or name a folder or a device", code=BAD_JOB)
    named = {"log": "log_target", "pmem": "tail_target"}
    parts = {"data": on, **{"log" if role == "log" else "tail": roles[role] for role in named if role in roles}}
    found: Json = {"target": on.label, **{key: roles[role].label for role, key in named.items() if role in roles}}
    if wanted.tier:
        name, size = _tier(wanted.tier)
        parts["tier"] = parse(name)
        found["tier"] = _below(name, size, wanted)
    host = dict(on.twin or {}).get("host")
    twins = {part: dict(target.twin or {}) | {"host": host} for part, target in parts.items()}
    return found | {"twins": twins | turns(wanted.turn)}


def turns(wanted: str) -> Json:
    """What a turn costs on a twin: as typed, as it was learnt on this machine, or learnt now."""
    if wanted and wanted != LEARN:
        return {"turn_ns": round(parse_seconds(wanted) * 1e9, 3)}
    state = home.state()
    kept = {"costs": str(state / "costs")} if state is not None else {}
    return kept | ({"learn": True} if wanted == LEARN else {})
