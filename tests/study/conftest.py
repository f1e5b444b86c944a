"""A stand-in for the measuring program, small studies, and a folder to measure."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import warm

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent

SMALL = """
name = "small"
title = "A small study"
question = "Does it work?"
source = "none"
repeats = 2
{head}

[parameters]
data = "1MiB"
measure = "1s"

[matrix]
threads = [1, 2]

[datasets.data]
bytes = "${{data}}"

[classes.scan]
dataset = "data"
path = "pread"
operation = "read"
pattern = "sequential"
size = "4KiB"
threads = "${{threads}}"

{tail}

[window]
measure = "${{measure}}"
"""


@dataclass
class Assay:
    """The command line against the stand-in."""

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def results(self) -> Path:
        """Where the tests put results."""
        return self.folder / "results"

    @property
    def target(self) -> Path:
        """The folder that is measured."""
        return self.folder / "target"

    def study(self, head: str = "", tail: str = "") -> Path:
        """Writes the small study."""
        path = self.folder / "small.toml"
        path.write_text(SMALL.format(head=head, tail=tail))
        return path

    def behave(self, **behaviour: str) -> None:
        """What the stand-in does, by a part of a cell's name."""
        self.environment["FAKE_BEHAVIOUR"] = json.dumps(behaviour)

    def runs(self) -> list[str]:
        """Cells that were run so far."""
        path = Path(self.environment["FAKE_LOG"])
        return path.read_text().splitlines() if path.exists() else []

    @property
    def _environment(self) -> dict[str, str]:
        return os.environ | {"PYTHONPATH": str(ROOT / "python"), "NO_COLOR": "1"} | self.environment

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Starts a command."""
        return subprocess.Popen(
            [sys.executable, "-m", "assay", *words],
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            cwd=self.folder,
        )

    def __call__(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Runs a command to its end."""
        return warm.assay(words, cwd=self.folder, env=self._environment, timeout=120)

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Runs the small study."""
        return self(
            "run", str(self.study()), "--on", str(self.target), "--out", str(self.results), "--no-report", *words
        )


@pytest.fixture
def fake(tmp_path: Path) -> Path:
    """The stand-in as a program."""
    program = tmp_path / "assayer"
    program.write_text(f'#!/bin/sh\nexec {shlex.join([sys.executable, str(HERE / "fake_assayer.py")])} "$@"\n')
    program.chmod(0o755)
    return program


@pytest.fixture
def assay(tmp_path: Path, fake: Path) -> Assay:
    """The command line against the stand-in."""
    (tmp_path / "target").mkdir()
    return Assay(tmp_path, {"ASSAYER": str(fake), "FAKE_LOG": str(tmp_path / "runs.log")})


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str], Path]:
    """Writes a study file."""

    def write(text: str) -> Path:
        path = tmp_path / "study.toml"
        path.write_text(text)
        return path

    return write
