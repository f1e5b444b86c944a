"""Mutants of Rust, made by `cargo-mutants` in a copy of the tree."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from .rooms import ROOT, Crate

# A build and its tests take some ten seconds: the draw is for that; what the time does not suffice for is not run.
_EACH_S = 8.0
#: Where `./assay test mutants` installs it.
TOOL = ROOT / "target" / "tools" / "bin" / "cargo-mutants"
_LINE = re.compile(r"^(?P<file>[^:]+):\d+:\d+: (?P<change>.*)$")


@dataclass
class Found:
    """What came of the mutants of a crate's files."""

    all: int = 0
    caught: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    timed_out: list[str] = field(default_factory=list)
    unviable: int = 0

    @property
    def ran(self) -> int:
        """Those that could be built and were judged."""
        return len(self.caught) + len(self.missed) + len(self.timed_out)


def possible() -> bool:
    """Whether the tool is there."""
    return TOOL.is_file()


def run(crate: Crate, seed: int, seconds: float) -> Found:
    """As many mutants, drawn by the seed, as the seconds allow."""
    names = _listed(crate)
    drawn = random.Random(seed).sample(names, min(len(names), max(1, int(seconds / _EACH_S))))  # noqa: S311
    with tempfile.TemporaryDirectory(prefix="assay-mutants-") as folder:
        _work(crate, drawn, Path(folder), seconds)
        return _read(Path(folder) / "mutants.out", len(names))


def key(name: str) -> str:
    """A mutant's name without its line, which moves."""
    match = _LINE.match(name)
    return f"{match['file']}: {match['change']}" if match else name


def _words(crate: Crate) -> list[str]:
    source = f"crates/{crate.package.removeprefix('assay-')}/src"
    chosen = [word for name in crate.files for word in ("--file", f"{source}/{name}")]
    return [str(TOOL), "mutants", "--package", crate.package, *chosen]


def _listed(crate: Crate) -> list[str]:
    done = subprocess.run([*_words(crate), "--list"], cwd=ROOT, capture_output=True, text=True, check=True)
    return sorted(line for line in done.stdout.splitlines() if line)


def _work(crate: Crate, drawn: list[str], out: Path, seconds: float) -> None:
    """It is interrupted when the time is over; what it has judged by then is written."""
    chosen = [word for name in drawn for word in ("--re", f"^{re.escape(name)}$")]
    options = ["--jobs", "1", "--timeout", "120", "--no-times", "--output", str(out), *chosen]
    environment = os.environ | {"CARGO_TARGET_DIR": str(ROOT / "target" / "mutants"), "CARGO_INCREMENTAL": "1"}
    # Words after `--` would choose what runs alone: all other tests of the package would be built for each mutant.
    tests = [f"--cargo-arg={word}" for word in crate.tests]
    words = [*_words(crate), *options, *tests]
    process = subprocess.Popen(words, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGINT)
        process.wait()


def _read(out: Path, every: int) -> Found:
    def lines(name: str) -> list[str]:
        path = out / f"{name}.txt"
        return [line for line in path.read_text(encoding="utf-8").splitlines() if line] if path.is_file() else []

    return Found(every, lines("caught"), lines("missed"), lines("timeout"), len(lines("unviable")))
