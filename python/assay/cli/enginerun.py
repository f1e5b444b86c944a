"""`assay engine`: what was asked, done and shown."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from rich.console import Console

from assay import work
from assay.binary import Binary
from assay.cli import output
from assay.cli.engineflags import Durability, Flags
from assay.error import BAD_JOB, AssayError
from assay.study.units import parse_bytes, parse_seconds
from assay.work.run import exit_code

Json = dict[str, Any]
_VERSION = 1


def run(workload: Json, wanted: Flags) -> int:
    """Runs the engine and shows what was seen; returns the exit code."""
    record = work.run_work(Binary.find(), ["engine"], job(workload, wanted))[0]
    if wanted.out is not None:
        output.tell(f"the record is {work.save(wanted.out, record)}")
    if wanted.json:
        per_s = record["figures"]["transactions_per_s"]["value"]
        output.emit({"transactions_per_s": per_s, "durability": record["durability"], "record": record})
    else:
        with output.to_reader():
            width = None if sys.stdout.isatty() else 160
            work.show(record, Console(file=sys.stdout, highlight=False, width=width))
    return exit_code([record])


def job(workload: Json, wanted: Flags) -> Json:
    """The job of `assayer engine`."""
    if wanted.durability is Durability.PMEM and wanted.pmem is None:
        hint = "name a folder on persistent memory with --pmem DIR; one in memory (/dev/shm) stands in for it"
        raise AssayError("durability pmem needs persistent memory for the log's tail", hint=hint, code=BAD_JOB)
    document: Json = {
        "version": _VERSION,
        "name": f"engine {workload['kind']}",
        "target": _folder(wanted.on),
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
    if wanted.log is not None:
        document["log_target"] = _folder(wanted.log)
    if wanted.pmem is not None:
        document["tail_target"] = _folder(wanted.pmem)
    if wanted.keep is not None:
        document["keep"] = str(wanted.keep.expanduser().absolute())
    return document


def _folder(name: Path) -> str:
    path = name.expanduser().resolve()
    if not path.is_dir():
        raise AssayError(f"{name} is no folder", hint="name a folder that is there", code=BAD_JOB)
    return str(path)
