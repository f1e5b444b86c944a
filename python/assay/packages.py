"""Packages that not every command needs: which part brings each, and how a part comes in when it is first imported.

A checkout installs a part then (setup/packages.sh), with progress on standard error; of an installed wheel a sentence
says what to install. pyproject.toml has the parts as extras.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import sys
from collections.abc import Sequence

from assay.error import NOT_POSSIBLE, AssayError

PARTS = {
    "altair": "report",
    "jinja2": "report",
    "vl_convert": "report",
    "duckdb": "query",
    "pandas": "query",
    "pyarrow": "query",
    "psycopg": "dbms",
    "pytds": "dbms",
    "cryptography": "passport",
    "dask": "fleet",
    "distributed": "fleet",
    "yaml": "fleet",
}
"""The name that is imported, and the part that brings it."""


class PackagesError(AssayError):
    """A package that a command needs is not installed, and could not be."""


class OnDemand:
    """Python asks this finder last, for what no other one has found."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Brings what a module of Assay imports; what a library merely tries to import is not Assay's affair."""
        del target
        part = PARTS.get(name)
        if part is None or path is not None or not _asked_by_assay():
            return None
        bring(part)
        importlib.invalidate_caches()
        return importlib.machinery.PathFinder.find_spec(name)


def watch() -> None:
    """From now on, missing packages are brought."""
    if OnDemand not in sys.meta_path:
        sys.meta_path.append(OnDemand)


def there(name: str) -> bool:
    """Whether a package is installed; nothing is brought for the question."""
    return name in sys.modules or importlib.machinery.PathFinder.find_spec(name) is not None


def bring(part: str) -> None:
    """Installs a part into the environment of this checkout.

    Raises:
        PackagesError: in an installed wheel, or where the installation failed.
    """
    import subprocess

    from assay import home

    root = home.checkout()
    if root is None:
        raise PackagesError(
            f"this needs packages that are not installed: the part `{part}` of Assay",
            hint=f"pip install 'assay[{part}]', or 'assay[all]' for every part",
            code=NOT_POSSIBLE,
        )
    script = root / "setup" / "packages.sh"
    done = subprocess.run([str(script), part], stdout=home.STDERR, stdin=subprocess.DEVNULL, check=False)
    if done.returncode:
        raise PackagesError(
            f"the packages of the part `{part}` could not be installed; the lines above say why",
            hint="with a package registry at hand, call the command again; what was measured is kept",
            code=done.returncode,
        )


def _asked_by_assay() -> bool:
    """Whether the import stands in a module of Assay: the first caller that is not Python's own machinery."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("importlib"):
        frame = frame.f_back
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] in ("assay", "assay_lab")
