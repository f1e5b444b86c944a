"""From what is wanted of the engine to the measuring program's job."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from assay import home
from assay.error import BAD_JOB, AssayError
from assay.target import names
from assay.target.host import HostWish
from assay.target.target import parse, parse_all
from assay.units.parse import format_bytes, parse_bytes, parse_rate, parse_seconds

Json = dict[str, Any]
_VERSION = 1
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


class PagePlacement(StrEnum):
    """What becomes of a page in the memory below that is read."""

    COPY = "copy"
    IN_PLACE = "in-place"
    HOT = "hot"


@dataclass(frozen=True)
class Wish:
    """Where and how the engine runs. Targets and sizes as they are typed; empty text means what is usual."""

    on: str = "."
    log: str = ""
    pmem: str = ""
    pool: str = "1GiB"
    page: str = "4KiB"
    log_size: str = "1GiB"
    logs: int | None = None
    path: EngineWay = EngineWay.IO_URING
    write_rate: str = ""
    serial: list[str] | None = None
    yes_destroy: bool = False
    threads: int = 1
    tasks: int = 32
    duration: str = "10s"
    warmup: str = "2s"
    durability: CommitDurability = CommitDurability.FDATASYNC
    keep: Path | None = None
    seed: int = 0
    tier: str = ""
    placement: PagePlacement | None = None
    host: str = ""
    cores: int | None = None
    clock: float | None = None
    turn: str = ""


def job(workload: Json, wanted: Wish, host: Json | None = None) -> Json:
    """The job of `assayer engine`. `host` drives twins, in the place of the one that the wish names."""
    if wanted.durability is CommitDurability.PMEM and not wanted.pmem:
        hint = "name a folder on persistent memory with --pmem DIR; one in memory (/dev/shm) stands in for it"
        raise AssayError("durability pmem needs persistent memory for the log's tail", hint=hint, code=BAD_JOB)
    document: Json = {
        "version": _VERSION,
        "name": f"engine {workload['kind']}",
        "target": wanted.on,
        "durability": wanted.durability.value,
        "pool_bytes": int(parse_bytes(wanted.pool)),
        "page_bytes": int(parse_bytes(wanted.page)),
        "log_bytes": int(parse_bytes(wanted.log_size)),
        "threads": wanted.threads,
        "tasks": wanted.tasks,
        "warmup_s": parse_seconds(wanted.warmup),
        "duration_s": parse_seconds(wanted.duration),
        "seed": wanted.seed,
        "workload": workload,
    }
    if wanted.logs is not None:
        document["logs"] = wanted.logs
    if wanted.path is not EngineWay.IO_URING:
        document["path"] = wanted.path.value
    named = {"target": wanted.on, "log_target": wanted.log, "tail_target": wanted.pmem}
    named = {key: name for key, name in named.items() if name}
    if wanted.tier:
        named["tier"], size = _tier(wanted.tier)
        placement = wanted.placement or PagePlacement.HOT
        document["tier"] = {"target": named["tier"], "bytes": size, "placement": placement.value}
    elif wanted.placement is not None:
        hint = "name the memory below the pool with --tier DIR:BYTES, or leave --placement out"
        raise AssayError(
            "--placement says what becomes of pages in a tier, and there is no tier", hint=hint, code=BAD_JOB
        )
    if any(name.startswith(names.PREFIX) for name in named.values()):
        _refuse_devices(wanted)
        document |= {key: name for key, name in named.items() if key != "tier"}
        document["twins"] = _twins(wanted, named, host)
    else:
        _refuse_host(wanted)
        if "tier" in named:
            document["tier"]["target"] = _roomy(_folder(named.pop("tier")), document["tier"]["bytes"])
        if "tail_target" in named:
            document["tail_target"] = _folder(named.pop("tail_target"))
        document |= _seats(wanted)
    if wanted.write_rate:
        document["write_rate_bytes_per_s"] = _bytes_per_s(wanted.write_rate)
    if wanted.keep is not None:
        document["keep"] = str(wanted.keep.expanduser().absolute())
    return document


def _seats(wanted: Wish) -> Json:
    """Where pages and log lie: folders, or devices that are named with their serial numbers."""
    named = {"data": wanted.on} | ({"log": wanted.log} if wanted.log else {})
    devices = [key for key, name in named.items() if all(Path(one).is_block_device() for one in _members(name))]
    missing = [one for name in named.values() for one in _members(name) if not Path(one).exists()]
    if missing and wanted.serial:
        hint = "look at `lsblk -o NAME,SERIAL`, and name a device that is there"
        raise AssayError(f"{missing[0]} is no device: nothing is there", hint=hint, code=BAD_JOB)
    given = parse_all([named[key] for key in devices], wanted.serial or [], wanted.yes_destroy)
    seats: Json = {}
    for key, target in zip(devices, given, strict=True):
        found = {"members": list(target.members), "serials": list(target.serials), "yes_destroy": target.yes_destroy}
        seats["devices" if key == "data" else "log_devices"] = found
    if "data" not in devices:
        first, *others = (_folder(member) for member in _members(named["data"]))
        seats |= {"target": first} | ({"stripes": others} if others else {})
    if "log" in named and "log" not in devices:
        seats["log_target"] = _folder(named["log"])
    return seats


def _members(name: str) -> list[str]:
    return [name] if Path(name).exists() else name.split("+")


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


def _twins(wanted: Wish, named: dict[str, str], host: Json | None) -> Json:
    """The twins behind `--on`, `--log`, `--pmem` and `--tier`: all of them, or none."""
    real = [name for name in named.values() if not name.startswith(names.PREFIX)]
    if real:
        hint = "name twins for all of --on, --log, --pmem and --tier, or folders for all"
        raise AssayError(f"{real[0]} is no twin, and others are", hint=hint, code=BAD_JOB)
    wish = HostWish(wanted.host, wanted.cores, wanted.clock * 1e9 if wanted.clock else None)
    found = {key: parse(name, wish).twin for key, name in named.items()}
    host = host or (found["target"] or {})["host"]
    roles = {"target": "data", "log_target": "log", "tail_target": "tail", "tier": "tier"}
    twins: Json = {roles[key]: dict(twin or {}) | {"host": host} for key, twin in found.items()}
    return twins | _turns(wanted.turn)


def _turns(wanted: str) -> Json:
    """What a turn costs: as typed, as it was learnt on this machine, or learnt now."""
    if wanted and wanted != LEARN:
        return {"turn_ns": parse_seconds(wanted) * 1e9}
    state = home.state()
    kept = {"costs": str(state / "costs")} if state is not None else {}
    return kept | ({"learn": True} if wanted == LEARN else {})


def _refuse_devices(wanted: Wish) -> None:
    if wanted.serial or wanted.yes_destroy or wanted.path is not EngineWay.IO_URING:
        hint = "leave them away, or name a folder or a device"
        raise AssayError("--serial, --yes-destroy and --path are not for twins", hint=hint, code=BAD_JOB)


def _refuse_host(wanted: Wish) -> None:
    if wanted.host or wanted.cores or wanted.clock or wanted.turn:
        hint = "leave them away, or name a twin: --on 'twin:970evoplus*4'"
        raise AssayError("--host, --cores, --clock and --turn are for twins", hint=hint, code=BAD_JOB)


def _folder(name: str) -> str:
    path = Path(name).expanduser().resolve()
    if not path.is_dir():
        raise AssayError(f"{name} is no folder", hint="name a folder that is there", code=BAD_JOB)
    return str(path)
