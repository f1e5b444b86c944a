"""Writes catalog/known/drives.json: what some twins of the catalog do, as grey marks beside a drive that was measured.

A report reads it and runs nothing. Run this again when one of the twins changes; a test holds the file against them.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from assay import home
from assay.target import catalog
from assay.twin.predict import Point, predict

Json = dict[str, Any]

# From slow to fast, one of each kind that people know: what a name on the page says for itself.
NAMES = {
    "disk-7200": "7200 rpm disk",
    "gp3": "AWS gp3, 3000 IOPS",
    "io2": "AWS io2",
    "dc600m-960g": "SATA drive (server)",
    "970evoplus": "970 EVO Plus (consumer)",
    "pm9a3-960g": "PM9A3 (server)",
    "p5800x": "Optane P5800X",
}
READ = {"path": "pread+direct"}
COMMIT = {"path": "pread", "operation": "write", "sequential": True, "durability": "fdatasync"}


def figure(name: str, asked: Json) -> Json:
    """Median latency in ns of 4 KiB, one at a time, with the twin's own band."""
    found = predict(Point(on=f"twin:{name}", **asked))
    low, high = found["latency_band_ns"]["p50"]
    return {"value": round(found["latency_ns"]["p50"]), "low": round(low), "high": round(high)}


def drive(name: str, short: str) -> Json:
    """One twin."""
    title = catalog.twin(name)["title"]
    return {"twin": name, "title": title, "short": short, "read_p50_ns": figure(name, READ),
            "commit_p50_ns": figure(name, COMMIT)}  # fmt: skip


def main() -> None:
    """Writes the file."""
    drives = [drive(name, short) for name, short in NAMES.items()]
    document = {"version": 1, "date": datetime.now(UTC).date().isoformat(), "provenance": "modelled", "drives": drives}
    path = home.catalog() / "known" / "drives.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
