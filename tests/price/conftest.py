"""A price book for tests, and the command line."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from assay.price.book import open_book
from assay.price.ledger import Ledger

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def ledger() -> Ledger:
    """The catalog's prices."""
    return Ledger(open_book())


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str], Path]:
    """Writes a file and gives its path."""

    def written(name: str, text: str) -> Path:
        path = tmp_path / name
        path.write_text(text)
        return path

    return written


@pytest.fixture
def assay(root: Path, tmp_path: Path) -> Run:
    """`python -m assay` in a folder of its own; nothing may be left there that the test did not write."""

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        before = set(tmp_path.iterdir())
        done = subprocess.run(
            [sys.executable, "-m", "assay", *words],
            capture_output=True,
            text=True,
            env=os.environ | {"PYTHONPATH": str(root / "python"), "NO_COLOR": "1"},
            cwd=tmp_path,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        assert set(tmp_path.iterdir()) == before
        return done

    return run
