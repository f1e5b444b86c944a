"""The catalog: devices and hosts with a source and a date behind every parameter."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from assay import home
from assay.document import limits
from assay.error import BAD_JOB, AssayError, did_you_mean

Json = dict[str, Any]

VERSION = 1
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


def _document(kind: str, name: str, where: str) -> Json:
    path = Path(name) if "/" in name or name.endswith(".toml") else home.catalog() / kind / f"{name}.toml"
    if not path.is_file():
        known = _names(kind)
        noun = kind.removesuffix("s")
        close = did_you_mean(name, known) if len(known) < 6 else _close(name, known)
        raise CatalogError(f"there is no {noun} `{name}`", f"{close} {where}".strip())
    return dict(_read(path))


def _close(name: str, known: list[str]) -> str:
    hint = did_you_mean(name, known)
    return hint if hint.startswith("did you mean") else ""


@cache
def _read(path: Path) -> Json:
    try:
        return limits.toml(path.read_text(encoding="utf-8"), str(path))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CatalogError(f"{path} is no TOML: {error}", "correct that line") from error
