"""A published program built by its authors' own CMake files."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from assay.rivals.published.recipe import Cmake

Call = Callable[[Sequence[str]], None]


def commands(build: Cmake, work: Path) -> list[list[str]]:
    """Configures and builds below `work`, which has the sources by name."""
    made = work / "made"
    targets = [Path(one).name for one in build.programs]
    return [
        ["cmake", "-S", str(work / build.root), "-B", str(made), *build.options],
        ["cmake", "--build", str(made), "--parallel", str(os.cpu_count() or 1), "--target", *targets],
    ]


def make(build: Cmake, work: Path, call: Call) -> list[list[str]]:
    """Builds its programs and puts them beside the sources; the commands that it took."""
    asked = commands(build, work)
    for command in asked:
        call(command)
    for program in build.programs:
        shutil.copy2(work / "made" / program, work / Path(program).name)
    return asked
