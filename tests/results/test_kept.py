"""The raw records that stand beside the benches: a stranger can read each of them, and they stay small."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from assay.results import folder

KEPT = Path(__file__).resolve().parents[2] / "benches" / "results"
FOLDERS = sorted(path for path in KEPT.iterdir() if path.is_dir())
#: Where a machine's users, and what they try out, have their files; what lies in shared memory every machine has.
OWN = re.compile(r"/(?:tmp|root|home|work|mnt|var/tmp)/[^\"\s]*")
#: Of one folder.
BYTES_AT_MOST = 400_000


def test_there_are_some() -> None:
    assert FOLDERS


@pytest.mark.parametrize("kept", FOLDERS, ids=lambda path: path.name)
def test_none_names_a_folder_of_the_machine_that_it_comes_from(kept: Path) -> None:
    files = [path for path in kept.rglob("*") if path.suffix in {".json", ".ndjson"}]
    named = {str(path.relative_to(kept)): OWN.findall(path.read_text()) for path in files}
    assert not {name: found for name, found in named.items() if found}


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
