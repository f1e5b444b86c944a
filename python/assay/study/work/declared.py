"""Work that a study declares in the place of classes of I/O: from its table to the measuring program's job."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from assay import rivals
from assay.binary import Binary
from assay.error import BAD_JOB, NOT_POSSIBLE, AssayError, did_you_mean
from assay.study.work import engine, index, runners, workload
from assay.study.work.kind import DRIVEN
from assay.target import names
from assay.target.target import TWIN, Target
from assay.untyped import Json

#: Words of the measuring program by kind of work; of what is driven from Python the kind itself.
COMMANDS = {
    **dict.fromkeys(workload.DECLARED, ("engine",)),
    "index": ("index",),
    **{kind: (kind,) for kind in DRIVEN},
}
#: Where pages and log lie on devices.
SEATS = ("devices", "log_devices")
#: Roles of targets (`--on log=DIR`).
_ROLES = ("log", "pmem")


class WorkError(AssayError):
    """Work that cannot be what a study declares."""

    def __init__(self, message: str, hint: str, code: int = BAD_JOB) -> None:
        super().__init__(message, hint=hint, code=code)


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
    places = {name: roles[name] for name in _ROLES if name in roles}
    _require_alike(target, [*(place.label for place in places.values()), str(wanted.get("tier", ""))])
    if kind != "index":
        return engine.job(workload.DECLARED[kind](**asked), engine.Wish(**wanted), target, places, seed)
    if places:
        raise WorkError(f"an index has no {min(places)}", f"leave --on {min(places)}=... out")
    wish = index.Wish(**wanted)
    document = index.job(wish, target, seed)
    _require_built(wish.index)
    return document | ({"as_if": runners.waits(wish.as_if)} if wish.as_if else {})


def _require_built(name: str) -> None:
    """Rivals are built when somebody asks for it."""
    if name in rivals.NAMES:
        try:
            rivals.program(name)
        except AssayError as error:
            raise NotHereError(error.message, error.hint, NOT_POSSIBLE) from error


def program(job: Mapping[str, Any], usual: Binary) -> Binary:
    """The program that does a job: rivals have one of their own."""
    return rivals.program(job["index"]) if job.get("index") in rivals.NAMES else usual


def kept(table: Mapping[str, Any]) -> bool:
    """Whether what a cell makes is kept, and opened again with the seed that it was made with."""
    return any(table.get(word) for word in ("keep", "pool_file"))


def _read(kind: str, declared: Json) -> tuple[Json, Json]:
    """What the workload asks for, and the wish's other parts: each as its own declaration in code says."""
    asks = _usual(workload.DECLARED[kind]) if kind in workload.DECLARED else {}
    types = get_type_hints(index.Wish if kind == "index" else engine.Wish)
    _require_known(kind, declared, {*types, *asks})
    try:
        asked = {key: _like(usual, key, declared.get(key, usual)) for key, usual in asks.items()}
        wanted = {
            key: _typed(types[key], key, value) for key, value in declared.items() if key in types and value != ""
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
    """A declared value as the wish's field has it: a truth, a count, a number, one of a few words, a path, or text."""
    if get_origin(wanted) is list:
        return [str(one) for one in (value if isinstance(value, list) else [value])]
    kind = next((one for one in get_args(wanted) if one is not type(None)), wanted)
    if kind is bool:
        return _like(True, key, value)
    if kind is int:
        return _count(key, value)
    return kind(value) if issubclass(kind, (float, StrEnum, Path)) else str(value)


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
    """Folders and devices that the job of a work writes to; none of what a twin plays."""
    if job.get("twins") or job.get("twin"):
        return []
    tier = job.get("tier") or {}
    named = [
        *(job.get("target"), *job.get("stripes", ()), job.get("log_target")),
        *(job.get("tail_target"), tier.get("target")),
        *(member for seat in SEATS for member in job.get(seat, {}).get("members", ())),
    ]
    return list(dict.fromkeys(str(one) for one in named if one))


def window_s(job: Mapping[str, Any]) -> float:
    """Seconds of warm-up and window; a window that ends by operations counts as a second."""
    window = job.get("window", {}).get("seconds", 1.0)
    return float(job["warmup_s"]) + float(job.get("duration_s", window))
