"""The lab as CI runs it: one guest, every check of `ci`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from assay_lab import emulator
from assay_lab.cache import Cache
from assay_lab.error import LabError

pytestmark = pytest.mark.e2e
ROOT = Path(__file__).resolve().parent.parent.parent
# A machine under load is slow, and an emulated one on it slower.
LIMIT_S = 1800


@pytest.mark.timeout(LIMIT_S + 60)
def test_ci(assayer: Path, tmp_path: Path) -> None:
    try:
        emulator.find(Cache.of_user())
    except LabError as error:
        pytest.skip(f"{error.message}: {error.hint}")
    out = tmp_path / "lab"
    environment = os.environ | {"PYTHONPATH": str(ROOT / "python"), "ASSAYER": str(assayer)}
    command = [sys.executable, "-m", "assay", "lab", "run", "ci", "--out", str(out), "--keep"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=LIMIT_S)
    if done.returncode == 4:
        pytest.skip(done.stderr.strip().splitlines()[0])
    print(done.stdout)
    results = json.loads((out / "lab.json").read_text())["checks"] if (out / "lab.json").is_file() else []
    broken = [f"{one['suite']}/{one['name']}: {one['reason']}" for one in results if one["state"] == "broken"]
    assert not broken, "\n".join(broken)
    assert done.returncode == 0, done.stderr
    assert sum(one["state"] == "passed" for one in results) >= 20, done.stdout
