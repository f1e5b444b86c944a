"""The model that fits use is the model that the binary evaluates."""

from __future__ import annotations

import tomllib

import pytest
from assay import home
from assay.binary import Binary
from assay.twin import memory_catalog
from assay.twin.grid_model import bandwidth
from assay.untyped import Json

PATH = {
    "sequential_read": (True, 0.0, "nt"),
    "random_read": (False, 0.0, "nt"),
    "sequential_nt": (True, 1.0, "nt"),
    "random_clwb": (False, 1.0, "clwb"),
    "sequential_plain": (True, 1.0, "none"),
}


def _zero() -> Json:
    return {"value": 0.0, "kind": "assumed", "source": "a test without a host", "date": "2026-11"}


def _host() -> Json:
    names = ("read", "write", "byte_read", "byte_write", "submission", "flush")
    costs = {f"cycles_per_{name}": _zero() for name in names} | {"wakeup_ns": _zero()}
    many = {"value": 64.0, "kind": "assumed", "source": "a test without a host", "date": "2026-11"}
    return {
        "version": 1,
        "name": "none",
        "title": "a host that costs nothing",
        "cores": many,
        "threads_per_core": many | {"value": 1.0},
        "clock_hz": many | {"value": 3e9},
        "costs": {"pmem": costs},
    }


def _stream(kind: str, size: float, threads: int) -> Json:
    sequential, share, persist = PATH[kind]
    return {
        "name": "load",
        "write_share": share,
        "size_bytes": size,
        "sequential": sequential,
        "threads": threads,
        "path": {"key": "pmem", "persist": persist},
    }


def test_the_binary_and_the_fit_evaluate_the_same_model() -> None:
    twin = tomllib.loads((home.catalog() / "twins" / "pmem100-256g.toml").read_text(encoding="utf-8"))
    counts = (1, 2, 4, 6)
    cases = [
        (kind, size, count, threads)
        for kind, (_, _, _) in PATH.items()
        for size in list(memory_catalog.known().fits[kind].sizes)[:2]
        for count in counts
        for threads in (1, 4, 13, 32, 64)
    ]
    document = {
        "version": 1,
        "targets": [{"kind": "device", "twin": twin, "modules": count} for count in counts],
        "hosts": [_host()],
        "questions": [
            {"target": counts.index(count), "host": 0, "streams": [_stream(kind, size, threads)]}
            for kind, size, count, threads in cases
        ],
    }
    answers = Binary.find().document("predict", "-", given=document)["answers"]
    for (kind, size, count, threads), answer in zip(cases, answers, strict=True):
        fit = memory_catalog.known().fits[kind]
        wanted = bandwidth(fit.shape, fit.sizes[size], count, threads)
        seen = answer["solution"]["streams"][0]["bandwidth_bytes_per_s"]
        # The catalog keeps four digits; chance leaves some of the capacity for random accesses of 1 KiB idle.
        room = 0.03 if kind.startswith("random") else 0.01
        assert seen == pytest.approx(wanted, rel=room), (kind, size, count, threads)
