"""Puts the measuring program, studies, catalog and schemas into the wheel, and marks it for this machine."""

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_PROGRAMS = ("assayer", "assayer-db", "assayer-mount")
_FOLDERS = ("catalog", "studies", "schema")


class WheelHook(BuildHookInterface[Any]):
    """A wheel holds a binary, so it is for one platform; an editable installation uses the checkout's own files."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before it collects files."""
        if version == "editable":
            return
        root = Path(self.root)
        include = build_data["force_include"]
        for program in build_programs(root):
            include[str(program)] = f"assay/_data/bin/{program.name}"
        for folder in _FOLDERS:
            if (root / folder).is_dir():
                include[str(root / folder)] = f"assay/_data/{folder}"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform_tag()}"


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


def platform_tag() -> str:
    """The tag of this machine, such as linux_x86_64."""
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")
