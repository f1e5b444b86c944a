"""QEMU out of packages, for those who may not install it. A package made here plays QEMU's."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest
from assay_lab import apt, emulator
from assay_lab.cache import Cache
from assay_lab.error import LabError

PROGRAM = """#!/bin/sh
echo "QEMU emulator version 9 with $LD_LIBRARY_PATH"
"""
CONTROL = """Package: qemu-system-x86
Version: 9
Architecture: all
Maintainer: nobody <nobody@example.org>
Description: plays QEMU
"""
APT = """#!/bin/sh
case "$*" in
*-s*install*) echo 'Inst qemu-system-x86 (9 somewhere)' ;;
*print-uris*) echo "'http://x/{name}' {name} {bytes} SHA256:{digest}" ;;
*download*) cp '{file}' . ;;
esac
"""


def package(folder: Path, program: str = PROGRAM) -> Path:
    tree = folder / "tree"
    (tree / "DEBIAN").mkdir(parents=True)
    (tree / "DEBIAN" / "control").write_text(CONTROL)
    (tree / "usr" / "bin").mkdir(parents=True)
    (tree / "usr" / "lib" / "x").mkdir(parents=True)
    (tree / "usr" / "lib" / "x" / "libplayed.so.1").write_bytes(b"")
    qemu = tree / "usr" / "bin" / emulator.QEMU
    qemu.write_text(program)
    qemu.chmod(0o755)
    file = folder / "qemu-system-x86_9_all.deb"
    subprocess.run(["dpkg-deb", "--build", "--root-owner-group", str(tree), str(file)], check=True, capture_output=True)
    return file


def offer(folder: Path, deb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The only programs are those of a small system, and an apt-get that has this package."""
    commands = folder / "bin"
    commands.mkdir()
    for name in ("sh", "cp", "dpkg-deb", "tar", "xz", "zstd", "gzip", "dirname", "readlink", "rm"):
        found = shutil.which(name)
        if found is not None:
            (commands / name).symlink_to(found)
    digest = hashlib.sha256(deb.read_bytes()).hexdigest()
    script = APT.format(name=deb.name, bytes=deb.stat().st_size, digest=digest, file=deb)
    (commands / "apt-get").write_text(script)
    (commands / "apt-get").chmod(0o755)
    monkeypatch.setenv("PATH", str(commands))
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    # A path with a space and a quote: the starter's shell must not care.
    return Cache(tmp_path / "a cache's")


pytestmark = pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="there is no dpkg-deb to make a package with")


def test_it_is_unpacked_once_and_finds_its_libraries(
    tmp_path: Path, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(tmp_path, package(tmp_path), monkeypatch)
    assert emulator.pending(cache)
    assert "the first run unpacks it" in emulator.describe(cache)
    program = emulator.find(cache)
    assert Path(program).is_relative_to(cache.root)
    assert emulator.version(program).endswith("/usr/lib/x")
    assert not emulator.pending(cache)
    assert "not installed" in emulator.describe(cache)
    assert emulator.find(cache) == program


def test_one_that_does_not_start_leaves_no_entry(tmp_path: Path, cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    offer(tmp_path, package(tmp_path, "#!/bin/sh\necho 'a library is missing' >&2\nexit 1\n"), monkeypatch)
    with pytest.raises(LabError, match="a library is missing"):
        emulator.find(cache)
    assert cache.newest("qemu") is None


def test_without_apt_get_the_one_in_the_cache_serves(
    tmp_path: Path, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(tmp_path, package(tmp_path), monkeypatch)
    program = emulator.find(cache)
    (tmp_path / "bin" / "apt-get").unlink()
    assert emulator.find(cache) == program


def test_the_starter_keeps_the_process(tmp_path: Path, cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is killed by its number must be QEMU itself, not a shell around it."""
    offer(tmp_path, package(tmp_path, "#!/bin/sh\necho QEMU $$\n"), monkeypatch)
    process = subprocess.Popen([emulator.find(cache)], stdout=subprocess.PIPE, text=True)
    out, _ = process.communicate(timeout=20)
    assert out.split() == ["QEMU", str(process.pid)]


def test_what_is_installed_beside_it_is_unpacked_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # With its common files installed and QEMU itself not, the unpacked program found no accelerator.
    offer(tmp_path, package(tmp_path), monkeypatch)
    query = tmp_path / "bin" / "dpkg-query"
    query.write_text("#!/bin/sh\necho 'qemu-system-common ii '\necho 'seabios un '\n")
    query.chmod(0o755)
    asked: list[list[str]] = []

    def describe(names: list[str]) -> list[apt.Deb]:
        asked.append(names)
        return []

    monkeypatch.setattr(apt, "describe", describe)
    emulator._packages()
    assert asked == [["qemu-system-common", "qemu-system-x86"]]
