"""What the tests of `assay engine` share."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def results(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where results go that nobody named a folder for."""
    at = tmp_path_factory.mktemp("results")
    monkeypatch.chdir(at)
    return at
