"""What a mount can play, by the name that was typed."""

from __future__ import annotations

from pathlib import Path

from assay import home
from assay.error import BAD_JOB, AssayError, did_you_mean
from assay.target import names
from assay.twin.predict import Point, predict
from assay.untyped import Json

PREFIX = "mount:"
"""What names of targets begin with that are mounted for a run: `mount:twin:970evoplus`."""
_TWIN = "twin:"
_FIXED = "fixed:"


def drive(name: str) -> Json:
    """The part of a job that says what is played: `twin:NAME`, `twin:FILE`, or `fixed:READ,WRITE,FLUSH` in us.

    Raises:
        AssayError: where there is no such drive, or it is more than one.
    """
    if name.startswith(_FIXED):
        return {"fixed": _fixed(name)}
    return {"twin": {"text": text(name), "host_ns": _host_ns(name)}}


def _fixed(name: str) -> Json:
    try:
        read, write, flush = (round(float(word) * 1000) for word in name.removeprefix(_FIXED).split(","))
    except ValueError as error:
        hint = "write three times in microseconds: fixed:READ,WRITE,FLUSH"
        raise AssayError(f"`{name}` is no drive", hint=hint, code=BAD_JOB) from error
    return {"read_ns": read, "write_ns": write, "flush_ns": flush}


def _host_ns(name: str) -> int:
    """What software takes of a read of 4 KiB beside the drive on its host, as `assay run` plays it; none for memory."""
    if names.is_memory(names.target(name)):
        return 0
    time = predict(Point(on=name, path="libaio+direct"))["time_ns"]
    return round(float(time["host_ns"] + time["wait_ns"]))


def text(name: str) -> str:
    """The file of a twin, from the catalog or of the user's own."""
    bare = name.removeprefix(_TWIN)
    catalog = home.catalog() / "twins"
    path = Path(bare).expanduser() if "/" in bare or bare.endswith(".toml") else catalog / f"{bare}.toml"
    if not name.startswith(_TWIN) or not path.is_file():
        known = did_you_mean(bare, [one.stem for one in catalog.glob("*.toml")])
        hint = f"one drive is mounted, by its name or file (no arrays, no caches): {known}"
        raise AssayError(f"`{name}` is no drive that can be mounted", hint=hint, code=BAD_JOB)
    return path.read_text()
