"""`assay list twins` and `assay list hosts`."""

from __future__ import annotations

from collections import Counter

from assay.target import catalog
from assay.untyped import Json


def rows() -> list[Json]:
    """One row for each device: family, capacity, how many parameters of which kind, its own error inside the box."""
    return [_row(document) for document in catalog.everything()]


def _row(document: Json) -> Json:
    kinds = Counter(parameter["kind"] for _, parameter in catalog.parameters(document))
    return {
        "name": document["name"],
        "title": document["title"],
        "family": document["device"]["family"],
        "capacity_bytes": document["capacity_bytes"]["value"],
        "parameters": dict(sorted(kinds.items())),
        "bandwidth_band": document["band"]["bandwidth"]["value"],
    }


def host_rows() -> list[Json]:
    """One row for each host: cores, clock, and the paths whose costs are known."""
    found = []
    for name in catalog.hosts():
        document = catalog.host(name)
        found.append(
            {
                "name": document["name"],
                "title": document["title"],
                "cores": document["cores"]["value"],
                "clock_hz": document["clock_hz"]["value"],
                "paths": sorted(document["costs"]),
            }
        )
    return found
