"""Studies of one drive over sizes of pages and requests, and over time."""

from __future__ import annotations

from assay.untyped import Json
from report.synthetic import drive
from report.synthetic.folder import Synthetic
from report.synthetic.record import Shape, Window, asked, reason


def pages() -> Synthetic:
    def model(factors: Json, _scenario: str) -> list[Shape]:
        return [drive.read_shape("read", "libaio+direct", factors["page_bytes"], depth=128)]

    metrics = (("throughput", "bandwidth_bytes_per_s"), ("cycles", "cycles_per_byte"), ("latency", "service_p50_ns"))
    figures: list[Json] = [
        {
            "id": name,
            "title": f"Page size and {name}",
            "kind": "line",
            "x": "page_bytes",
            "y": metric,
            "x_scale": "log",
            "y_scale": "linear",
        }
        for name, metric in metrics
    ]
    return Synthetic(
        "dana-page",
        "Page size",
        "Which page size feeds the drive and spares the CPU?",
        "Haas et al., CIDR 2020",
        {"page_bytes": [4096 << i for i in range(7)]},
        model,
        figures,
        window=Window(1.0, 0.1),
    )


def long_run() -> Synthetic:
    def model(_factors: Json, _scenario: str) -> list[Shape]:
        wanted = asked("write", path=drive.KINDS["io_uring+direct"], size=65536, operation={"kind": "write"}, depth=8)
        return [Shape("write", 7600, 1.0e6, wanted, levels=[(120.0, 1.0), (900.0, 0.38), (1200.0, 0.22)])]

    def reasons(_factors: Json, _scenario: str, _repeat: int) -> list[Json]:
        evidence = "Bandwidth fell from 498 to 189 MB/s after 120 s and stayed there."
        return [reason("steadiness-lost", "note", evidence, "Report both levels.", "write")]

    figures: list[Json] = [
        {
            "id": "series",
            "title": "A long run",
            "kind": "timeseries",
            "x": "at_s",
            "y": "bandwidth_bytes_per_s",
            "x_scale": "linear",
            "y_scale": "linear",
        },
    ]
    return Synthetic(
        "dana-long",
        "A long run of writes",
        "When is the write cache full, and what is left then?",
        "Haas et al., CIDR 2020",
        {},
        model,
        figures,
        window=Window(1200.0, 0.5),
        reasons=reasons,
    )


def sizes() -> Synthetic:
    def model(factors: Json, _scenario: str) -> list[Shape]:
        return [drive.read_shape("read", "pread+direct", factors["size"], threads=factors["threads"])]

    figures: list[Json] = [
        {
            "id": "map",
            "title": "Bandwidth by size and threads",
            "kind": "heatmap",
            "x": "size",
            "y": "bandwidth_bytes_per_s",
            "series": "threads",
            "x_scale": "linear",
            "y_scale": "linear",
        },
    ]
    return Synthetic(
        "lessons-size",
        "Request sizes",
        "Does this drive like small requests?",
        "Wu et al., DaMoN 2020",
        {"size": [512, 4096, 16384, 65536, 1 << 20], "threads": [1, 4, 16]},
        model,
        figures,
        window=Window(1.0, 0.1),
    )
