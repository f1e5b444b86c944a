"""Passports of a drive that a twin plays: in virtual time they take no minutes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from assay.untyped import Json
from commands import assay

SHORT = ("measure=250ms", "sustained=1s", "first=32MiB", "data=64MiB", "repeats=2")


def taken(on: str, out: Path, *more: str) -> Json:
    """Makes a passport in the folder of `out`, with windows that are too short for anything but a test."""
    settings = [word for text in SHORT for word in ("--set", text)]
    results = out.with_suffix(".results")
    words = ("passport", "--on", on, "--out", str(out), "--results", str(results), *settings, *more, "--json")
    done = assay(*words, inside=out.parent)
    assert done.returncode == 0, done.stderr + done.stdout
    found: Json = json.loads(done.stdout)
    return found


@pytest.fixture(scope="session")
def modelled(assayer: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A passport of a twin; only to be read."""
    out = tmp_path_factory.mktemp("passport") / "evo.passport"
    taken("twin:970evoplus", out, "--by", "A tester")
    return out


@pytest.fixture
def changed(modelled: Path, tmp_path: Path) -> Callable[[Callable[[Json], None]], Path]:
    """changed(how) writes a copy that `how` has changed, under the signature of the original."""

    def change(how: Callable[[Json], None]) -> Path:
        document = json.loads(modelled.read_text())
        how(document)
        path = tmp_path / "changed.passport"
        path.write_text(json.dumps(document))
        return path

    return change
