"""`--set KEY=VALUE` of `assay predict`: the host's cores and clock, and the load in the words of the options."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from assay.error import BAD_JOB, AssayError, did_you_mean
from assay.target.host import from_settings
from assay.twin.predict import Point
from assay.units.parse import number_of, parse_bytes, parse_rate, parse_seconds

HINT = "write --set KEY=VALUE, such as cores=1, clock=1.2GHz, threads=8, depth=32 or size=16KiB"


def applied(point: Point, texts: Iterable[str]) -> Point:
    """The point with the settings of `texts` over its options; the last one of a key counts.

    Raises:
        AssayError: where a key is not known or a value cannot be read.
    """
    settings = dict(map(_parts, texts))
    host = from_settings(point.host, settings)
    changes: dict[str, Any] = {}
    if host.cores is not None:
        changes["cores"] = _whole("cores", host.cores)
    if host.clock_hz is not None:
        changes["clock_hz"] = host.clock_hz
    for key, value in settings.items():
        if key not in ("cores", "clock", "rate"):
            field, read = _field(key)
            changes[field] = read(key, value)
    changed = replace(point, **changes)
    if "rate" in settings:
        changed = replace(changed, rate_per_s=parse_rate(settings["rate"]).operations(changed.size_bytes))
    return changed


def _parts(text: str) -> tuple[str, str]:
    key, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not key or not value:
        raise AssayError(f"`--set {text}` is no setting", hint=HINT, code=BAD_JOB)
    return key.replace("-", "_"), value


def _field(key: str) -> tuple[str, Callable[[str, str], Any]]:
    if key not in FIELDS:
        known = (*FIELDS, "cores", "clock", "rate")
        raise AssayError(f"a point has no setting `{key}`", hint=did_you_mean(key, known), code=BAD_JOB)
    return FIELDS[key]


def _whole(key: str, value: float | str) -> int:
    number = number_of(value) if isinstance(value, str) else value
    if number < 1 or number != int(number):
        raise AssayError(f"--set {key}={value} is no whole number from 1 on", hint=HINT, code=BAD_JOB)
    return int(number)


def _percent(key: str, value: str) -> float:
    number = float(number_of(value.removesuffix("%")))
    if not 0 <= number <= 100:
        raise AssayError(f"--set {key}={value} lies outside 0 to 100 %", hint="give the share of reads", code=BAD_JOB)
    return number


def _one_of(*words: str) -> Callable[[str, str], str]:
    def read(key: str, value: str) -> str:
        if value not in words:
            raise AssayError(f"--set {key}={value} is not known", hint=did_you_mean(value, words), code=BAD_JOB)
        return value

    return read


def _word(_key: str, value: str) -> str:
    return value


FIELDS: dict[str, tuple[str, Callable[[str, str], Any]]] = {
    "op": ("operation", _one_of("read", "write")),
    "pattern": ("sequential", lambda key, value: _one_of("sequential", "random")(key, value) == "sequential"),
    "size": ("size_bytes", lambda _, value: parse_bytes(value)),
    "threads": ("threads", _whole),
    "depth": ("depth", _whole),
    "batch": ("batch", _whole),
    "path": ("path", _word),
    "persist": ("persist", _word),
    "mix": ("read_percent", _percent),
    "durability": ("durability", _word),
    "working_set": ("working_set_bytes", lambda _, value: parse_bytes(value)),
    "data": ("working_set_bytes", lambda _, value: parse_bytes(value)),
    "file_system": ("file_system", _word),
    "duration": ("duration_s", lambda _, value: parse_seconds(value)),
    "fenced": ("fenced", lambda key, value: _one_of("true", "false")(key, value) == "true"),
    "layout": ("layout", _one_of("written", "grow", "preallocated")),
    "host": ("host", _word),
}
