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


def test_a_static_program_runs_where_there_is_nothing(root: Path, tmp_path: Path) -> None:
    program = root / "target" / f"{platform.machine()}-unknown-linux-gnu" / "release" / "assayer"
    if not program.is_file():
        pytest.skip("no static program was built: setup/release makes one")
    if os.geteuid() != 0:
        pytest.skip("changing the root of the file system is for root")
    shutil.copy(program, tmp_path / "assayer")
    assert call("chroot", str(tmp_path), "/assayer", "--version").startswith("assayer ")
    assert '"title"' in call("chroot", str(tmp_path), "/assayer", "schema", "job")
