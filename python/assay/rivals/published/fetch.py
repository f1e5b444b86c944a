"""Sources of published programs: fetched by the user's git at one commit, and kept in this user's cache."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from assay.error import BAD_JOB, FAILED, NOT_POSSIBLE, AssayError, did_you_mean
from assay.rivals.published.recipe import PublishedSource, Recipe

_SECONDS_AT_MOST = 900


def cache() -> Path:
    """Where sources and programs are kept."""
    base = os.environ.get("XDG_CACHE_HOME") or ""
    root = Path(base) if base.startswith("/") else Path.home() / ".cache"
    return root / "assay" / "rivals"


def named(recipe: Recipe, words: Sequence[str]) -> dict[str, Path]:
    """Repositories that the user names: `DIR` for the program's own, `NAME=DIR` for another that it needs.

    Raises:
        AssayError: where the program has no source of that name, or the folder is none.
    """
    found: dict[str, Path] = {}
    known = [one.name for one in recipe.source]
    for word in words:
        name, equals, path = word.partition("=")
        name, path = (name, path) if equals else (known[0], word)
        if name not in known:
            hint = did_you_mean(name, known) or f"its sources are {', '.join(known)}"
            raise AssayError(f"{recipe.name} has no source `{name}`", hint=hint, code=BAD_JOB)
        if not Path(path).is_dir():
            raise AssayError(f"{path} is no folder", hint="name a clone of the repository", code=BAD_JOB)
        found[name] = Path(path).resolve()
    return found


def fetch(recipe: Recipe, given: Mapping[str, Path], listen: Callable[[str], None]) -> dict[str, Path]:
    """Every source of a program as its authors published it, by name.

    Raises:
        AssayError: where one cannot be had; says how it can be named.
    """
    if shutil.which("git") is None:
        raise AssayError("git is not installed", hint="install it: `apt-get install git`", code=NOT_POSSIBLE)
    return {one.name: _tree(one, given.get(one.name), listen) for one in recipe.source}


def _tree(source: PublishedSource, given: Path | None, listen: Callable[[str], None]) -> Path:
    goal = cache() / "sources" / source.name / source.commit
    if given is not None:
        _has(given, source)
    if goal.is_dir():
        return goal
    goal.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".half-", dir=goal.parent) as half:
        repository = given
        if repository is None:
            repository = Path(half) / "repository"
            listen(f"fetching {source.url} at {source.commit[:12]}")
            _clone(repository, source)
        _unpack(repository, source.commit, Path(half))
        (Path(half) / "tree").rename(goal)
    return goal


def _has(folder: Path, source: PublishedSource) -> None:
    """Refuses a folder that does not have the commit."""
    done = _git(folder, "rev-parse", "--git-dir")
    if "dubious ownership" in done.stderr:
        hint = "clone it as yourself: git runs what the settings of a clone say, and these are another user's"
        raise AssayError(f"{folder} belongs to another user", hint=hint, code=BAD_JOB)
    if done.returncode != 0:
        hint = f"name a clone of {source.url}: its commit is what is known to build"
        raise AssayError(f"{folder} is no git repository", hint=hint, code=BAD_JOB)
    if _git(folder, "cat-file", "-e", f"{source.commit}^{{commit}}").returncode != 0:
        head = _git(folder, "rev-parse", "--short=12", "HEAD").stdout.strip() or "nothing"
        hint = f"fetch it there: `git -C {folder} fetch {source.url} {source.commit}`"
        raise AssayError(f"{folder} is at {head} and has no commit {source.commit[:12]}", hint=hint, code=BAD_JOB)


def _clone(goal: Path, source: PublishedSource) -> None:
    """One commit, without its history."""
    goal.mkdir()
    for words in (("init", "-q"), ("fetch", "-q", "--depth", "1", source.url, source.commit)):
        done = _git(goal, *words)
        if done.returncode != 0:
            said = (done.stderr.strip().splitlines() or ["git said nothing"])[-1]
            hint = f"where there is no network, name a clone of it: --source {source.name}=DIR"
            raise AssayError(f"{source.url} cannot be fetched: {said}", hint=hint, code=NOT_POSSIBLE)


def _unpack(repository: Path, commit: str, half: Path) -> None:
    archive = half / "source.tar"
    done = _git(repository, "archive", "--format=tar", "-o", str(archive), commit)
    if done.returncode != 0:
        said = done.stderr.strip() or "git said nothing"
        hint = "look whether the clone is whole: `git fsck`"
        raise AssayError(f"commit {commit[:12]} cannot be unpacked: {said}", hint=hint, code=FAILED)
    with tarfile.open(archive) as files:
        files.extractall(half / "tree", filter="data")


def _git(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    # Nobody is there to be asked. What another user owns is refused: its settings name programs to run (filters).
    command = ["git", "-C", str(folder), *words]
    variables = {**os.environ, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        timeout=_SECONDS_AT_MOST,
        env=variables,
    )
