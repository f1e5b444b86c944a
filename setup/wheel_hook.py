"""Puts the measuring program, studies, catalog, schemas and the manual page into the wheel, and gives it its tag."""

import os
import platform
import shutil
import struct
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_PROGRAMS = ("assayer", "assayer-db", "assayer-mount")
_PT_INTERP = 3
_FOLDERS = ("catalog", "studies", "schema")


class WheelHook(BuildHookInterface[Any]):
    """A wheel holds a binary, so it is for one platform; an editable installation uses the checkout's own files."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before it collects files."""
        if version == "editable":
            return
        root = Path(self.root)
        include = build_data["force_include"]
        programs = build_programs(root)
        for program in programs:
            include[str(program)] = f"assay/_data/bin/{program.name}"
        for folder in _FOLDERS:
            if (root / folder).is_dir():
                include[str(root / folder)] = f"assay/_data/{folder}"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform_tag(programs)}"
        build_data.setdefault("shared_data", {})[str(manual(root))] = "share/man/man1/assay.1"


def build_programs(root: Path) -> list[Path]:
    """Builds the release programs into the checkout's target folder, or takes the ones that ASSAYER names."""
    named = os.environ.get("ASSAYER")
    if named:
        return [path for name in _PROGRAMS if (path := Path(named).with_name(name)).exists()]
    cargo = shutil.which("cargo") or str(Path.home() / ".cargo" / "bin" / "cargo")
    target = root / "target"
    wanted = [word for name in _PROGRAMS for word in ("-p", name)]
    command = [cargo, "build", "--release", "--locked", *wanted, "--target-dir", str(target)]
    subprocess.run(command, cwd=root, check=True)
    return [target / "release" / name for name in _PROGRAMS]


def manual(root: Path) -> Path:
    """Writes the manual page of the command below `target`, and says where."""
    page = root / "target" / "assay.1"
    page.parent.mkdir(exist_ok=True)
    command = [sys.executable, str(root / "setup" / "command_page.py")]
    page.write_bytes(subprocess.run(command, check=True, capture_output=True).stdout)
    return page


def platform_tag(programs: list[Path]) -> str:
    """`manylinux_2_17_x86_64` where all programs are static: they run with any C library or none, more than
    that tag promises. Otherwise the tag of this machine alone, such as `linux_x86_64`."""
    if programs and all(is_static(program) for program in programs):
        return f"manylinux_2_17_{platform.machine()}"
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")


def is_static(program: Path) -> bool:
    """Whether a program of 64 bits asks for no loader: none of its program headers is PT_INTERP (ELF-64 object file
    format, version 1.5, figures 2 and 3)."""
    with program.open("rb") as file:
        head = file.read(64)
        if head[:5] != b"\x7fELF\x02" or len(head) < 64:
            return False
        order = "<" if head[5] == 1 else ">"
        (at,) = struct.unpack_from(f"{order}Q", head, 32)
        size, count = struct.unpack_from(f"{order}HH", head, 54)
        file.seek(at)
        table = file.read(size * count)
    kinds = {struct.unpack_from(f"{order}I", table, size * one)[0] for one in range(count)}
    return _PT_INTERP not in kinds
