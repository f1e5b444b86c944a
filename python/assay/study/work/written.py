"""What the run of an index writes at most, by what it changes."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.study.work.index import IN_MEMORY, INDEXES, MEMORY_FOLDER, READING

# Taken for granted: what a log and its pages write, and no run of ours has written more.
BYTES_PER_S = 500e6
# A change touches so many blocks of memory at most, splits shared out among the changes that lead to them. Eight-byte
# entries were seen to take one to three.
BLOCKS = 8
BLOCK_BYTES, PAGE_BYTES = 256, 4096
# On a drive a change writes its page, one that was split off, and both again in the checkpoint after the load.
PAGES = 3
# Of the pool in front of a drive where nobody says, and the room of an entry in its file with the copies that a
# checkpoint needs, as the index itself makes its file (crates/index/src/ssd/factory.rs).
POOL_BYTES, ENTRY_BYTES, COPIES, HEAD_BYTES = 256 << 20, 64, 6, 1 << 20


def at_most(job: Mapping[str, Any], load_s: float, window_s: float) -> int:
    """Bytes that an index run writes at most: its load is taken to last `load_s`, its warm-up and window `window_s`.

    The load changes each key once, and a workload that only reads changes nothing afterwards. One that changes is
    bounded by its operations and those of the counting pass, or where a time ends it by `BYTES_PER_S`. A change writes
    `BLOCKS` blocks and its entry twice in memory, `PAGES` pages on a drive. Where the pool of a drive holds the whole
    file, pages leave it with the checkpoint alone, and the load writes no more than the file; otherwise no more than
    the file or than `BYTES_PER_S` in its time, whichever is larger. Of an index of others only times are known.
    """
    if job["index"] not in INDEXES:
        return int((load_s + window_s) * BYTES_PER_S)
    return int(_load(job, load_s) + (0.0 if job["workload"] in READING else _window(job, window_s)))


def _load(job: Mapping[str, Any], seconds: float) -> float:
    changed = float(job["keys"] * _change(job))
    file = float(job["keys"]) * (_entry(job) + ENTRY_BYTES) * COPIES + HEAD_BYTES
    pool = int(job.get("pool_bytes") or POOL_BYTES)
    if job["index"] not in IN_MEMORY and pool >= file:
        return min(changed, file)
    return min(changed, max(file, seconds * BYTES_PER_S))


def _window(job: Mapping[str, Any], seconds: float) -> float:
    counted = job["counted_operations"] * _change(job)
    operations = job["window"].get("operations")
    return float(counted + (seconds * BYTES_PER_S if operations is None else operations * _change(job)))


def _entry(job: Mapping[str, Any]) -> int:
    return int(job["sizes"]["key"]["most"] + job["sizes"]["value"]["most"])


def _change(job: Mapping[str, Any]) -> int:
    """Bytes that one change writes at most."""
    entry = _entry(job)
    if job["index"] not in IN_MEMORY:
        page = max(PAGE_BYTES, int(job["options"].get("page_bytes") or 0))
        return PAGES * max(page, -(-entry // page) * page)
    block = BLOCK_BYTES if _is_memory(Path(job["target"])) else PAGE_BYTES
    return BLOCKS * block + 2 * entry


def _is_memory(place: Path) -> bool:
    """Whether single blocks reach it; beneath a file of a drive the kernel writes whole pages."""
    try:
        return place.is_relative_to(MEMORY_FOLDER) or stat.S_ISCHR(place.stat().st_mode)
    except OSError:
        return False
