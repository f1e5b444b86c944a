"""The repository's own files."""

import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
_NOT_OURS = {"target", ".venv", ".git", ".assay", "__pycache__", "node_modules"}


@cache
def ours() -> tuple[Path, ...]:
    """Files that are tracked, or would be; every file where there is no git."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return tuple(path for path in ROOT.rglob("*") if path.is_file() and not _NOT_OURS & set(path.parts))
    return tuple(path for name in listed.split("\0") if name and (path := ROOT / name).is_file())


def matching(*patterns: str) -> list[Path]:
    """Our files whose path from the root matches one of the patterns (`*` stays inside a folder, `**` does not)."""
    found = [path for path in ours() if any(_matches(path, pattern) for pattern in patterns)]
    return sorted(found)


def _matches(path: Path, pattern: str) -> bool:
    parts = path.relative_to(ROOT).parts
    return _parts_match(parts, tuple(pattern.split("/")))


def _parts_match(parts: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return any(_parts_match(parts[skip:], pattern[1:]) for skip in range(len(parts)))
    return bool(parts) and Path(parts[0]).match(pattern[0]) and _parts_match(parts[1:], pattern[1:])


def place(path: Path) -> str:
    """The path as complaints name it."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def text(path: Path) -> str:
    """Its text; empty for a binary file."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""
