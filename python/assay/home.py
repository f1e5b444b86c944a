"""Where Assay's own files lie: in a checkout, or inside an installed wheel."""

import os
import subprocess
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_DATA = _PACKAGE / "_data"
#: Standard error by its number: in a notebook, and under tests, `sys.stderr` is no file that a process could write to.
STDERR = 2


class HomeError(Exception):
    """A file of Assay's own is not where it belongs."""


def checkout() -> Path | None:
    """The root of the checkout that this package is imported from; None in an installed wheel."""
    root = _PACKAGE.parent.parent
    return root if (root / "Cargo.toml").is_file() and (root / "crates").is_dir() else None


def binary() -> Path:
    """The measuring program `assayer`. The variable ASSAYER, where set, names another one."""
    named = os.environ.get("ASSAYER")
    if named:
        return _existing(Path(named), "ASSAYER names it; correct or unset that variable")
    root = checkout()
    if root is None:
        return _existing(_DATA / "bin" / "assayer", "install the assay wheel for this machine's architecture again")
    return _existing(root / "target" / "release" / "assayer", "build it: cargo build --release -p assayer")


def second_program() -> Path:
    """`assayer-db` (indexes, engine, databases), which lies beside `assayer`; a checkout builds it when first asked."""
    return _beside("assayer-db")


def mount_program() -> Path:
    """`assayer-mount` (folders that answer as a drive), as the second program."""
    return _beside("assayer-mount")


def _beside(name: str) -> Path:
    root = checkout()
    if root is not None and not os.environ.get("ASSAYER"):
        _build(root, name)
    return _existing(binary().with_name(name), f"build it: cargo build --release -p {name}")


def _build(root: Path, name: str) -> None:
    """What it prints while it builds goes to standard error."""
    script = root / "setup" / "second.sh"
    done = subprocess.run([str(script), name], stdout=STDERR, stdin=subprocess.DEVNULL, check=False)
    if done.returncode:
        raise HomeError(f"the program {name} could not be built; the lines above say why")


def studies() -> Path:
    """The folder of the declared studies."""
    return _folder("studies")


def catalog() -> Path:
    """The folder of the catalog: data files with a source and a date on every figure."""
    return _folder("catalog")


def schema() -> Path:
    """The folder of the JSON Schemas."""
    return _folder("schema")


def state() -> Path | None:
    """The folder of this user in which Assay keeps what it has learnt of this machine; none where there is no home."""
    named = (os.environ.get(name, "") for name in ("XDG_STATE_HOME", "HOME"))
    state_home, own = (Path(text) if text.startswith("/") else None for text in named)
    found = state_home or (own / ".local" / "state" if own else None)
    return found / "assay" if found else None


def _folder(name: str) -> Path:
    root = checkout()
    return _existing((root or _DATA) / name, "the installation is incomplete; install assay again")


def _existing(path: Path, fix: str) -> Path:
    if not path.exists():
        raise HomeError(f"{path} is not there; {fix}")
    return path
