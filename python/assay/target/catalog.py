"""The catalog: devices and hosts with a source and a date behind every parameter."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from assay import home
from assay.document import limits
from assay.error import BAD_JOB, AssayError, did_you_mean
from assay.untyped import Json

VERSION = 1
# A document takes over what it does not state from the one that it names here; that one may do so itself, so often.
_LIKE = "like"
_DEPTH = 8
MEMORY_FAMILIES = ("pmem", "dram", "nvdimm", "cxl")


class CatalogError(AssayError):
    """A name that the catalog lacks, or a file of it that cannot be read."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message, hint=hint, code=BAD_JOB)


def twins() -> list[str]:
    """Names of the devices."""
    return _names("twins")


def hosts() -> list[str]:
    """Names of the hosts."""
    return _names("hosts")


def twin(name: str) -> Json:
    """The document of a device: by its name in the catalog, or from a file of the user's own (`./mine.toml`).

    Raises:
        CatalogError: where there is none, or the file is no TOML.
    """
    return _document("twins", name, "`assay list twins` shows them all")


def host(name: str) -> Json:
    """The document of a host, likewise."""
    return _document("hosts", name, "`assay list hosts` shows them all")


def bands() -> Json:
    """Least bands by kind of question (`python -m assay.claim.coverage` makes them); nothing where there is no file."""
    path = home.catalog() / "bands.toml"
    return _read(path) if path.is_file() else {}


def everything() -> Iterator[Json]:
    """Every device of the catalog, by name."""
    for name in twins():
        yield twin(name)


def parameters(document: Any, where: str = "") -> Iterator[tuple[str, Json]]:
    """Every parameter in a document, with its place in it (`device.read.units`)."""
    if isinstance(document, dict):
        if {"value", "kind", "source", "date"} <= document.keys():
            yield where, document
            return
        for key, inner in document.items():
            yield from parameters(inner, f"{where}.{key}" if where else key)
    elif isinstance(document, list):
        for index, inner in enumerate(document):
            yield from parameters(inner, f"{where}[{index}]")


def _names(kind: str) -> list[str]:
    return sorted(path.stem for path in (home.catalog() / kind).glob("*.toml"))


def is_file(name: str) -> bool:
    """A document is named by a file of the user's own."""
    return "/" in name or name.endswith(".toml")


def _document(kind: str, name: str, where: str) -> Json:
    path = Path(name) if is_file(name) else home.catalog() / kind / f"{name}.toml"
    if not path.is_file():
        known = _names(kind)
        noun = kind.removesuffix("s")
        close = did_you_mean(name, known) if len(known) < 6 else _close(name, known)
        raise CatalogError(f"there is no {noun} `{name}`", f"{close} {where}".strip())
    return _completed(
        _read(path), lambda other: home.catalog() / ("classes" if kind == "twins" else kind) / f"{other}.toml"
    )


def _completed(document: Json, path_of: Callable[[str], Path]) -> Json:
    """A document with what it takes over from a class of devices or from another host (`like`), as
    `crates/libtwin/src/document/like.rs` does it."""
    own = dict(document)
    for _ in range(_DEPTH):
        name = own.pop(_LIKE, None)
        if name is None:
            break
        path = path_of(name)
        if not path.is_file():
            raise CatalogError(f"there is no `{name}` to take over from", f"{path.parent} holds what there is")
        # What a device is called, and the numbers that stand above all tables, are its own.
        other = {key: value for key, value in _read(path).items() if key == _LIKE or _is_table(value)}
        own = _taken_over(own, {key: _assumed(value, name) for key, value in other.items()})
    return own


def _is_table(value: Any) -> bool:
    return isinstance(value, dict) and "source" not in value


def _assumed(value: Any, name: str) -> Any:
    """What was found for one device is an assumption about another."""
    if not isinstance(value, dict):
        return value
    if _is_table(value):
        return {key: _assumed(inner, name) for key, inner in value.items()}
    if value["kind"] == "assumed":
        return value
    return value | {"kind": "assumed", "source": f"As of {name}: {value['source']}"}


def _taken_over(own: Json, other: Json) -> Json:
    """What is not there is added. A number with its origin is one thing."""
    both = {
        key: _taken_over(own[key], value)
        for key, value in other.items()
        if _is_table(value) and _is_table(own.get(key))
    }
    return other | own | both


def _close(name: str, known: list[str]) -> str:
    hint = did_you_mean(name, known)
    return hint if hint.startswith("did you mean") else ""


@cache
def _read(path: Path) -> Json:
    try:
        return limits.toml(path.read_text(encoding="utf-8"), str(path))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CatalogError(f"{path} is no TOML: {error}", "correct that line") from error
