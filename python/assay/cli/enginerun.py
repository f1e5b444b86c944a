"""`assay engine`: what was asked, done and shown."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from assay import work
from assay.binary import Binary
from assay.cli import output
from assay.error import BAD_JOB, AssayError
from assay.study.target import parse
from assay.study.units import parse_bytes, parse_seconds
from assay.twin import names
from assay.twin.host import HostWish
from assay.work.run import exit_code

Json = dict[str, Any]
_VERSION = 1


@dataclass(frozen=True)
class HostFlags:
    """Who runs the engine where it runs on a twin."""

    name: str
    cores: int | None
    clock_ghz: float | None
    turn: str

    def wish(self) -> HostWish:
        """As the twins' own flags say it."""
        return HostWish(self.name, self.cores, self.clock_ghz * 1e9 if self.clock_ghz else None)

    def given(self) -> bool:
        """Any of them."""
        return bool(self.name or self.cores or self.clock_ghz or self.turn)


@dataclass(frozen=True)
class TierFlags:
    """Memory below the pool, as `TARGET:BYTES`, and what happens to its pages."""

    named: str
    placement: str

    def parts(self) -> tuple[str, int]:
        """Where it is, and how large."""
        target, colon, size = self.named.rpartition(":")
        if not colon or not target:
            hint = "write where it is and how large, such as --tier /mnt/pmem:4GiB or --tier twin:pmem100-128g*2:4GiB"
            raise AssayError(f"--tier {self.named} names no size", hint=hint, code=BAD_JOB)
        return target, int(parse_bytes(size))


@dataclass(frozen=True)
class Wanted:
    """The flags of `assay engine`."""

    workload: Json
    on: str
    log: str
    pmem: str
    pool: str
    page: str
    log_size: str
    threads: int
    tasks: int
    duration: str
    warmup: str
    durability: str
    keep: Path | None
    seed: int
    out: Path | None
    json: bool
    host: HostFlags
    tier: TierFlags


def run(wanted: Wanted) -> int:
    """Runs the engine and shows what was seen; returns the exit code."""
    record = work.run_work(Binary.find(), ["engine"], job(wanted))[0]
    if wanted.out is not None:
        output.tell(f"the record is {work.save(wanted.out, record)}")
    if wanted.json:
        output.emit(_said(record))
    else:
        with output.to_reader():
            width = None if sys.stdout.isatty() else 160
            work.show(record, Console(file=sys.stdout, highlight=False, width=width))
    return exit_code([record])


def _said(record: Json) -> Json:
    """What is asked for most often stands first."""
    rate = record["figures"]["transactions_per_s"]
    first = {"transactions_per_s": rate["value"], "provenance": rate["provenance"], "band": rate.get("band")}
    settings = record["subject"]["settings"]
    bound = {"bound_by": settings["bound_by"]} if "bound_by" in settings else {}
    judged = {"verdict": record["verdict"]["status"], "durability": record["durability"]}
    return first | bound | judged | {"record": record}


def job(wanted: Wanted) -> Json:
    """The job of `assayer engine`."""
    if wanted.durability == "pmem" and not wanted.pmem:
        hint = "name a folder on persistent memory with --pmem DIR; one in memory (/dev/shm) stands in for it"
        raise AssayError("durability pmem needs persistent memory for the log's tail", hint=hint, code=BAD_JOB)
    document: Json = {
        "version": _VERSION,
        "name": f"engine {wanted.workload['kind']}",
        "target": wanted.on,
        "durability": wanted.durability,
        "pool_bytes": int(parse_bytes(wanted.pool)),
        "page_bytes": int(parse_bytes(wanted.page)),
        "log_bytes": int(parse_bytes(wanted.log_size)),
        "threads": wanted.threads,
        "tasks": wanted.tasks,
        "warmup_s": parse_seconds(wanted.warmup),
        "duration_s": parse_seconds(wanted.duration),
        "seed": wanted.seed,
        "workload": wanted.workload,
    }
    named = {"target": wanted.on, "log_target": wanted.log, "tail_target": wanted.pmem}
    named = {key: name for key, name in named.items() if name}
    if wanted.tier.named:
        named["tier"], size = wanted.tier.parts()
        document["tier"] = {"target": named["tier"], "bytes": size, "placement": wanted.tier.placement}
    if any(name.startswith(names.PREFIX) for name in named.values()):
        document |= {key: name for key, name in named.items() if key != "tier"}
        document["twins"] = _twins(wanted, named)
    else:
        _refuse_host(wanted.host)
        folders = {key: _folder(name) for key, name in named.items()}
        if "tier" in folders:
            document["tier"]["target"] = folders.pop("tier")
        document |= folders
    if wanted.keep is not None:
        document["keep"] = str(wanted.keep.expanduser().absolute())
    return document


def _twins(wanted: Wanted, named: dict[str, str]) -> Json:
    """The twins behind `--on`, `--log`, `--pmem` and `--tier`: all of them, or none."""
    real = [name for name in named.values() if not name.startswith(names.PREFIX)]
    if real:
        hint = "name twins for all of --on, --log, --pmem and --tier, or folders for all"
        raise AssayError(f"{real[0]} is no twin, and others are", hint=hint, code=BAD_JOB)
    found = {key: parse(name, wanted.host.wish()).twin for key, name in named.items()}
    host = (found["target"] or {})["host"]
    roles = {"target": "data", "log_target": "log", "tail_target": "tail", "tier": "tier"}
    twins: Json = {roles[key]: dict(twin or {}) | {"host": host} for key, twin in found.items()}
    turn = {"turn_ns": parse_seconds(wanted.host.turn) * 1e9} if wanted.host.turn else {}
    return twins | turn


def _refuse_host(host: HostFlags) -> None:
    if host.given():
        hint = "leave them away, or name a twin: --on 'twin:970evoplus*4'"
        raise AssayError("--host, --cores, --clock and --turn are for twins", hint=hint, code=BAD_JOB)


def _folder(name: str) -> str:
    path = Path(name).expanduser().resolve()
    if not path.is_dir():
        raise AssayError(f"{name} is no folder", hint="name a folder that is there", code=BAD_JOB)
    return str(path)
