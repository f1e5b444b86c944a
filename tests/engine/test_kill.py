"""The engine's process is killed under load: what it acknowledged is there, and nothing in part."""

from __future__ import annotations

from pathlib import Path

import pytest

from . import ledgers

pytestmark = pytest.mark.usefixtures("assayer")


@pytest.mark.parametrize("durability", ["fdatasync", "plp"])
def test_a_killed_process_is_held_to_its_word(assayer: Path, tmp_path: Path, durability: str) -> None:
    keep = tmp_path / "ledger"
    said = 0
    for turn in range(3):
        said = ledgers.kill_after(
            ledgers.start(assayer, ledgers.job(keep, 60, durability=durability)), keep, 100 * (turn + 1)
        )
    record = ledgers.look(keep, "--durability", durability)
    checks = {check["name"]: check for check in record["checks"]}
    assert all(check["passed"] for check in record["checks"]), record["checks"]
    assert int(checks["acknowledged"]["evidence"].split()[0]) >= said >= 600
    assert record["durability"] == durability


def test_what_was_not_acknowledged_is_missed(assayer: Path, tmp_path: Path) -> None:
    """The check itself: an acknowledgement that no commit stands behind is found."""
    keep = tmp_path / "ledger"
    ledgers.kill_after(ledgers.start(assayer, ledgers.job(keep, 60)), keep, 20)
    with (keep / "engine-acknowledged").open("r+b") as file:
        file.write((1 << 40).to_bytes(8, "little"))
    done = ledgers.assay("ledger", "--keep", keep, "--on", tmp_path, "--pool", "4MiB", "--duration", "0.1", "--json")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1099511627776 acknowledged" in done.stdout + done.stderr
