"""The raw records that stand beside the benches: a stranger can read each of them, and they stay small."""

from __future__ import annotations

from pathlib import Path

import pytest
from assay.results import folder

KEPT = Path(__file__).resolve().parents[2] / "benches" / "results"
FOLDERS = sorted(path for path in KEPT.iterdir() if path.is_dir())
#: Of one folder.
BYTES_AT_MOST = 400_000


def test_there_are_some() -> None:
    assert FOLDERS


@pytest.mark.parametrize("kept", FOLDERS, ids=lambda path: path.name)
def test_each_is_read_whole_and_its_records_have_verdicts(kept: Path) -> None:
    read = folder.read(kept)
    assert read.works
    assert len(read.works) == len(list((kept / "work").iterdir()))
    assert all(work.record["verdict"]["status"] in {"valid", "suspect", "invalid"} for work in read.works)


@pytest.mark.parametrize("kept", FOLDERS, ids=lambda path: path.name)
def test_each_is_small_and_says_where_it_was_measured(kept: Path) -> None:
    # What a user has `assay` derive from them, a report, is not counted.
    files = [path for path in kept.rglob("*") if path.suffix in {".json", ".ndjson"}]
    assert sum(path.stat().st_size for path in files) <= BYTES_AT_MOST
    assert all(work.record["environment"]["cpu"]["model"] for work in folder.read(kept).works)
