"""Small result folders whose records differ in one thing."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

from assay.untyped import Json
from report.synthetic.drive import KINDS
from report.synthetic.record import ENVIRONMENT, Shape, Window, asked, figure, reason, record


class Bench:
    """A result folder in the making."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        (directory / "records").mkdir(parents=True, exist_ok=True)
        self._cells: list[Json] = []

    def add(self, shapes: Shape | list[Shape], study: str, **more: Any) -> str:
        """One record; `layout`, `cache`, `system`, `drives`, `status`, `provenance` change what they say."""
        number = len(self._cells)
        cell = f"{study}-{number:04}-r1"
        shapes = shapes if isinstance(shapes, list) else [shapes]
        labels = {"study": study, "cell": cell, "repeat": "1", "scenario": "all", "factor.number": str(number)}
        against = [reason(f"because-{more['status']}", more["status"], "seen", "mend")] if more.get("status") else []
        made = record(
            cell, shapes, labels, reasons=against, seed=number + 1, window=Window(3.0, 0.1),
            cache=more.get("cache", "bypassed"), provenance=more.get("provenance", "measured"),
        )  # fmt: skip
        made["job"]["datasets"][0]["layout"] = more.get("layout", "written")
        made["environment"] = copy.deepcopy(ENVIRONMENT)
        made["environment"]["targets"][0]["file_system"]["kind"] = more.get("system", "ext4")
        made["job"]["targets"][0]["members"] = [f"/srv/{number}" for number in range(more.get("drives", 1))]
        (self.directory / "records" / f"{cell}.json").write_text(json.dumps(made))
        self._cells.append({"id": cell, "study": study, "scenario": "all", "repeat": 1, "factors": {}})
        return cell

    def work(self, kind: str, subject: str, workload: str, rate: float, *, medium: str = "drive", **more: Any) -> str:
        """One work record."""
        name = f"{subject}-{workload}-{len(list(self.directory.glob('work/*.json'))):02}"
        made = work(kind, subject, workload, rate, medium, **more)
        (self.directory / "work").mkdir(exist_ok=True)
        (self.directory / "work" / f"{name}.json").write_text(json.dumps(made))
        return f"work-{name}"

    def done(self) -> Path:
        """Writes the plan; the folder is whole then."""
        (self.directory / "plan.json").write_text(json.dumps({"version": 1, "cells": self._cells}))
        (self.directory / "study.json").write_text(json.dumps({"version": 1, "studies": []}))
        return self.directory


def work(kind: str, subject: str, workload: str, rate: float, medium: str, **more: Any) -> Json:
    """A work record as the schema wants it."""
    environment = copy.deepcopy(ENVIRONMENT)
    environment["targets"][0]["file_system"]["kind"] = "tmpfs" if medium == "memory" else "ext4"
    unit = {"index": "ops_per_s", "engine": "transactions_per_s", "database": "transactions_per_s"}[kind]
    parts = [
        {"name": name, "succeeded": 1, "empty": 0, "failed": 0, "figures": {"wall_s": figure(seconds, "s")}}
        for name, seconds in more.get("parts", {}).items()
    ]
    cpu = {name: figure(value, "s") for name, value in more.get("cpu", {"user_s": 1.0, "kernel_s": 0.5}).items()}
    return {
        "version": 1,
        "kind": kind,
        "run": {
            "id": "w",
            "started_at": "2026-03-14T10:21:07Z",
            "assayer_version": "0.1.0",
            "wall_s": 2,
            "prepare_s": 0,
        },
        "subject": {"name": subject, "version": "1", "settings": {}},
        "workload": {"name": workload, "parameters": more.get("parameters", {"threads": 2})},
        "targets": [{"role": "data", "target": f"/{medium}", "emulated": False}],
        "durability": more.get("durability", "fdatasync"),
        "environment": environment,
        "measured_s": 2.0,
        "figures": {unit: figure(rate, "ops/s")}
        | {name: figure(value, "ratio") for name, value in more.get("figures", {}).items()},
        "parts": parts,
        "cpu": cpu,
        "devices": [],
        "checks": [{"name": "consistency-1", "passed": True, "evidence": "held"}],
        "not_measured": [],
        "verdict": {"status": more.get("status", "valid"), "reasons": []},
    }


def append(rate: float, size: int = 8192, path: str = "pread") -> Shape:
    """Durable appends."""
    wanted = asked(
        "wal", path=KINDS[path], operation={"kind": "write"}, pattern={"kind": "sequential"}, size=size,
        durability={"kind": "fdatasync", "every": 1},
    )  # fmt: skip
    return Shape("wal", rate, 1e9 / rate, wanted, flush_ns=5e8 / rate)


def mixed(rate: float, path: str, durability: str) -> Shape:
    """Page-ins and durable page-outs."""
    wanted = asked(
        "pages", path=KINDS[path], operation={"kind": "mix", "write_percent": 80}, size=4096,
        durability={"kind": durability, "every": 1},
    )  # fmt: skip
    return Shape("pages", rate, 1e9 / rate, wanted)


def scan(rate: float, path: str, depth: int = 1, size: int = 65536) -> Shape:
    """A scan."""
    wanted = asked("scan", path=KINDS[path], pattern={"kind": "sequential"}, size=size, depth=depth)
    return Shape("scan", rate, depth * 1e9 / rate, wanted)


def read(rate: float, size: int = 4096, depth: int = 1, path: str = "io_uring+direct") -> Shape:
    """Random reads."""
    return Shape("raw", rate, depth * 1e9 / rate, asked("raw", path=KINDS[path], size=size, depth=depth))
