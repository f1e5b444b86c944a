"""The same cell by both: what is compared, what is refused, and that two tools that do the same agree."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from assay.bench import crosscheck
from assay.bench.prepared import prepared
from assay.error import AssayError
from assay.untyped import Json


def figures(ops: float, mean: float) -> crosscheck.Figures:
    return {"point": {"ops_per_s": ops, "mean_ns": mean}}


def sides(ratio: float, scatter: float, pairs: int = 12) -> tuple[list[crosscheck.Figures], list[crosscheck.Figures]]:
    """Runs of both; Assay's rate is `ratio` of fio's."""
    random = np.random.default_rng(4)
    ours = [figures(100 * ratio * float(np.exp(random.normal(0, scatter))), 10) for _ in range(pairs)]
    return ours, [figures(100, 10) for _ in range(pairs)]


@pytest.mark.parametrize(
    ("ratio", "scatter", "pairs", "outcome"),
    [
        (1.0, 0.003, 12, "equivalent"),
        (0.75, 0.01, 12, "different"),
        # Means of five runs at 0.75 with this scatter have intervals that overlap; that is no agreement.
        (0.75, 0.4, 5, "undecided"),
        (1.0, 0.2, 12, "undecided"),
    ],
)
def test_agreement_has_to_be_shown(ratio: float, scatter: float, pairs: int, outcome: str) -> None:
    found = crosscheck.judged(*sides(ratio, scatter, pairs))
    point = found["classes"]["point"]
    assert point["ops_per_s"]["outcome"] == outcome
    assert found["agree"] == (outcome == "equivalent")
    assert point["mean_ns"]["outcome"] == ("equivalent" if pairs >= 6 else "undecided")
    assert point["ops_per_s"]["ratio_low"] <= point["ops_per_s"]["ratio"] <= point["ops_per_s"]["ratio_high"]


def test_a_durable_write_counts_its_sync() -> None:
    nothing = {"total_ios": 0, "iops": 0.0, "lat_ns": {"mean": 0.0}}
    write = {"total_ios": 10, "iops": 5.0, "lat_ns": {"mean": 100.0}}
    job = {
        "jobname": "a",
        "read": nothing,
        "write": write,
        "sync": {"total_ios": 0, "lat_ns": {"N": 5, "mean": 1000.0}},
    }
    assert crosscheck.fio_figures(job) == {"ops_per_s": 5.0, "mean_ns": 600.0}
    with pytest.raises(AssayError, match="did nothing"):
        crosscheck.fio_figures(job | {"write": nothing})


def job(folder: Path, entry: Json, files: int = 1) -> Json:
    return {
        "version": 1,
        "name": "a cell",
        "targets": [{"id": "main", "kind": "folder", "members": [str(folder)]}],
        "datasets": [{"name": "data", "target": "main", "bytes": 8 << 20, "files": files}],
        "classes": [{"name": "point", "dataset": "data", **entry}],
        "window": {"measure_s": 0.2},
    }


READ: Json = {"path": {"kind": "pread"}, "operation": {"kind": "read"}, "pattern": {"kind": "uniform"}, "size": 4096}
WRITE = READ | {"operation": {"kind": "write"}, "durability": {"kind": "fdatasync", "every": 1}}


def test_only_written_files_can_be_shared(tmp_path: Path) -> None:
    device = job(tmp_path, READ) | {"targets": [{"id": "main", "kind": "block-device", "members": ["/dev/x"]}]}
    with pytest.raises(AssayError, match="only folders"):
        crosscheck.crosscheck(device)
    grown = job(tmp_path, WRITE)
    grown["datasets"][0]["layout"] = "grow"
    with pytest.raises(AssayError, match="each run would change it"):
        crosscheck.crosscheck(grown)
    with pytest.raises(AssayError, match="two repeats"):
        crosscheck.run(job(tmp_path, READ), 1, as_json=True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("entry", "files"), [(READ | {"threads": 2}, 2), (READ | {"threads": 2}, 1), (WRITE, 1)])
def test_both_run_on_the_same_files_and_nothing_is_left(
    entry: Json, files: int, assayer: Path, need: Callable[[str], str], tmp_path: Path
) -> None:
    need("fio")
    asked = job(tmp_path, entry, files)
    found = crosscheck.crosscheck(asked, repeats=2)
    assert "scratch" not in asked, "the caller's job stays as it was"
    assert f"directory={tmp_path}/assay-scratch-" in found["jobfile"]
    for figure in found["classes"]["point"].values():
        assert figure["assay"] > 0
        assert figure["fio"] > 0
    assert list(tmp_path.iterdir()) == []


def test_nothing_that_prepares_runs_a_load(assayer: Path, tmp_path: Path) -> None:
    """Sixty-four threads of which none needs a turn on a CPU: preparing takes no window."""
    asked = job(tmp_path, READ | {"threads": 64}, 1) | {"window": {"measure_s": 86_400}}
    with prepared(asked) as files:
        assert files["data"].stat().st_size == 8 << 20
        assert files["data"].stat().st_blocks * 512 >= 8 << 20, "the data is there"
    assert list(tmp_path.iterdir()) == []
