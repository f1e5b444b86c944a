"""Writes docs/lies.md from what Assay said in real runs.

pytest tests/lies/test_lies.py --said FILE; python -m lies.page FILE > docs/lies.md
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from assay.untyped import Json

from .gallery import GALLERY, REFUSED, Lie
from .stages import caches, clocks, data, flushes, layers, machine, played, repeats, targets, windows  # noqa: F401

GROUPS = {
    "caches": "Memory that answers for a device",
    "clocks": "Clocks that are wrong",
    "data": "Data that is not there, or is cheap to serve",
    "flushes": "Flushes that flush nothing",
    "layers": "Layers that do less than they seem to",
    "machine": "A machine that is not the run's alone, or stands still",
    "played": "A file system that a program plays",
    "repeats": "Repeats, and other work than plain I/O",
    "targets": "A target that is another one in the end, or breaks",
    "windows": "What is counted, and when",
}
HEAD = """# The gallery of lies

This page answers which {count} ways to bend a number were staged, each for real, and what Assay says to each. The tests
stage all of them (`tests/lies`); none may end `valid`, and each must have the reason that is its own. The sentences
come from real runs on a virtual machine with {cpus} CPUs ({model}), {memory:.0f} GiB of memory and Linux {kernel};
further reasons that the records had are left out. `pytest tests/lies/test_lies.py --said FILE` stages them, and
`python -m lies.page FILE` writes this page.
"""
TAIL = """## Honest cells

The other way round: `pytest tests/lies/test_honest.py --cells 200` measures nothing at all, memory and a disk by
honest paths, closed and at a rate, 1.2 s each, and counts reasons that are not true. A second instrument looks on:
the disk's own counters, copies in memory and a loop that reads the clock. On 2026-11-26, on a virtual machine with 2
CPUs (AMD EPYC, family 25) without a PMU, with ext4 on virtio and nothing beside it, 4 of 200 cells carried a reason
that nothing accounted for: `frequency-changed` three times and `steadiness-lost` once, of a memory's reads. Another
26 had one that the second instrument or other processes confirm. Three runs of the 200 that day
before the last changes had 3 to 6 such cells; it was 35 as long as timers that end late counted for a late generator,
and a CPU that wakes up for one whose frequency had changed. What a neighbour on the host does to a CPU for a fifth of
a second, no second instrument that looks now and then can confirm.

## What no program can see

The host's cache beneath a virtual disk, the memory inside of a drive beyond what is said above, a drive that answers a
flush and keeps the bytes in a cache, a hypervisor that lies about time to the whole machine. [Limits](limits.md) says
more, and [the lab](power-cuts.md) cuts the power.
"""


def page(said: Json) -> str:
    """The page."""
    told = {one["name"]: one for one in said["lies"]}
    known = [entry for entry in GALLERY if entry.name in told and not entry.awaits]
    here = said["machine"]
    head = HEAD.format(
        count=len(known),
        cpus=here["cpu"]["logical"],
        model=here["cpu"]["model"],
        memory=here["memory"]["total_bytes"] / 2**30,
        kernel=here["kernel"],
    )
    return "\n".join([head, *(line for group in GROUPS for line in _group(group, known, told)), TAIL])


def _group(group: str, known: list[Lie], told: dict[str, Json]) -> Iterator[str]:
    entries = [entry for entry in known if entry.group == group]
    if not entries:
        return
    yield f"## {GROUPS[group]}\n"
    yield "| lie | how it is staged | what Assay says |\n| --- | --- | --- |"
    yield from (f"| `{entry.name}` | {_cell(entry.how)} | {_says(entry, told[entry.name])} |" for entry in entries)
    yield ""


def _says(entry: Lie, said: Json) -> str:
    if entry.reason == REFUSED:
        return f"refused: {_cell(_without_paths(said['refused']['reason']))}"
    found = [one for one in said["verdict"]["reasons"] if one["code"] == entry.reason]
    first = min(found, key=lambda one: entry.says not in one["evidence"])
    link = f"[`{entry.reason}`](verdicts/{entry.reason}.md) ({first['severity']})"
    return f"{link}: {_cell(_without_paths(first['evidence']))}"


def _without_paths(text: str) -> str:
    """Temporary folders are nobody's business."""
    return " ".join(
        "..." + word[word.rindex("/") :] if word.startswith("/") and word.count("/") > 2 else word
        for word in text.split()
    )


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    sys.stdout.write(page(json.loads(Path(sys.argv[1]).read_text())))
