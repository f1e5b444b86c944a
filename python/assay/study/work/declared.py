"""Work that a study declares in the place of classes of I/O: from its table to the measuring program's job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, cast

from assay.error import BAD_JOB, AssayError, did_you_mean
from assay.study.work import engine, index
from assay.target import names
from assay.target.target import TWIN, Target
from assay.units.parse import parse_bytes

Json = dict[str, Any]

#: Words of the measuring program by kind of work.
COMMANDS = {"engine-tpcc": ("engine",), "engine-ycsb": ("engine",), "engine-scan": ("engine",), "index": ("index",)}
#: What a study's targets decide, and what nobody may declare.
_NOT_DECLARED = {
    *("on", "log", "pmem", "serial", "yes_destroy", "keep", "seed", "host", "cores", "clock"),
    *("pool_file", "as_if", "twin", "options"),
}
#: Roles of targets (`--on log=DIR`) by the wish's names for them.
_ROLES = ("log", "pmem")
_TABLE = {"rows": 1_000_000, "value": "120"}
#: What workloads of the engine want to know, with what is usual.
_ASKED: dict[str, Json] = {
    "engine-tpcc": {"warehouses": 1, "small": False},
    "engine-ycsb": {**_TABLE, "reads": 1.0, "zipf": 0.0},
    "engine-scan": _TABLE,
    "index": {"index": "", "workload": ""},
}
_WORDS = {"durability": engine.Durability, "path": engine.EngineWay, "placement": engine.Placement}
_COUNTS = ("threads", "tasks", "logs", "batch", "scan_length")
_TRUTHS = ("split", "pin", "huge_pages")


class WorkError(AssayError):
    """Work that cannot be what a study declares."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message, hint=hint, code=BAD_JOB)


class NotHereError(WorkError):
    """Work that this target cannot do, and another can."""


def job(table: Mapping[str, Any], target: Target, roles: Mapping[str, Target], seed: int) -> Json:
    """The job of a cell on a target; `table` has all `${...}` put in. Targets with a role hold log and tail.

    Raises:
        WorkError: where the table has a word that its kind of work does not know, or a value that cannot be.
    """
    kind = str(table["kind"])
    asked, wanted = _read(kind, {key: value for key, value in table.items() if key != "kind"})
    places: Json = {name: roles[name].label for name in _ROLES if name in roles}
    _require_alike(target, [*places.values(), str(wanted.get("tier", ""))])
    on = target.label if target.kind == TWIN else "+".join(target.members)
    if kind == "index":
        if places:
            raise WorkError(f"an index has no {min(places)}", f"leave --on {min(places)}=... out")
        return index.job(index.Wish(**asked, on=on, seed=seed, **wanted), target.twin)
    host = cast("Json", target.twin["host"]) if target.twin is not None else None
    return engine.job(_workload(kind, asked), engine.Wish(on=on, seed=seed, **places, **wanted), host)


def _read(kind: str, declared: Json) -> tuple[Json, Json]:
    """What the workload asks for, and the wish's other parts."""
    asks = _ASKED[kind]
    known = {field.name for field in fields(index.Wish if kind == "index" else engine.Wish)} - _NOT_DECLARED
    if unknown := set(declared) - known - set(asks):
        word = min(unknown)
        raise WorkError(f"[work]: {kind} knows no `{word}`", did_you_mean(word, known | set(asks)))
    try:
        asked = {key: _like(usual, key, declared.get(key, usual)) for key, usual in asks.items()}
        wanted = {key: _typed(kind, key, value) for key, value in declared.items() if key not in asks and value != ""}
    except ValueError as error:
        raise WorkError(f"[work]: {error}", "mend the value that is named") from error
    return asked, wanted


def _workload(kind: str, asked: Json) -> Json:
    if kind == "engine-tpcc":
        return {"kind": "tpcc"} | asked
    rows = {"rows": asked["rows"], "value_bytes": int(parse_bytes(asked["value"]))}
    if kind == "engine-scan":
        return {"kind": "scan"} | rows
    return {"kind": "ycsb", "read_share": asked["reads"], "zipf": asked["zipf"]} | rows


def _require_alike(target: Target, others: list[str]) -> None:
    """Twins are played together, and folders are measured together."""
    twins = [other for other in others if other.startswith(names.PREFIX)]
    folders = [other for other in others if other and other not in twins]
    if target.kind == TWIN and folders:
        raise NotHereError(f"{folders[0]} is no twin, and {target.label} is one", "name twins for all of them")
    if target.kind != TWIN and twins:
        hint = f"name a twin with --on, or a folder in the place of {twins[0]}"
        raise NotHereError(f"{twins[0]} is a twin, and {target.label} is none", hint)


def _typed(kind: str, key: str, value: Any) -> Any:
    if kind != "index" and key in _WORDS:
        return _WORDS[key](value)
    if key in _COUNTS:
        return _count(key, value)
    if key in _TRUTHS:
        return _like(True, key, value)
    return str(value)


def _like(usual: Any, key: str, value: Any) -> Any:
    """A value of the kind of the usual one: `"false"` is no truth, and half a row no row."""
    if isinstance(usual, bool):
        if not isinstance(value, bool):
            raise ValueError(f"{key} is {value!r}, and must be true or false")
        return value
    found = type(usual)(value)
    if isinstance(usual, int) and isinstance(value, float) and found != value:
        raise ValueError(f"{key} is {value}, and must be a whole number")
    return found


def _count(key: str, value: Any) -> int:
    count = int(value)
    if count < 1:
        raise ValueError(f"{key} is {value}, and must be 1 or more")
    return count


def members(job: Mapping[str, Any]) -> list[str]:
    """Folders that the job of a work writes to; none of what a twin plays."""
    if job.get("twins") or job.get("twin"):
        return []
    tier = job.get("tier") or {}
    named = [
        *(job.get("target"), *job.get("stripes", ()), job.get("log_target")),
        *(job.get("tail_target"), tier.get("target")),
    ]
    return list(dict.fromkeys(str(one) for one in named if one))


def window_s(job: Mapping[str, Any]) -> float:
    """Seconds of warm-up and window; a window that ends by operations counts as a second."""
    window = job.get("window", {}).get("seconds", 1.0)
    return float(job["warmup_s"]) + float(job.get("duration_s", window))
