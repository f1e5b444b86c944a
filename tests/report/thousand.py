"""A result folder of a thousand runs, made from one record."""

from __future__ import annotations

import json
from pathlib import Path

from advise.folders import Bench, read

PATHS = ("pread+direct", "libaio+direct", "io_uring+direct", "io_uring")
SIZES = (4096, 8192, 16384, 65536, 262144)


def write(directory: Path, runs: int = 1000) -> Path:
    """Paths, sizes, depths and repeats; rates differ by a known rule."""
    pattern = Bench(directory)
    pattern.add(read(10_000), "sweep")
    (first,) = (directory / "records").glob("*.json")
    text = first.read_text()
    first.unlink()
    cells = []
    for number in range(runs):
        factors = {
            "path": PATHS[number % 4],
            "size": SIZES[number // 4 % 5],
            "depth": 2 ** (number // 20 % 10),
            "repeat_of": number // 200,
        }
        cell = f"sweep-{number:04}-r1"
        record = json.loads(text)
        record["run"]["id"] = cell
        record["job"]["labels"] = {"study": "sweep", "cell": cell, "repeat": "1", "scenario": "all"}
        asked, result = record["job"]["classes"][0], record["classes"][0]
        asked |= {"size": factors["size"], "depth": factors["depth"]}
        asked["path"] = {
            **asked["path"],
            "kind": factors["path"].split("+")[0],
            "direct": "direct" in str(factors["path"]),
        }
        result["bandwidth"]["value"] = 1e6 * (1 + number)
        (directory / "records" / f"{cell}.json").write_text(json.dumps(record))
        cells.append({"id": cell, "study": "sweep", "scenario": "all", "repeat": 1, "factors": factors})
    figure = {"id": "sweep", "title": "Bandwidth by depth", "kind": "line", "x": "depth", "y": "bandwidth_bytes_per_s",
              "series": "path", "facet": "size", "x_scale": "log"}  # fmt: skip
    study = {"name": "sweep", "title": "A sweep", "question": "?", "source": "", "figures": [figure]}
    (directory / "study.json").write_text(json.dumps({"version": 1, "studies": [study]}))
    (directory / "plan.json").write_text(json.dumps({"version": 1, "cells": cells}))
    return directory
