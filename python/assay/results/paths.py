"""The paths, by the names that jobs have for them: what sets each apart for whoever reads or plans results."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """A path. `title` is for people; `twin` is the twins' name for it where it bypasses the page cache by itself."""

    name: str
    title: str
    #: It moves bytes of a target.
    moves: bool = True
    #: It submits and reaps: one thread keeps operations in flight.
    queued: bool = False
    #: It goes through the page cache unless direct I/O is asked for.
    cached: bool = False
    #: It never goes through the page cache.
    direct: bool = False
    twin: str = ""


KINDS = {
    kind.name: kind
    for kind in (
        Kind("pread", "pread", cached=True),
        Kind("mmap", "mmap"),
        Kind("libaio", "libaio", queued=True, cached=True),
        Kind("io_uring", "io_uring", queued=True, cached=True),
        Kind("nvme_passthrough", "NVMe passthrough", queued=True, direct=True, twin="passthrough"),
        Kind("pmem", "pmem", direct=True),
        Kind("nvme_polled", "NVMe polled", queued=True, direct=True, twin="polled"),
        Kind("null", "null", moves=False),
    )
}


def named(name: str) -> Kind:
    """The path of this name; one of which nothing is known where an older or newer version wrote it."""
    return KINDS.get(name) or Kind(name, name, moves=False)
