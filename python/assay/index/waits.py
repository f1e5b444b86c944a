"""From a twin of memory modules to the waits that make this machine's memory as slow.

A wait is what the twin's module takes more than the twin of the DRAM beside it: the DRAM of this machine takes its own
time already. Reads of a block wait for a dependent random load of 256 B, writes for a random store of 256 B that is
flushed and fenced. Threads do not slow each other down: a module that runs out of bandwidth is not imitated.
"""

from __future__ import annotations

from assay.error import BAD_JOB, AssayError
from assay.target import names
from assay.twin.predict import Point, predict
from assay.untyped import Json

DRAM = "twin:ddr4-2666-16g"
BLOCK_BYTES = 256
# A thread's share of the caches of the studies' processors: 1.4 MiB of last level and 1 MiB of L2 per core, rounded up.
CACHED_BLOCKS = 4 * 1024 * 1024 // BLOCK_BYTES


def as_if(twin: str) -> Json:
    """The job's `as_if` for a twin of memory modules.

    Raises:
        AssayError: where it is no twin of memory.
    """
    word = names.PREFIX + twin.removeprefix(names.PREFIX)
    if not names.is_memory(names.target(word)):
        hint = "name a twin of memory modules, such as twin:pmem100-128g; `assay list twins` shows them"
        raise AssayError(f"{word} is a drive: an index in memory cannot run as if on it", hint=hint, code=BAD_JOB)
    return {
        "twin": word,
        "flush_ns": 0.0,
        "fence_ns": 0.0,
        "block_read_ns": _more(word, "read"),
        "block_written_ns": _more(word, "write"),
        "cached_blocks": CACHED_BLOCKS,
    }


def _more(twin: str, operation: str) -> float:
    taken = [_latency_ns(target, operation) for target in (twin, DRAM)]
    return max(0.0, round(taken[0] - taken[1], 1))


def _latency_ns(target: str, operation: str) -> float:
    point = Point(on=target, operation=operation, size_bytes=BLOCK_BYTES, fenced=True)
    return float(predict(point)["latency_ns"]["mean"])
