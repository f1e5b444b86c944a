"""The twins of cloud instances in the catalog, made from what was measured of their drives and what vendors state.

`python -m assay.twin.instance_catalog` writes them, with `--check` it only compares.

Every number has its source beside it; what is computed here is computed from those.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

from assay.home import catalog
from assay.twin import instance_table
from assay.twin.document import Table, parameter, to_toml
from assay.twin.instance_table import Instance, amplification, instances, misses, width

_STATED = "Cloudspecs (TUM-DIS/cloudspecs, static/cloudspecs.duckdb), snapshot of vendors' figures"
_STATED_DATE = "2026-07-22"
_IOTUNE = "iotune in two minutes on a fresh drive: scylladb/scylla-machine-image at f25b2c5, common/*_io_params.yaml"
_IOTUNE_DATE = "2026-06-11"
_HERE = "2026-11"
_READ_NS = 60_000.0
_DIES = "ceil(2.1 * read_iops * read_ns), at least 8: so many that the rate of reads, not the dies, is the limit"
_PROGRAM = "NVMeVirt, ssd_config.h, constants of the WD ZN540, a TLC drive of the same generation (commit 0079376)"
_SUSPEND = "MQSim, ssdconfig.xml, Suspend_Program_Time (commit 0d76b1d); the drive's own is not published"
_SPREAD = "Spread of a model of this family on published points that it was not fitted to"
# What no file of an instance states for itself stands in `classes` once.
CLASS = "local-flash"
_VENDORS = {"aws": "AWS", "azure": "Azure"}


def documents() -> dict[str, Table]:
    """Every twin of an instance by name."""
    return {one.twin: _document(one) for one in instances()}


def _document(one: Instance) -> Table:
    return {
        "version": 1,
        "name": one.twin,
        "title": f"{_VENDORS[one.cloud]} {one.name}, {one.drives} local drive{'s' if one.drives > 1 else ''}",
        "like": CLASS,
        "capacity_bytes": parameter(round(one.local_bytes), "datasheet", _STATED, _STATED_DATE),
        "notes": _notes(one),
        "device": {
            "family": "cloud-instance",
            "drives": parameter(one.drives, "datasheet", _STATED, _STATED_DATE),
            "vcpus": parameter(round(one.vcpus), "datasheet", _STATED, _STATED_DATE),
            "read_iops": _rate(one, "read_iops", one.drives),
            "write_iops": _rate(one, "write_iops", one.drives),
            "drive": _drive(one),
        },
        "bounds": {
            "size_bytes": [512, 1048576],
            "in_flight": [1, 1024 * one.drives],
            "write_percent": [0, 100],
            "duration_s": [0, 86400],
        },
        "band": _band(),
    }


def _notes(one: Instance) -> list[str]:
    share = instance_table.collected_share()
    said = (
        "Rates are those of a fresh drive. Writes at random in the steady state are collected: "
        f"{share:.2f} of the fresh ones by rule, known of one drive alone (i4i.4xlarge, 94,000 to 112,000 a second)"
    )
    return [said] + ([] if one.is_seen else [f"Nobody measured this size: its drives are those of {one.row}"])


def _rate(one: Instance, name: str, drives: int = 1) -> Table:
    """A rate of a drive, or of all drives together."""
    value = getattr(one.each, name) * drives
    words = f"{_IOTUNE}, {one.row}"
    if one.is_seen:
        return parameter(value, "published", words, _IOTUNE_DATE)
    return parameter(value, "fitted", f"{words}: drives of this size are taken for the same", _IOTUNE_DATE)


def _assumed(value: float, source: str, **more: float) -> Table:
    return parameter(value, "assumed", source, _HERE, **more)


def _drive(one: Instance) -> Table:
    quick = _rate(one, "write_bytes_per_s")
    return {
        "dies": parameter(_dies(one), "derived", _DIES, _IOTUNE_DATE, low=_dies(one) // 2, high=3 * _dies(one)),
        "read_iops": _rate(one, "read_iops"),
        "write_iops": _rate(one, "write_iops"),
        "read_bytes_per_s": _rate(one, "read_bytes_per_s"),
        "write_bytes_per_s": quick,
        "sustained_bytes_per_s": quick,
        "collection": _collection(one),
    }


def _dies(one: Instance) -> int:
    """Dies that can sense as many pages a second as the drive reads: twice as many, as flash is never evenly busy."""
    return max(8, math.ceil(2.1 * one.each.read_iops * _READ_NS / 1e9))


def local_flash() -> Table:
    """What is taken for every local drive of a cloud: nobody publishes what lies beneath a vendor's controller."""
    return {
        "version": 1,
        "name": CLASS,
        "title": "A local flash drive behind a cloud vendor's own controller",
        "device": {
            "drive": {
                "read_delay_ns": _assumed(
                    30000, "Local flash behind the vendor's own controller", low=10000, high=50000
                ),
                "read_ns": _assumed(_READ_NS, "Sense of TLC", low=40000, high=90000),
                "page_bytes": _assumed(16384, "Page size of 3D flash dies", low=8192, high=32768),
                "read_range": _assumed(
                    0.2, "Three bits in a cell; how far its pages differ is not published", low=0.1, high=0.6
                ),
                "program_ns": parameter(561000, "published", _PROGRAM, "2024-01", low=400000, high=1000000),
                "suspend_ns": parameter(100000, "published", _SUSPEND, "2022-10", low=30000, high=500000),
                "channel_bytes_per_s": _assumed(
                    8e8, "Channel rate of NVMeVirt's 970 PRO, taken for this drive", low=4e8, high=2.4e9
                ),
                "buffer_bytes": _assumed(16777216, "Not published"),
                "write_latency_ns": _assumed(25000, "Class of the drive", low=12000, high=60000),
                "flush": _flush(),
            }
        },
        "band": {"latency": _assumed(0.3, _SPREAD), "tail": _assumed(1.5, _SPREAD)},
    }


def _collection(one: Instance) -> Table:
    known = amplification(one.family)
    fresh = known * instance_table.collected_share()
    words = (
        f"Bytes written in order over those written at random ({_IOTUNE}), over the share that collected writes of an "
        "i4i.4xlarge have of its fresh ones (94,000 in scylladb/scylladb issue 13477, elsewhere 112,000)"
    )
    return {
        "write_amplification": parameter(known, "fitted", words, _IOTUNE_DATE, low=fresh, high=2 * known),
    }


def _flush() -> Table:
    safe = "Drives of this class protect their buffer from loss of power"
    return {
        "power_loss_protection": _assumed(1, safe),
        "base_ns": parameter(
            20000,
            "published",
            "Haas, Haubenschild, Leis, CIDR 2020: fdatasync of an enterprise drive takes about 20 us; here too",
            "2020-01",
            low=5000,
            high=40000,
        ),
    }


def _band() -> Table:
    words = (
        f"Conformal at {instance_table.COVERED:.0%}: {len(misses())} rates of sizes that were taken from those beside "
        "them in their family"
    )
    return {"bandwidth": parameter(width(), "fitted", words, _IOTUNE_DATE)}


def main(arguments: list[str]) -> int:
    """Writes the twins into the catalog, or says which differ with `--check`."""
    wrong = 0
    for path, text in files().items():
        if "--check" in arguments:
            wrong += not path.is_file() or path.read_text(encoding="utf-8") != text
        else:
            path.write_text(text, encoding="utf-8")
    return 1 if wrong else 0


def files() -> dict[Path, str]:
    """Every file that is made here, with its text."""
    made = {catalog() / "twins" / f"{name}.toml": to_toml(document) for name, document in documents().items()}
    return {catalog() / "classes" / f"{CLASS}.toml": to_toml(local_flash())} | made


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
