"""The engine with which fio plays twins: built on this machine, against the headers of the fio that is installed.

fio's headers come out of its source package, unpacked in a folder of this run alone. Nothing of fio is kept or shipped.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay import home
from assay.error import FAILED, NOT_POSSIBLE, AssayError

_SOURCE = Path("crates/libtwin-c/fio/engine.c")
_LISTS = (Path("/etc/apt/sources.list"), Path("/etc/apt/sources.list.d"))
#: The variable by which the engine is told what a host adds to each request.
HOST_NS = "ASSAY_HOST_NS"
# fio asks for the next request a little after it is answered; below this that is more than a few percent.
LEAST_US = 50
_TIMEOUT_S = 600


class EngineError(AssayError):
    """The engine cannot be built on this machine."""


@dataclass(frozen=True)
class FioEngine:
    """The shared object, and the fio that it is for."""

    path: Path
    version: str

    def line(self, twin: str, host_ns: int) -> str:
        """A line to try it with, where the way through the host takes each request so many ns."""
        return (
            f"{HOST_NS}={host_ns} fio --name=try --ioengine=external:{self.path} --filename=twin:{twin} "
            "--rw=randread --bs=4k --iodepth=8 --norandommap --time_based --runtime=10"
        )


def cache() -> Path:
    """Where built ones are kept, by version of fio."""
    base = os.environ.get("XDG_CACHE_HOME") or ""
    return (Path(base) if base.startswith("/") else Path.home() / ".cache") / "assay" / "fio"


def build(listen: Callable[[str], None] = lambda _: None) -> FioEngine:
    """The engine for the fio that is installed: the kept one where nothing changed since, else a new one.

    Raises:
        EngineError: where fio, a compiler, a checkout or fio's sources are missing; says what to do.
    """
    root = home.checkout()
    if root is None:
        hint = "clone the repository, and call ./assay there; the engine that it builds works anywhere on this machine"
        raise EngineError("the engine is built from a checkout, and this is none", hint=hint, code=NOT_POSSIBLE)
    for tool, package in (("fio", "fio"), ("cc", "gcc"), ("make", "make"), ("apt-get", "a Debian"), ("cargo", "rust")):
        if shutil.which(tool) is None:
            raise EngineError(f"{tool} is not installed", hint=f"install {package}", code=NOT_POSSIBLE)
    version = _version()
    engine = FioEngine(cache() / version / "libassay_fio.so", version)
    _library(root, listen)
    if not _is_fresh(engine.path, root):
        listen(f"building the engine for fio {version}")
        _build(root, engine)
    return engine


def _version() -> str:
    """Of the package whose program is on PATH: its headers are those of that release."""
    asked = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", "fio"], capture_output=True, text=True, check=False)
    said = subprocess.run(["fio", "--version"], capture_output=True, text=True, check=False).stdout.strip()
    if asked.returncode or not asked.stdout.startswith(said.removeprefix("fio-") or "?"):
        hint = "install the distribution's: apt-get install fio"
        raise EngineError(
            f"{said or 'fio'} is not of a package, so its headers are unknown", hint=hint, code=NOT_POSSIBLE
        )
    return asked.stdout.strip()


def _library(root: Path, listen: Callable[[str], None]) -> None:
    listen("building libtwin, which takes a minute the first time")
    command = ["cargo", "build", "--release", "--locked", "--quiet", "-p", "assay-libtwin-c"]
    environment = {**os.environ, "CARGO_TARGET_DIR": str(root / "target")}
    done = subprocess.run(command, cwd=root, env=environment, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise EngineError("libtwin could not be built; the compiler's words stand above", code=FAILED)


def _is_fresh(path: Path, root: Path) -> bool:
    sources = (root / _SOURCE, root / "target" / "release" / "libtwin.a")
    return path.is_file() and all(path.stat().st_mtime > source.stat().st_mtime for source in sources)


def _build(root: Path, engine: FioEngine) -> None:
    with tempfile.TemporaryDirectory(prefix="assay-fio-") as name:
        headers = _headers(Path(name), engine.version)
        made = Path(name) / engine.path.name
        _run(_compiler(root, headers, made), Path(name), "the engine could not be compiled")
        engine.path.parent.mkdir(parents=True, exist_ok=True)
        kept = engine.path.with_suffix(f".{os.getpid()}")
        shutil.copyfile(made, kept)
        # A fio that has the old one open goes on with it.
        kept.replace(engine.path)


def _compiler(root: Path, headers: Path, made: Path) -> list[str]:
    catalog = home.catalog() / "twins"
    words = ["cc", "-std=gnu11", "-O2", "-fPIC", "-shared", "-D_GNU_SOURCE", f'-DASSAY_TWINS="{catalog}"']
    words += ["-include", str(headers / "config-host.h"), "-isystem", str(headers)]
    words += [f"-I{root / 'crates/libtwin-c/include'}", "-o", str(made), str(root / _SOURCE)]
    return [*words, str(root / "target/release/libtwin.a"), "-lpthread", "-ldl", "-lm"]


def _headers(folder: Path, version: str) -> Path:
    """fio's sources, configured, so that what its headers leave open is settled as in the package."""
    _fetch(folder, version)
    archives = sorted(folder.glob("fio_*.orig.tar.*[!c]"))
    if not archives:
        raise _no_sources(version, "the package has no original archive")
    with tarfile.open(archives[0]) as archive:
        archive.extractall(folder, filter="data")
    source = next(path.parent for path in folder.glob("*/ioengines.h"))
    _run(["./configure"], source, "fio's sources could not be configured")
    return source


def _fetch(folder: Path, version: str) -> None:
    """The source package by apt-get, with lists of its own: this system's need not name sources."""
    parts, lists = folder / "parts", folder / "lists"
    parts.mkdir()
    (lists / "partial").mkdir(parents=True)
    for path in [_LISTS[0], *sorted(_LISTS[1].glob("*"))]:
        if path.is_file() and (text := sources_of(path.read_text(encoding="utf-8", errors="replace"))):
            (parts / path.with_suffix(path.suffix or ".list").name).write_text(text, encoding="utf-8")
    words = ["apt-get", "-q", "-o", "APT::Sandbox::User=root", "-o", "Dir::Etc::sourcelist=/dev/null"]
    words += ["-o", f"Dir::Etc::sourceparts={parts}", "-o", f"Dir::State::lists={lists}"]
    for more in (["update"], ["source", "--download-only", f"fio={version}"]):
        done = subprocess.run(
            [*words, *more], cwd=folder, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S
        )
        if done.returncode:
            raise _no_sources(version, (done.stderr.strip().splitlines() or ["apt-get failed"])[-1])


def sources_of(text: str) -> str:
    """A list of packages as one of sources, in either of apt's two forms."""
    if re.search(r"^Types:", text, re.MULTILINE):
        return re.sub(r"^Types:.*$", "Types: deb-src", text, flags=re.MULTILINE)
    lines = [line for line in text.splitlines() if re.match(r"deb\s", line)]
    return "".join(re.sub(r"^deb\s", "deb-src ", line) + "\n" for line in lines)


def _no_sources(version: str, why: str) -> EngineError:
    hint = "fio's headers come from its source package, which this machine's archive must offer"
    return EngineError(f"the sources of fio {version} cannot be had: {why}", hint=hint, code=NOT_POSSIBLE)


def _run(command: Sequence[str], folder: Path, failed: str) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines() or ["it said nothing"]
        raise EngineError(f"{failed}: {said[-1]}", code=FAILED)
