"""Cells become job files, and come back as they were."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from assay.fio.exports import export_cell
from assay.fio.imports import import_text
from assay.fio.jobfile import FioError
from assay.study.job import class_job, dataset_job, window_job
from assay.study.model import Study
from assay.study.source import parse as parse_study
from assay.untyped import Json
from hypothesis import given
from hypothesis import strategies as st


def cell(entry: Json, **changes: Any) -> Json:
    """A job with one class, complete as a plan holds it."""
    job: Json = {
        "name": "a cell",
        "targets": [{"id": "main", "kind": "folder", "members": ["/mnt/data"]}],
        "datasets": [{"name": "data", "target": "main", "bytes": 1 << 20, "files": 1, "layout": "written"}],
        "classes": [{"name": "point", "dataset": "data", **entry}],
        "window": {"warmup_s": 0.0, "measure_s": 5.0},
        "cache": "bypassed",
    }
    return job | changes


READ: Json = {
    "path": {"kind": "pread", "direct": True},
    "operation": {"kind": "read"},
    "pattern": {"kind": "uniform"},
    "size": 4096,
}


def write(**changes: Any) -> Json:
    return READ | {"operation": {"kind": "write"}} | changes


def test_a_polled_drive_is_named_by_its_address(tmp_path: Path) -> None:
    device = tmp_path / "nvme0n1" / "device"
    device.mkdir(parents=True)
    (device / "address").write_text("0000:01:00.0\n")
    (device.parent / "nsid").write_text("1\n")
    target = {"id": "main", "kind": "block-device", "members": ["/dev/nvme0n1"]}
    wanted = cell(READ | {"path": {"kind": "nvme_polled", "poll_sleep_us": 50}}, targets=[target])
    found = export_cell(wanted, block=tmp_path)
    lines = found.text.splitlines()
    assert "ioengine=spdk" in lines
    assert "filename=trtype=PCIe traddr=0000.01.00.0 ns=1" in lines
    assert any("50 us of sleep" in note for note in found.notes)
    with pytest.raises(FioError, match="PCI address"):
        export_cell(wanted, block=tmp_path / "elsewhere")


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (write(path={"kind": "mmap"}, durability={"kind": "msync", "every": 1}), "whole mapping"),
        (READ | {"arrivals": {"kind": "fixed", "rate_per_s": 100.0, "scope": "thread"}}, "intended start"),
        (READ | {"arrivals": {"kind": "burst", "rate_per_s": 100.0, "scope": "thread", "burst": 8}}, "bursts of 8"),
        (READ | {"arrivals": {"kind": "fixed", "rate_per_s": 0.5, "scope": "thread"}}, "whole numbers"),
        (READ | {"buffer_bytes": 1 << 30}, "of memory"),
        (READ | {"objective": {"metric": "p99_ns", "bound": 1e6}}, "does not judge"),
        (READ | {"path": {"kind": "pread", "advice": "will_need"}}, "will_need"),
        (READ | {"path": {"kind": "pmem", "fenced": True}}, "before the next begins"),
        (READ | {"size": [{"bytes": 4096, "weight": 1}, {"bytes": 8192, "weight": 2}]}, "whole percents"),
        (write(dirty_bytes=64), "changing 64 bytes"),
        (write(durability={"kind": "rwf_dsync", "every": 1}), "O_DSYNC"),
        (write(path={"kind": "pmem"}, durability={"kind": "persist", "every": 4}), "once in 4"),
    ],
)
def test_what_fio_cannot_say_is_noted(entry: Json, words: str) -> None:
    exported = export_cell(cell(entry))
    assert any(words in note for note in exported.notes)
    assert all(f"; {note}\n" in exported.text for note in exported.notes)


def test_growing_files_checks_and_steady_state_are_noted() -> None:
    grown = [{"name": "data", "target": "main", "bytes": 4096, "layout": "grow"}]
    window = {"measure_s": 5.0, "steady_after_s": 1.0}
    exported = export_cell(cell(write(), datasets=grown, window=window, checks={"data": True}))
    assert len(exported.notes) == 3
    assert export_cell(cell(READ)).notes == []


@pytest.mark.parametrize(
    "job",
    [
        cell(READ | {"path": {"kind": "nvme_passthrough"}}),
        cell(READ, targets=[{"id": "main", "kind": "folder", "members": ["/a", "/b"]}]),
        cell(READ | {"threads": 3}, datasets=[{"name": "data", "target": "main", "bytes": 4096, "files": 2}]),
    ],
)
def test_what_fio_cannot_do_is_refused(job: Json) -> None:
    with pytest.raises(FioError) as caught:
        export_cell(job)
    assert caught.value.hint


def test_classes_that_share_a_file_name_it() -> None:
    job = cell(READ | {"threads": 4})
    assert "filename=data.0.0.data\n" in export_cell(job).text
    assert "directory=/x/a\\:b\n" in export_cell(job, {"data": "/x/a:b"}).text


PATHS: st.SearchStrategy[Json] = st.sampled_from(
    [
        {"kind": "pread"},
        {"kind": "pread", "direct": True},
        {"kind": "pread", "advice": "random"},
        {"kind": "libaio", "direct": True},
        {"kind": "io_uring", "direct": True, "fixed": True, "poll": "iopoll"},
        {"kind": "io_uring", "direct": True, "poll": "sqpoll"},
        {"kind": "io_uring", "advice": "sequential"},
    ]
)
PATTERNS: st.SearchStrategy[Json] = st.one_of(
    st.sampled_from([{"kind": "sequential"}, {"kind": "uniform"}]),
    st.floats(0.1, 3).map(lambda theta: {"kind": "zipf", "theta": theta}),
    st.tuples(st.integers(51, 99), st.integers(1, 49)).map(
        lambda share: {"kind": "hot-spot", "operations_percent": share[0], "pages_percent": share[1]}
    ),
)
OPERATIONS: st.SearchStrategy[Json] = st.one_of(
    st.sampled_from([{"kind": "read"}, {"kind": "write"}]),
    st.integers(1, 99).map(lambda percent: {"kind": "mix", "write_percent": percent}),
)
SIZES = st.one_of(
    st.sampled_from([512, 4096, 16384, 1 << 20]),
    st.integers(1, 99).map(lambda share: [{"bytes": 4096, "weight": share}, {"bytes": 8192, "weight": 100 - share}]),
)
DURABILITIES = st.tuples(st.sampled_from(["none", "fsync", "fdatasync", "o_dsync"]), st.integers(1, 64))
RATES = st.tuples(st.sampled_from(["closed", "fixed", "poisson"]), st.integers(1, 10**6))


@st.composite
def classes(draw: st.DrawFn) -> Json:
    """Classes that fio can say."""
    path, operation, threads = draw(PATHS), draw(OPERATIONS), draw(st.integers(1, 8))
    queued = path["kind"] != "pread"
    depth = draw(st.integers(1, 64)) if queued else 1
    kind, every = draw(DURABILITIES)
    if operation["kind"] == "read" or kind == "none":
        kind, every = "none", 1
    arrivals, rate = draw(RATES)
    return {
        "path": path,
        "operation": operation,
        "pattern": draw(PATTERNS),
        "size": draw(SIZES),
        "threads": threads,
        "depth": depth,
        "batch": draw(st.integers(1, depth)),
        "arrivals": {"kind": "closed"}
        if arrivals == "closed" or operation["kind"] == "mix"
        else {"kind": arrivals, "rate_per_s": float(rate), "scope": "thread"},
        "durability": {"kind": kind, "every": 1 if kind == "o_dsync" else every},
        "buffer_bytes": 0,
        "dirty_bytes": 0,
        "start_s": draw(st.sampled_from([0.0, 0.25, 3.0])),
    }


@given(classes(), st.sampled_from([0.25, 5.0, 60.0]), st.booleans(), st.booleans())
def test_there_and_back(entry: Json, seconds: float, each_its_file: bool, warm: bool) -> None:
    files = entry["threads"] if each_its_file else 1
    direct = entry["path"].get("direct", False)
    cache = "bypassed" if direct else "warm" if warm else "cold"
    data = {"name": "data", "target": "main", "bytes": 8 << 20, "files": files, "layout": "written"}
    window = {"warmup_s": 1.5, "measure_s": seconds}
    job = cell(entry, datasets=[data], window=window, cache=cache)
    study = parse_study(import_text(export_cell(job).text, "job").text, "job.toml")
    assert isinstance(study, Study)
    table = study.classes["point"]
    assert class_job("point", table) == {"name": "point", "dataset": "point", **entry}
    found = dataset_job("point", study.datasets["point"], [table])
    assert {key: found[key] for key in data} == data | {"name": "point"}
    assert window_job(study.window) == window | {"steady_after_s": 0, "interval_ms": 100, "bytes_at_most": 0}
    assert study.cache == cache


def test_fio_takes_what_is_exported(need: Callable[[str], str], tmp_path: Path) -> None:
    fio = need("fio")
    entries = [
        READ,
        READ | {"pattern": {"kind": "zipf", "theta": 0.99}, "threads": 2},
        READ | {"pattern": {"kind": "hot-spot", "operations_percent": 90, "pages_percent": 10}},
        write(
            durability={"kind": "fdatasync", "every": 8},
            size=[{"bytes": 4096, "weight": 1}, {"bytes": 8192, "weight": 1}],
        ),
        write(path={"kind": "mmap"}, durability={"kind": "msync", "every": 1}),
        write(path={"kind": "io_uring", "fixed": True, "direct": True}, depth=4, batch=2),
        READ | {"arrivals": {"kind": "poisson", "rate_per_s": 1000.0, "scope": "total"}},
        READ | {"operation": {"kind": "mix", "write_percent": 20}, "path": {"kind": "libaio"}, "depth": 4},
    ]
    for number, entry in enumerate(entries):
        job = tmp_path / f"{number}.fio"
        job.write_text(export_cell(cell(entry)).text)
        done = subprocess.run([fio, "--parse-only", str(job)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{entry}: {done.stdout}{done.stderr}"
