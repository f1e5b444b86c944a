"""The wheel is complete: its command finds the measuring program, the studies and the schemas inside itself."""

import json
import os
import struct
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest


def call(command: list[str], folder: Path, **environment: str) -> str:
    plain = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "ASSAYER"))}
    done = subprocess.run(command, cwd=folder, env=plain | environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(root: Path, assayer: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel of this checkout with the binary that is built already."""
    folder = tmp_path_factory.mktemp("wheel")
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", str(folder)]
    call([sys.executable, "-m", "pip", "wheel", *options, str(root)], folder, ASSAYER=str(assayer))
    (made,) = folder.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheel in it; what assay depends on is lent by this one."""
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    call(
        [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-deps", "--no-index", str(wheel)], folder
    )
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "lent.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return folder


def test_a_wheel_of_programs_that_are_not_static_is_for_this_machine_alone(wheel: Path) -> None:
    assert wheel.name.endswith(f"-py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "assay/_data/bin/assayer" in names
    assert not [name for name in names if "__pycache__" in name or name.endswith(".pyc")]
    licences = [name for name in names if "LICENSE" in name]
    assert len([name for name in licences if ".dist-info/" in name]) == 2
    assert "assay/_data/catalog/prices/instances.LICENSE" in licences


def elf(folder: Path, *kinds: int) -> Path:
    """A file that begins as a program of 64 bits with program headers of these kinds."""
    head = struct.pack("<4sBB10xHHIQQQIHHH6x", b"\x7fELF", 2, 1, 2, 62, 1, 0, 64, 0, 0, 64, 56, len(kinds))
    path = folder / f"program-{'-'.join(map(str, kinds))}"
    path.write_bytes(head + b"".join(struct.pack("<I52x", kind) for kind in kinds))
    return path


def test_a_wheel_of_static_programs_is_for_every_linux(tmp_path: Path) -> None:
    pytest.importorskip("hatchling")
    import wheel_hook

    static, dynamic = elf(tmp_path, 1, 2, 6), elf(tmp_path, 1, 3, 2)
    (tmp_path / "text").write_text("#!/bin/sh\n")
    assert wheel_hook.platform_tag([static, static]).startswith("manylinux_2_17_")
    assert wheel_hook.platform_tag([static, dynamic]).startswith("linux_")
    assert not wheel_hook.is_static(tmp_path / "text")
    assert not wheel_hook.is_static(Path(sys.executable).resolve())


def test_the_manual_page_is_installed(installed: Path) -> None:
    assert ".TH ASSAY 1" in (installed / "share" / "man" / "man1" / "assay.1").read_text()


def test_command_runs_from_anywhere(installed: Path, tmp_path: Path) -> None:
    assert call([str(installed / "bin" / "assay"), "--version"], tmp_path).startswith("assay ")


def test_everything_is_found_inside_the_wheel(installed: Path, root: Path, tmp_path: Path) -> None:
    folders = "home.binary(), home.studies(), home.schema(), home.catalog()"
    script = f"from assay import home; print(home.checkout(), {folders}, sep='\\n')"
    seen = call([str(installed / "bin" / "python"), "-c", script], tmp_path).splitlines()
    assert seen[0] == "None"
    assert all(Path(line).is_relative_to(installed) for line in seen[1:])
    assert (Path(seen[4]) / "prices" / "instances.csv").is_file()
    assert call([seen[1], "--version"], tmp_path).startswith("assayer ")
    assert {path.name for path in Path(seen[3]).iterdir()} == {path.name for path in (root / "schema").iterdir()}


def test_studies_of_the_wheel_are_those_of_the_checkout(installed: Path, root: Path, tmp_path: Path) -> None:
    listed = json.loads(call([str(installed / "bin" / "assay"), "list", "--json"], tmp_path))
    text = json.dumps(listed)
    missing = [path.stem for path in (root / "studies").glob("*.toml") if f'"{path.stem}"' not in text]
    assert not missing
