"""Builds a published program behind its driver, and keeps it in this user's cache."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from assay.error import FAILED, NOT_POSSIBLE, AssayError
from assay.rivals.published import change, cmake, fetch
from assay.rivals.published.recipe import Build, Package, Recipe, folder, read
from assay.untyped import Json

PROGRAM = "program"
ABOUT = "built.json"
HARNESS = "harness"
# Hexadecimal digits of a build's name.
_SHORT = 12


def place(name: str, where: Path | None = None) -> Path:
    """Where a program is kept: by all that it was made of, so that one of another recipe is not taken for it."""
    home = where or folder()
    parts = hashlib.sha256()
    for path in sorted([*(home / name).glob("*"), *(home / HARNESS).glob("*")]):
        parts.update(path.name.encode() + b"\0" + path.read_bytes())
    return fetch.cache() / name / parts.hexdigest()[:_SHORT]


def built(name: str, where: Path | None = None) -> Json | None:
    """What is known of a program that was built: commits, compiler, flags. None where it was not."""
    kept = place(name, where)
    if not (kept / ABOUT).is_file():
        return None
    about: Json = json.loads((kept / ABOUT).read_text(encoding="utf-8"))
    programs = [kept / name for name in about.get("programs", (PROGRAM,))]
    return about | {"path": str(programs[0])} if all(one.is_file() for one in programs) else None


def required(name: str, where: Path | None = None) -> Json:
    """The same of a program that is to be run.

    Raises:
        AssayError: where it was not built.
    """
    about = built(name, where)
    if about is None:
        raise AssayError(f"{name} was not built", hint=f"build it: `assay rivals build {name}`", code=NOT_POSSIBLE)
    return about


def make(
    name: str,
    sources: Sequence[str] = (),
    listen: Callable[[str], None] = lambda _: None,
    where: Path | None = None,
) -> Json:
    """Builds a program, unless it was: what is known of it. `sources` are folders that the user names.

    Raises:
        AssayError: where a package is missing, a source cannot be had, does not fit, or the build fails.
    """
    recipe, kept = read(name, where), place(name, where)
    given = fetch.named(recipe, sources)
    known = built(name, where)
    if known is not None and not given:
        return known
    needs(recipe)
    trees = fetch.fetch(recipe, given, listen)
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".half-", dir=kept.parent) as half:
        work = Path(half)
        for source, tree in trees.items():
            shutil.copytree(tree, work / source, symlinks=True)
        change.apply(work, recipe.change)
        listen(f"building {name}; this takes a minute or two")
        command = _built_in(work, recipe, where or folder())
        if not kept.is_dir():
            _keep(work, recipe, command, kept)
    return built(name, where) or {}


def needs(recipe: Recipe) -> None:
    """Refuses where a compiler or a package is missing.

    Raises:
        AssayError: with the line that installs all that is missing.
    """
    missing = ["g++"] if shutil.which("g++") is None else []
    if not missing:
        missing = [one.package for one in recipe.package if not _is_there(one)]
    if missing:
        wanted = ", ".join(dict.fromkeys(missing))
        hint = f"install what is missing: `apt-get install {' '.join(dict.fromkeys(missing))}`"
        raise AssayError(f"{recipe.name} needs {wanted}", hint=hint, code=NOT_POSSIBLE)


def _is_there(package: Package) -> bool:
    if package.tool is not None and shutil.which(package.tool) is None:
        return False
    if package.header is None:
        return True
    asked = f"#if !__has_include(<{package.header}>)\n#error\n#endif\n"
    command = ["g++", "-std=c++17", "-E", "-x", "c++", "-o", os.devnull, "-"]
    return subprocess.run(command, input=asked, text=True, capture_output=True, check=False).returncode == 0


def _built_in(work: Path, recipe: Recipe, home: Path) -> str:
    """Makes the program in a folder that has the sources; the commands that it took."""
    if recipe.build.cmake is not None:
        commands = cmake.make(recipe.build.cmake, work, _call)
    else:
        commands = [compiler(recipe.build, recipe.name, work, home)]
        _call(commands[0])
    words = " && ".join(" ".join(command) for command in commands)
    return words.replace(f"{work}/", "").replace(f"{home}/", "")


def programs(build: Build) -> list[str]:
    """What it makes: names of programs."""
    return [Path(one).name for one in build.cmake.programs] if build.cmake is not None else [PROGRAM]


def compiler(build: Build, name: str, work: Path, home: Path) -> list[str]:
    """One call of the compiler: driver, sources, folders of headers, libraries."""
    driver = [str(home / name / build.driver)] if build.driver else []
    return [
        "g++",
        *build.flags,
        f"-I{home / HARNESS}",
        *(f"-I{work / one}" for one in build.includes),
        *driver,
        *(str(work / one) for one in build.sources),
        "-o",
        str(work / PROGRAM),
        *(f"-l{one}" for one in build.libraries),
    ]


def _call(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        lines = [*done.stderr.splitlines(), *done.stdout.splitlines()]
        said = next((line for line in lines if "error" in line.lower()), (lines or ["nothing"])[-1])
        message = f"`{command[0]}` ended with exit code {done.returncode}: {said.strip()}"
        raise AssayError(message, hint="see that compiler and packages are whole, and read its words", code=FAILED)


def _keep(work: Path, recipe: Recipe, command: str, goal: Path) -> None:
    """Program and what is known of it, whole or not at all. The sources stay in their own cache."""
    kept = work / "kept"
    kept.mkdir()
    made = programs(recipe.build)
    for program in made:
        shutil.copy2(work / program, kept / program)
    version = subprocess.run(["g++", "-dumpfullversion"], capture_output=True, text=True, check=False).stdout.strip()
    about = {
        "name": recipe.name,
        "commits": {one.name: one.commit for one in recipe.source},
        "changes": len(recipe.change),
        "compiler": f"g++ {version}",
        "command": command,
        "programs": made,
    }
    (kept / ABOUT).write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
    kept.rename(goal)
