"""What the command line demands of every cell: where threads run, how CPU is counted, how large the page cache is."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from assay.error import BAD_JOB, NOT_POSSIBLE, AssayError, did_you_mean
from assay.study.cell import Cell
from assay.study.pin import PinError, parse_pin
from assay.target.target import TWIN
from assay.units.parse import parse_bytes
from assay.untyped import Json

COUNTINGS = ("auto", "in-window", "own-window", "accounts")


@dataclass(frozen=True)
class Demand:
    """`counting` for all cells (none: as the study says); `pins` by class, under the empty name for all classes;
    `cache_bytes` for all cells whose data go through the page cache (none: as the study says)."""

    counting: str | None = None
    pins: Mapping[str, Json | None] | None = None
    cache_bytes: int | None = None

    @classmethod
    def of(cls, counting: str | None, pins: Sequence[str], cache: str | None = None) -> Demand:
        """From what was typed; a CPU that this process may not use is refused."""
        if counting is not None and counting not in COUNTINGS:
            hint = did_you_mean(counting, COUNTINGS)
            raise AssayError(f"--counting {counting}: there is no such way to count", hint=hint, code=BAD_JOB)
        found: dict[str, Json | None] = {}
        for text in pins:
            name, equals, place = text.rpartition("=")
            if (equals and not name) or name in found:
                raise PinError(text, "name a class once, or none for all")
            found[name] = parse_pin(place)
            _there(place, found[name])
        return cls(counting, found or None, int(parse_bytes(cache)) if cache is not None else None)

    def on(self, cells: Iterable[Cell]) -> list[Cell]:
        """The cells with it. A class that no cell has is refused."""
        cells = list(cells)
        if (self.counting or self.pins or self.cache_bytes is not None) and any(cell.program for cell in cells):
            hint = "leave --counting, --pin and --cache out; they are for studies of I/O"
            raise AssayError("the study does work of the engine, which has no classes", hint=hint, code=BAD_JOB)
        names = {entry["name"] for cell in cells for entry in cell.job.get("classes", [])}
        if unknown := set(self.pins or {}) - names - {""}:
            name = min(unknown)
            hint = did_you_mean(name, names)
            raise AssayError(f"--pin {name}=...: no cell has such a class", hint=hint, code=BAD_JOB)
        if self.cache_bytes is not None and not any(_is_cached(cell.job) for cell in cells):
            hint = "leave --cache out; it bounds the page cache of folders, files and block devices"
            raise AssayError("--cache: no cell goes through a page cache", hint=hint, code=BAD_JOB)
        return [replace(cell, job=self._job(cell.job)) for cell in cells]

    def _job(self, job: Json) -> Json:
        if self.pins and any(target["kind"] == TWIN for target in job.get("targets", [])):
            hint = "leave --pin out; --host says which host drives it"
            raise AssayError("--pin: a twin's host has no CPUs to keep to", hint=hint, code=BAD_JOB)
        found = job | ({"counting": self.counting} if self.counting else {})
        if self.cache_bytes is not None and _is_cached(job):
            found["cache_bytes"] = self.cache_bytes
        return found | ({"classes": [self._class(entry) for entry in job["classes"]]} if self.pins else {})

    def _class(self, entry: Json) -> Json:
        pins = self.pins or {}
        if entry["name"] not in pins and "" not in pins:
            return entry
        pin = pins.get(entry["name"], pins.get(""))
        bare = {key: value for key, value in entry.items() if key != "pin"}
        return bare | ({"pin": pin} if pin else {})


def _is_cached(job: Json) -> bool:
    kinds = {target["kind"] for target in job.get("targets", [])}
    return job.get("cache") != "bypassed" and kinds <= {"folder", "file", "block-device"}


def _there(text: str, pin: Json | None) -> None:
    usable = sorted(os.sched_getaffinity(0))
    missing = [cpu for cpu in (pin or {}).get("cpus", ()) if cpu not in usable]
    if missing:
        have = ", ".join(map(str, usable))
        raise AssayError(
            f"--pin {text}: this process may not use CPU {missing[0]}",
            hint=f"it may use {have}",
            code=NOT_POSSIBLE,
        )
