"""Where pages go on a flash drive that is nearly full: the whole way, in virtual time."""

from __future__ import annotations

import json
from typing import Any

import pytest

from . import ledgers

pytestmark = pytest.mark.usefixtures("assayer")

DRIVE = "twin:handles=8:unit=128KiB:capacity=64MiB:p4510"
ROWS = ("--rows", "300000", "--reads", "0.5", "--zipf", "0.9", "--durability", "none")
HOW = ("--pool", "2MiB", "--threads", "2", "--tasks", "16", "--turn", "2us", "--warmup", "500ms", "--duration", "200ms")


def played(placement: str) -> Any:
    done = ledgers.assay("ycsb", "--on", DRIVE, *ROWS, *HOW, "--write-placement", placement, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)["record"]


def test_a_record_says_what_the_drive_made_of_the_pages_that_were_written() -> None:
    anywhere, grouped = played("any"), played("flash")
    for record in (anywhere, grouped):
        figures = {name: figure["value"] for name, figure in record["figures"].items()}
        assert record["figures"]["flash_write_amplification"]["provenance"] == "modelled"
        assert figures["flash_write_amplification"] > 1
        assert 0.6 < figures["drive_filled_at_first"] < 0.9
        written = figures["page_written_bytes_per_transaction"] * figures["flash_write_amplification"]
        assert figures["flash_written_bytes_per_transaction"] == pytest.approx(written, rel=0.02)
        assert all(check["passed"] for check in record["checks"])
    assert "write_placement" not in anywhere["subject"]["settings"]
    assert grouped["subject"]["settings"]["write_placement"] == "flash"
    assert grouped["subject"]["settings"]["collection_unit_bytes"] == 128 << 10
    amplified = [record["figures"]["flash_write_amplification"]["value"] for record in (anywhere, grouped)]
    assert amplified[1] < amplified[0]


def test_a_drive_that_is_too_small_for_what_is_loaded_is_told_in_a_sentence() -> None:
    done = ledgers.assay("ycsb", "--on", "twin:capacity=32MiB:p4510", *ROWS, *HOW)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "is full" in " ".join((done.stdout + done.stderr).split())
    assert "Traceback" not in done.stderr
