"""What `assay quick` plans can be measured: what it cannot settle within its window would be suspect every time."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.usefixtures("assayer")
@pytest.mark.parametrize("twin", ["p4610", "970evoplus"])
def test_no_step_of_the_ladder_still_rises_when_its_window_ends(twin: str, tmp_path: Path) -> None:
    """A twin has no neighbours: what is not steady there is the plan's own doing."""
    command = [sys.executable, "-m", "assay", "run", "dana-ladder", "--profile", "quick", "--on", f"twin:{twin}"]
    made = tmp_path / "made"
    done = subprocess.run(
        [*command, "--no-report", "--out", str(made)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    records = [json.loads(path.read_text()) for path in sorted((made / "records").glob("*.json"))]
    assert len(records) == 5
    codes = [reason["code"] for record in records for reason in record["verdict"]["reasons"]]
    assert "modelled-target" in codes
    assert not {"not-steady", "steadiness-lost"}.intersection(codes)
