"""Work that a study declares in the place of classes of I/O: from its table to the measuring program's job."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, cast

from assay.error import BAD_JOB, AssayError, did_you_mean
from assay.study.work import engine
from assay.target import names
from assay.target.target import TWIN, Target
from assay.units.parse import parse_bytes

Json = dict[str, Any]

#: What a study's targets decide, and what nobody may declare.
_NOT_DECLARED = {"on", "log", "pmem", "serial", "yes_destroy", "keep", "seed", "host", "cores", "clock"}
#: Roles of targets (`--on log=DIR`) by the wish's names for them.
_ROLES = ("log", "pmem")


class WorkError(AssayError):
    """Work that cannot be what a study declares."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message, hint=hint, code=BAD_JOB)


class NotHereError(WorkError):
    """Work that this target cannot do, and another can."""


@dataclass(frozen=True)
class Kind:
    """A kind of work: the words after `assayer`, what it wants to know, and the job's part that says so."""

    command: tuple[str, ...]
    asks: Mapping[str, Any]
    workload: Callable[[Mapping[str, Any]], Json]


def _rows(asked: Mapping[str, Any]) -> Json:
    return {"rows": int(asked["rows"]), "value_bytes": int(parse_bytes(asked["value"]))}


def _tpcc(asked: Mapping[str, Any]) -> Json:
    return {"kind": "tpcc", "warehouses": int(asked["warehouses"]), "small": bool(asked["small"])}


def _ycsb(asked: Mapping[str, Any]) -> Json:
    return {"kind": "ycsb", "read_share": float(asked["reads"]), "zipf": float(asked["zipf"])} | _rows(asked)


def _scan(asked: Mapping[str, Any]) -> Json:
    return {"kind": "scan"} | _rows(asked)


_TABLE = {"rows": 1_000_000, "value": "120"}
KINDS = {
    "engine-tpcc": Kind(("engine",), {"warehouses": 1, "small": False}, _tpcc),
    "engine-ycsb": Kind(("engine",), {**_TABLE, "reads": 1.0, "zipf": 0.0}, _ycsb),
    "engine-scan": Kind(("engine",), _TABLE, _scan),
}


def job(table: Mapping[str, Any], target: Target, roles: Mapping[str, Target], seed: int) -> Json:
    """The job of a cell on a target; `table` has all `${...}` put in. Targets with a role hold log and tail.

    Raises:
        WorkError: where the table has a word that its kind of work does not know, or a value that cannot be.
    """
    kind = KINDS[str(table["kind"])]
    declared = {key: value for key, value in table.items() if key != "kind"}
    known = {field.name for field in fields(engine.Wish)} - _NOT_DECLARED
    if unknown := set(declared) - known - set(kind.asks):
        word = min(unknown)
        hint = did_you_mean(word, known | set(kind.asks))
        raise WorkError(f"[work]: {table['kind']} knows no `{word}`", hint)
    try:
        workload = kind.workload({**kind.asks, **{key: declared[key] for key in kind.asks if key in declared}})
        wanted = {key: _typed(key, value) for key, value in declared.items() if key in known and value != ""}
    except ValueError as error:
        raise WorkError(f"[work]: {error}", "mend the value that is named") from error
    places: Json = {name: roles[name].label for name in _ROLES if name in roles}
    host = cast("Json", target.twin["host"]) if target.twin is not None else None
    _require_alike(target, [*places.values(), str(wanted.get("tier", ""))])
    on = target.label if target.kind == TWIN else "+".join(target.members)
    return engine.job(workload, engine.Wish(on=on, seed=seed, **places, **wanted), host)


def _require_alike(target: Target, others: list[str]) -> None:
    """Twins are played together, and folders are measured together."""
    twins = [other for other in others if other.startswith(names.PREFIX)]
    folders = [other for other in others if other and other not in twins]
    if target.kind == TWIN and folders:
        raise NotHereError(f"{folders[0]} is no twin, and {target.label} is one", "name twins for all of them")
    if target.kind != TWIN and twins:
        hint = f"name a twin with --on, or a folder in the place of {twins[0]}"
        raise NotHereError(f"{twins[0]} is a twin, and {target.label} is none", hint)


def _typed(key: str, value: Any) -> Any:
    words = {"durability": engine.Durability, "path": engine.Way, "placement": engine.Placement}
    if key in words:
        return words[key](value)
    if key in {"threads", "tasks", "logs"}:
        return _count(key, value)
    return str(value)


def _count(key: str, value: Any) -> int:
    count = int(value)
    if count < 1:
        raise ValueError(f"{key} is {value}, and must be 1 or more")
    return count


def members(job: Mapping[str, Any]) -> list[str]:
    """Folders that the job of a work writes to; none of what a twin plays."""
    if job.get("twins"):
        return []
    tier = job.get("tier") or {}
    named = [
        job.get("target"),
        *job.get("stripes", ()),
        job.get("log_target"),
        job.get("tail_target"),
        tier.get("target"),
    ]
    return list(dict.fromkeys(str(one) for one in named if one))


def window_s(job: Mapping[str, Any]) -> float:
    """Seconds of warm-up and window."""
    return float(job["warmup_s"]) + float(job["duration_s"])
