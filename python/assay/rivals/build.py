"""Builds the program that holds the rivals, from a checkout, with what the system has of their libraries."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from assay import home
from assay.error import BAD_JOB, FAILED, NOT_POSSIBLE, AssayError, did_you_mean
from assay.rivals import published, wiredtiger
from assay.rivals.program import NAMES, PUBLISHED, listed

# What `apt-get install` must have brought; LMDB and redb come as crates, WiredTiger as source.
PACKAGES = {"rocksdb": "librocksdb-dev"}
_HEADERS = (Path("/usr/include"), Path("/usr/local/include"))


def build(
    names: Sequence[str], listen: Callable[[str], None] = lambda _: None, sources: Sequence[str] = ()
) -> list[str]:
    """Builds these rivals beside those that are there already; all their names.

    `sources` are folders with the source of a published program, where there is no network.

    Raises:
        AssayError: where one is none, a library is missing (says what to install), or the build fails.
    """
    for name in names:
        if name not in (*NAMES, *PUBLISHED):
            hint = did_you_mean(name, (*NAMES, *PUBLISHED))
            raise AssayError(f"there is no rival `{name}`", hint=hint, code=BAD_JOB)
    apart = [name for name in names if name in PUBLISHED]
    if sources and (len(apart) != 1 or len(names) != 1):
        hint = "build one published program at a time: `assay rivals build dash --source DIR`"
        raise AssayError("sources were named for more than one rival, or for none", hint=hint, code=BAD_JOB)
    for name in apart:
        published.make(name, sources, listen)
    linked = [name for name in names if name in NAMES]
    return [*(_linked(linked, listen) if linked else []), *apart]


def _linked(names: Sequence[str], listen: Callable[[str], None]) -> list[str]:
    """Those that are linked into one program; all that it has then."""
    root = home.checkout()
    if root is None:
        hint = "clone the repository, and build there; the variable ASSAY_RIVALS then names the program anywhere"
        raise AssayError("rivals are built from a checkout, and this is none", hint=hint, code=NOT_POSSIBLE)
    wanted = [name for name in NAMES if name in {*names, *(str(one["name"]) for one in _built())}]
    _cargo(root, wanted, environment(wanted, listen), listen)
    return wanted


def _built() -> list[dict[str, object]]:
    """A program of another version, or whose library is gone, tells nothing: it is built anew."""
    try:
        return listed()
    except AssayError:
        return []


def environment(names: Sequence[str], listen: Callable[[str], None]) -> dict[str, str]:
    """What the build must know of libraries; those that can be built here are built first.

    Raises:
        AssayError: where one is missing.
    """
    for tool, package in (("cargo", "rustup, https://rustup.rs"), ("cc", "gcc")):
        if shutil.which(tool) is None:
            raise AssayError(f"{tool} is not installed", hint=f"install {package}", code=NOT_POSSIBLE)
    found: dict[str, str] = {}
    if "rocksdb" in names:
        found |= rocksdb(os.environ)
    if "wiredtiger" in names:
        found["WIREDTIGER_DIR"] = str(wiredtiger.install(listen).path.parent)
    return found


def rocksdb(variables: Mapping[str, str], folders: Sequence[Path] = _HEADERS) -> dict[str, str]:
    """Where RocksDB's library and header are: the system's, or those that ROCKSDB_LIB_DIR names.

    Raises:
        AssayError: where there is none.
    """
    named = variables.get("ROCKSDB_INCLUDE_DIR")
    lib = variables.get("ROCKSDB_LIB_DIR")
    beside = [Path(lib).parent / "include"] if lib else []
    for folder in [Path(named)] if named else [*beside, *folders]:
        if (folder / "rocksdb" / "c.h").is_file():
            return {"ROCKSDB_INCLUDE_DIR": str(folder)}
    hint = (
        f"install it: `apt-get install {PACKAGES['rocksdb']}`, or name one by ROCKSDB_LIB_DIR and ROCKSDB_INCLUDE_DIR"
    )
    raise AssayError("RocksDB's library is not installed", hint=hint, code=NOT_POSSIBLE)


def _cargo(root: Path, names: Sequence[str], more: Mapping[str, str], listen: Callable[[str], None]) -> None:
    listen(f"building {', '.join(names)}; this takes some minutes the first time")
    command = ["cargo", "build", "--release", "--locked", "--manifest-path", str(root / "crates/rivals/Cargo.toml")]
    command += ["--target-dir", str(root / "target"), "--features", ",".join(names)]
    done = subprocess.run(command, env={**os.environ, **more}, check=False, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise AssayError("the build failed; the compiler's words stand above", hint=_help(names), code=FAILED)


def _help(names: Sequence[str]) -> str:
    packages = [PACKAGES[name] for name in names if name in PACKAGES]
    return f"see that these are whole: {', '.join(packages)}" if packages else "read them, and mend what they name"
