"""Work that a study declares in the place of classes of I/O: from its table to the measuring program's job."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from enum import StrEnum
from typing import Any, cast, get_args, get_type_hints

from assay.error import BAD_JOB, AssayError, did_you_mean
from assay.study.work import engine, index, runners, workload
from assay.study.work.kind import DRIVEN
from assay.target import names
from assay.target.target import TWIN, Target

Json = dict[str, Any]

#: Words of the measuring program by kind of work; of what is driven from Python the kind itself.
COMMANDS = {
    **dict.fromkeys(workload.DECLARED, ("engine",)),
    "index": ("index",),
    **{kind: (kind,) for kind in DRIVEN},
}
#: What a study's targets decide, and what nobody may declare.
_NOT_DECLARED = {
    *("on", "log", "pmem", "serial", "yes_destroy", "keep", "seed", "host", "cores", "clock"),
    *("pool_file", "as_if", "twin", "options"),
}
#: Of an index on a twin: what computing costs there.
_PLAYED = ("turn", "cache")
#: Roles of targets (`--on log=DIR`) by the wish's names for them.
_ROLES = ("log", "pmem")


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
    if kind in DRIVEN:
        return runners.runner(kind).job({key: table[key] for key in table if key != "kind"}, target, roles, seed)
    asked, wanted = _read(kind, {key: value for key, value in table.items() if key != "kind"})
    places: Json = {name: roles[name].label for name in _ROLES if name in roles}
    _require_alike(target, [*places.values(), str(wanted.get("tier", ""))])
    on = target.label if target.kind == TWIN else "+".join(target.members)
    if kind == "index":
        if places:
            raise WorkError(f"an index has no {min(places)}", f"leave --on {min(places)}=... out")
        named: Json = {"index": "", "workload": ""}
        played = index.TwinWish(turn=wanted.pop("turn", ""), cache=wanted.pop("cache", ""))
        return index.job(index.Wish(**(named | wanted), on=on, seed=seed, twin=played), target.twin)
    host = cast("Json", target.twin["host"]) if target.twin is not None else None
    return engine.job(workload.DECLARED[kind](**asked), engine.Wish(on=on, seed=seed, **places, **wanted), host)


def _read(kind: str, declared: Json) -> tuple[Json, Json]:
    """What the workload asks for, and the wish's other parts: each as its own declaration in code says."""
    asks = _usual(workload.DECLARED[kind]) if kind in workload.DECLARED else {}
    wish = index.Wish if kind == "index" else engine.Wish
    types = get_type_hints(wish) | dict.fromkeys(_PLAYED, str)
    known = {field.name for field in fields(wish)} - _NOT_DECLARED | set(_PLAYED if kind == "index" else ())
    _require_known(kind, declared, known | set(asks))
    try:
        asked = {key: _like(usual, key, declared.get(key, usual)) for key, usual in asks.items()}
        wanted = {
            key: _typed(types[key], key, value) for key, value in declared.items() if key in known and value != ""
        }
    except ValueError as error:
        raise WorkError(f"[work]: {error}", "mend the value that is named") from error
    return asked, wanted


def options(kind: str, asks: Callable[..., Any], declared: Mapping[str, Any]) -> Json:
    """What a kind of work that is driven from Python is asked for: each word as the parameter of `asks` has it.

    Raises:
        WorkError: where it has no such word, or the value is none of its kind.
    """
    usual, types = _usual(asks), get_type_hints(asks)
    _require_known(kind, declared, usual)
    try:
        return {
            key: _like(usual[key], key, value) if usual[key] is not None else _typed(types[key], key, value)
            for key, value in declared.items()
            if value != ""
        }
    except (TypeError, ValueError) as error:
        raise WorkError(f"[work]: {error}", "mend the value that is named") from error


def _require_known(kind: str, declared: Mapping[str, Any], known: Iterable[str]) -> None:
    known = set(known)
    if unknown := set(declared) - known:
        word = min(unknown)
        raise WorkError(f"[work]: {kind} knows no `{word}`", did_you_mean(word, known))


def _usual(asks: Any) -> Json:
    """What a workload asks for, with what is usual."""
    return {name: one.default for name, one in inspect.signature(asks).parameters.items()}


def _require_alike(target: Target, others: list[str]) -> None:
    """Twins are played together, and folders are measured together."""
    twins = [other for other in others if other.startswith(names.PREFIX)]
    folders = [other for other in others if other and other not in twins]
    if target.kind == TWIN and folders:
        raise NotHereError(f"{folders[0]} is no twin, and {target.label} is one", "name twins for all of them")
    if target.kind != TWIN and twins:
        hint = f"name a twin with --on, or a folder in the place of {twins[0]}"
        raise NotHereError(f"{twins[0]} is a twin, and {target.label} is none", hint)


def _typed(wanted: Any, key: str, value: Any) -> Any:
    """A declared value as the wish's field has it: a truth, a count, one of a few words, or text."""
    kind = next((one for one in get_args(wanted) if one is not type(None)), wanted)
    if kind is bool:
        return _like(True, key, value)
    if kind is int:
        return _count(key, value)
    if kind is float:
        return float(value)
    return kind(value) if issubclass(kind, StrEnum) else str(value)


def _like(usual: Any, key: str, value: Any) -> Any:
    """A value of the kind of the usual one: `"false"` is no truth, and half a row no row."""
    if isinstance(usual, bool):
        if not isinstance(value, bool):
            raise ValueError(f"{key} is {value!r}, and must be true or false")
        return value
    if isinstance(usual, tuple) and isinstance(value, str):
        return (value,)
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
