"""Inputs of any size for `assay bench scaling`: a result folder of many runs, and a file of many machines."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import cast

from assay.record import Record
from assay.untyped import Json

PATHS = ("pread", "libaio", "io_uring")
SIZES = (4096, 8192, 16384, 65536, 262144)
WORKLOAD = """\
capacity = "2TB"
working_set = "400GB"
reads_per_s = "300000/s"
writes_per_s = "30000/s"
page = "4KiB"
durability = "local"
"""
"""What machines are chosen for."""


def runs(directory: Path, record: Record, count: int, side: str = "") -> Path:
    """A result folder of so many runs of one study, each a copy of `record` whose factors and rate differ by a rule.

    Folders of different sides have different runs.
    """
    (directory / "records").mkdir(parents=True)
    cells = []
    for number in range(count):
        factors = {
            "path": PATHS[number % 3],
            "size": SIZES[number // 3 % 5],
            "depth": 2 ** (number // 15 % 10),
            "again": number // 150,
        }
        cell = f"sweep-{number:06}-r1"
        cells.append({"id": cell, "study": "sweep", "scenario": "all", "repeat": 1, "factors": factors})
        text = json.dumps(_varied(record, cell + side, factors, number))
        (directory / "records" / f"{cell}.json").write_text(text, encoding="utf-8")
    figure = {
        "id": "sweep", "title": "Bandwidth by depth", "kind": "line", "x": "depth", "y": "bandwidth_bytes_per_s",
        "series": "path", "facet": "size", "x_scale": "log",
    }  # fmt: skip
    study = {"name": "sweep", "title": "A sweep", "question": "How do rates grow?", "source": "", "figures": [figure]}
    _write(directory / "study.json", {"version": 1, "studies": [study]})
    _write(directory / "plan.json", {"version": 1, "cells": cells})
    return directory


def _varied(record: Record, run: str, factors: Json, number: int) -> Json:
    made = cast("Json", copy.deepcopy(record))
    made["run"]["id"] = run
    made["job"]["labels"] = {"study": "sweep", "cell": f"sweep-{number:06}-r1", "repeat": "1", "scenario": "all"}
    asked, seen = made["job"]["classes"][0], made["classes"][0]
    asked |= {"size": factors["size"], "depth": factors["depth"]}
    asked["path"] = {**asked["path"], "kind": factors["path"]}
    seen["bandwidth"]["value"] = 1e6 * (1 + number)
    return made


def machines(path: Path, count: int) -> Path:
    """A file of so many machines of one's own; dearer ones have more, by a rule with exceptions."""
    lines = []
    for number in range(count):
        odd = (number * 7919) % count
        lines += [
            "[[machine]]",
            f'name = "m{number}"',
            f"usd_per_month = {100 + number}",
            f"cores = {8 + odd % 120}",
            f'memory = "{64 + odd % 900}GiB"',
            f'local = "{1 + odd % 60}TB"',
            f"read_iops = {100_000 + odd * 37 % 4_000_000}",
            f"write_iops = {50_000 + odd * 13 % 1_000_000}",
            f'read_latency = "{60 + odd % 90}us"',
            'source = "made for a bench"',
            'date = "2026-01-01"',
            'kind = "quote"',
        ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _write(path: Path, document: Json) -> None:
    path.write_text(json.dumps(document), encoding="utf-8")
