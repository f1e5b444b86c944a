"""The program that holds the rivals: apart from the measuring program, and built only when it is asked for."""

from __future__ import annotations

import os
from pathlib import Path

from assay import home
from assay.binary import Binary
from assay.error import NOT_POSSIBLE, AssayError
from assay.rivals import published
from assay.untyped import Json

NAMES = ("lmdb", "rocksdb", "wiredtiger", "redb")
# Programs of their own, each behind a driver.
PUBLISHED = published.names()


def path() -> Path | None:
    """Where it is once it was built; none outside of a checkout. The variable ASSAY_RIVALS names another one."""
    named = os.environ.get("ASSAY_RIVALS")
    if named:
        return Path(named)
    root = home.checkout()
    return root / "target" / "release" / "assay-rivals" if root is not None else None


def listed() -> list[Json]:
    """The rivals that were built: name, version, durabilities. Empty where there is no program."""
    found = path()
    if found is None or not found.is_file():
        return []
    rivals: list[Json] = Binary(found).document("list")
    return rivals


def built() -> list[str]:
    """Names of all that were built, published programs among them."""
    return [*(str(one["name"]) for one in listed()), *(name for name in PUBLISHED if published.built(name))]


def program(name: str) -> Binary:
    """The program that has this rival.

    Raises:
        AssayError: where it was not built; says how to build it.
    """
    found = path()
    if found is None or name not in {one["name"] for one in listed()}:
        raise AssayError(f"{name} was not built", hint=f"build it: `assay rivals build {name}`", code=NOT_POSSIBLE)
    return Binary(found)
