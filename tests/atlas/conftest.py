"""An atlas out of the catalog and a passport."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import assay
from passport.conftest import taken
from report.synthetic import folder, studies


@pytest.fixture(scope="session")
def atlas(assayer: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site; only to be read."""
    place = tmp_path_factory.mktemp("atlas")
    sent = place / "sent"
    sent.mkdir()
    taken("twin:970evoplus", sent / "evo.passport", "--by", '<script>alert("x")</script>')
    damaged = (sent / "evo.passport").read_text().replace('"by": "<script', '"by": "x<script', 1)
    (sent / "damaged.passport").write_text(damaged)
    folder.write(sent / "results", [studies.depth_curve()])
    done = assay("atlas", "build", str(place / "site"), str(sent))
    assert done.returncode == 0, done.stderr
    assert "damaged.passport: its signature does not hold" in done.stderr
    return place / "site"
