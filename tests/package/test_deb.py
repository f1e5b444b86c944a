"""The Debian package holds a program that runs, its manual and its completion; a static one needs nothing else."""

from __future__ import annotations

import gzip
import os
import platform
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest


def call(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def unpacked(root: Path, assayer: Path, need: Callable[[str], str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package of the program that is built already, unpacked as a root of its own."""
    need("dpkg-deb")
    folder = tmp_path_factory.mktemp("deb")
    package = Path(call(str(root / "setup" / "deb"), str(assayer), str(folder)).strip())
    assert package.name.startswith("assayer_0.")
    for field in ("Package: assayer", "Version: 0.", "Description: measures storage"):
        assert field in call("dpkg-deb", "--info", str(package))
    owners = {line.split()[1] for line in call("dpkg-deb", "--contents", str(package)).splitlines()}
    assert owners == {"root/root"}
    call("dpkg-deb", "--extract", str(package), str(folder / "root"))
    return folder / "root"


def test_its_program_runs(unpacked: Path, assayer: Path) -> None:
    assert call(str(unpacked / "usr/bin/assayer"), "--version") == call(str(assayer), "--version")


def test_its_manual_names_every_command_and_every_line_is_text(unpacked: Path, tmp_path: Path) -> None:
    page = gzip.decompress((unpacked / "usr/share/man/man1/assayer.1.gz").read_bytes()).decode()
    for title in ("NAME", "SYNOPSIS", "RUN", "PREDICT", "EXIT STATUS"):
        assert f".SH {title}\n" in page
    if shutil.which("man") is None:
        pytest.skip("man is not installed: apt install man-db")
    (tmp_path / "assayer.1").write_text(page)
    complaints = subprocess.run(
        ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", str(tmp_path / "assayer.1")],
        env=os.environ | {"MANROFFSEQ": "", "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        check=False,
    ).stderr
    assert complaints == ""


def test_its_completion_is_for_bash(unpacked: Path, need: Callable[[str], str]) -> None:
    call(need("bash"), "-n", str(unpacked / "usr/share/bash-completion/completions/assayer"))


@pytest.fixture(scope="module")
def bare(root: Path, assayer: Path, need: Callable[[str], str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root with nothing in it, where the package was installed by dpkg; of a static program where there is one."""
    if os.geteuid() != 0:
        pytest.skip("changing the root of the file system is for root")
    need("dpkg")
    static = root / "target" / f"{platform.machine()}-unknown-linux-gnu" / "release" / "assayer"
    program = static if static.is_file() else assayer
    folder = tmp_path_factory.mktemp("bare")
    package = call(str(root / "setup" / "deb"), str(program), str(folder)).strip()
    made = folder / "root"
    for part in ("info", "updates"):
        (made / "var/lib/dpkg" / part).mkdir(parents=True)
    for name in ("status", "available"):
        (made / "var/lib/dpkg" / name).touch()
    call("dpkg", f"--root={made}", "--log=/dev/null", "--install", package)
    for library in () if static.is_file() else loaded(program):
        place = made / library.relative_to("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, place)
    return made


def loaded(program: Path) -> list[Path]:
    """What a program that is not static loads."""
    return [Path(word) for line in call("ldd", str(program)).splitlines() for word in line.split() if word[0] == "/"]


def test_it_installs_and_runs_where_there_is_nothing_else(bare: Path) -> None:
    assert call("chroot", str(bare), "/usr/bin/assayer", "--version").startswith("assayer ")
    assert '"title"' in call("chroot", str(bare), "/usr/bin/assayer", "schema", "job")
    assert "install ok installed" in (bare / "var/lib/dpkg/status").read_text()


def test_it_goes_without_a_trace(bare: Path) -> None:
    call("dpkg", f"--root={bare}", "--log=/dev/null", "--purge", "assayer")
    left = [path for path in bare.rglob("*") if "assayer" in path.name]
    assert left == []
