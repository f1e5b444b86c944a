"""From what the user wants to the measuring program's job."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.error import BAD_JOB, AssayError, did_you_mean
from assay.index.waits import as_if
from assay.units.parse import parse_bytes, parse_seconds

Json = dict[str, Any]
VERSION = 1
INDEXES = ("fptree", "bztree", "dash-eh", "dash-lh", "ssd-btree", "ssd-hash")
RIVALS = ("lmdb", "rocksdb", "wiredtiger", "redb")
IN_MEMORY = INDEXES[:4]
WORKLOADS = (
    *("lookup", "missing", "insert", "update", "remove", "scan", "mixed"),
    *("ycsb-a", "ycsb-b", "ycsb-c", "ycsb-d", "ycsb-e", "ycsb-f"),
)
PATHS = ("io_uring", "libaio", "pread")
MEMORY_FOLDER = Path("/dev/shm")  # noqa: S108  Stands in for persistent memory; what is made there is removed again.


@dataclass(frozen=True)
class Wish:
    """One run as the command line has it; empty text means what is usual."""

    index: str
    workload: str
    on: str = ""
    keys: str = "1e6"
    threads: int = 1
    duration: str = ""
    operations: str = ""
    warmup: str = "0.5s"
    distribution: str = ""
    key_bytes: str = "8"
    value_bytes: str = "8"
    scan_length: int = 100
    pool: str = ""
    pool_file: Path | None = None
    batch: int = 1
    split: bool = False
    path: str = ""
    pin: bool = False
    huge_pages: bool = True
    as_if: str = ""
    count: str = "100000"
    seed: int = 1
    options: list[str] = field(default_factory=list)


def job(wish: Wish) -> Json:
    """The job of `assayer index`.

    Raises:
        AssayError: where a word or a number is none.
    """
    for what, word, known in (("index", wish.index, INDEXES + RIVALS), ("workload", wish.workload, WORKLOADS)):
        if word not in known:
            raise AssayError(f"there is no {what} `{word}`", hint=did_you_mean(word, known), code=BAD_JOB)
    document: Json = {
        "version": VERSION,
        "name": f"{wish.index}-{wish.workload}",
        "index": wish.index,
        "target": str(Path(wish.on).absolute() if wish.on else _usual_place(wish.index)),
        "workload": wish.workload,
        "keys": number(wish.keys, "--keys"),
        "threads": wish.threads,
        "sizes": {"key": _span(wish.key_bytes), "value": _span(wish.value_bytes)},
        "scan_length": wish.scan_length,
        "warmup_s": parse_seconds(wish.warmup),
        "window": _window(wish),
        "batch": wish.batch,
        "split": wish.split,
        "pin": wish.pin,
        "huge_pages": wish.huge_pages,
        "counted_operations": number(wish.count, "--count"),
        "seed": wish.seed,
        "options": dict(_option(text) for text in wish.options) | _path(wish),
    }
    if wish.distribution:
        document["distribution"] = _law(wish.distribution)
    if wish.pool:
        document["pool_bytes"] = parse_bytes(wish.pool)
    if wish.pool_file is not None:
        document["pool_file"] = str(wish.pool_file.absolute())
    if wish.as_if:
        document["as_if"] = as_if(wish.as_if)
    return document


def _path(wish: Wish) -> Json:
    if not wish.path:
        return {}
    if wish.path not in PATHS:
        raise AssayError(f"there is no path `{wish.path}`", hint=did_you_mean(wish.path, PATHS), code=BAD_JOB)
    if wish.index in IN_MEMORY:
        hint = "leave --path out; it is for ssd-btree and ssd-hash"
        raise AssayError(f"{wish.index} lies in memory: no path leads to it", hint=hint, code=BAD_JOB)
    return {"io": wish.path}


def _usual_place(index: str) -> Path:
    return MEMORY_FOLDER if index in IN_MEMORY and MEMORY_FOLDER.is_dir() else Path.cwd()


def number(text: str, flag: str) -> int:
    """A count, such as 1000000, 1e6 or 50M."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?(?:e\d+)?)([kMG]?)", text.replace("_", ""))
    value = float(found[1]) * {"": 1, "k": 1e3, "M": 1e6, "G": 1e9}[found[2]] if found else -1.0
    if value != int(value) or value < 0:
        raise AssayError(f"{flag} {text} is no count", hint="write a count such as 1000000, 1e6 or 50M", code=BAD_JOB)
    return int(value)


def _window(wish: Wish) -> Json:
    if wish.duration and wish.operations:
        raise AssayError("a window ends after a time or after operations, not both", hint="leave one out", code=BAD_JOB)
    if wish.operations:
        return {"operations": number(wish.operations, "--operations")}
    return {"seconds": parse_seconds(wish.duration or "5s")}


def _span(text: str) -> Json:
    found = re.fullmatch(r"(\d+)(?:-(\d+))?", text)
    if found is None:
        hint = "write a number of bytes such as 8, or the shortest and the longest such as 8-64"
        raise AssayError(f"`{text}` is no length", hint=hint, code=BAD_JOB)
    return {"least": int(found[1]), "most": int(found[2] or found[1])}


_LAWS = {"uniform": ("", 0.0), "zipf": ("theta", 0.99), "self-similar": ("skew", 0.2), "latest": ("theta", 0.99)}


def _law(text: str) -> Json:
    name, _, value = text.partition(":")
    if name not in _LAWS:
        raise AssayError(f"there is no distribution `{name}`", hint=did_you_mean(name, _LAWS), code=BAD_JOB)
    parameter, usual = _LAWS[name]
    if not parameter:
        return {"law": name}
    try:
        return {"law": name, parameter: float(value) if value else usual}
    except ValueError:
        hint = f"write {name} or {name}:{usual}"
        raise AssayError(f"`{value}` is no {parameter}", hint=hint, code=BAD_JOB) from None


def _option(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise AssayError(f"`{text}` is no option", hint="write --set NAME=VALUE", code=BAD_JOB)
    if re.fullmatch(r"\d+", value):
        return name, int(value)
    return name, {"true": True, "false": False}.get(value, value)
