"""The library that draws, as one script. Bundling takes seconds of CPU time, and the same comes of it each time."""

from __future__ import annotations

import hashlib
import os
import stat
from contextlib import suppress
from importlib import metadata
from pathlib import Path

import vl_convert

_EXPORTS = "window.vegaEmbed = vegaEmbed;"


def drawing() -> str:
    """The script: the kept one where it is whole, else made anew, and kept where there is a place for it."""
    path = _path()
    kept = _kept(path) if path else None
    if kept is not None:
        return kept
    made: str = vl_convert.javascript_bundle(_EXPORTS)
    if path:
        _keep(path, made.encode())
    return made


def _path() -> Path | None:
    """By the version that bundles, and by what is bundled. None without a home, or where others could fill it."""
    base = os.environ.get("XDG_CACHE_HOME") or ""
    try:
        cache = Path(base) if base.startswith("/") else Path.home() / ".cache"
    except RuntimeError:
        return None
    folder = cache / "assay" / "charts"
    if not all(_ours(one) for one in (cache.parent, cache, folder.parent, folder)):
        return None
    what = hashlib.sha256(_EXPORTS.encode()).hexdigest()[:8]
    return folder / f"vega-{metadata.version('vl-convert-python')}-{what}.js"


def _ours(folder: Path) -> bool:
    """Nobody else can lay a script there, or lead a write elsewhere; what is not there yet will be ours."""
    try:
        found = folder.lstat()
    except OSError:
        return True
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o022


def _kept(path: Path) -> str | None:
    """Its first line is the digest of the rest, so that a file that was cut short is not taken for the script."""
    try:
        digest, _, script = path.read_bytes().partition(b"\n")
    except OSError:
        return None
    return script.decode() if digest == _digest(script) else None


def _keep(path: Path, script: bytes) -> None:
    """Writes beside and renames. Where it cannot be kept, the next page takes as long as this one."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_bytes(_digest(script) + b"\n" + script)
        beside.replace(path)
    with suppress(OSError):
        beside.unlink(missing_ok=True)


def _digest(script: bytes) -> bytes:
    return hashlib.sha256(script).hexdigest().encode()
