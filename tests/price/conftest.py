"""A price book for tests, and the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import commands
import pytest
from assay.price.book import open_book
from assay.price.ledger import Ledger
from commands import Done

Run = Callable[..., Done]


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
def assay(tmp_path: Path) -> Run:
    """`assay` in a folder of its own; nothing may be left there that the test did not write."""

    def run(*words: str) -> Done:
        before = set(tmp_path.iterdir())
        done = commands.assay(*words, inside=tmp_path)
        assert set(tmp_path.iterdir()) == before
        return done

    return run
