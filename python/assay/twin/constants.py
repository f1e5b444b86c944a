"""Where the constants of the catalog's twins and hosts come from: `python -m assay.twin.constants` prints the table.

A constant is counted once, in the file that states it. What a file takes over from another (`like`) is an assumption of
that file, and is counted beside it.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator

from assay import home
from assay.document import limits
from assay.target import catalog
from assay.untyped import Json

KINDS = ("measured", "published", "fitted", "datasheet", "derived", "assumed")
_FOLDERS = ("twins", "classes", "hosts")


def stated() -> Counter[str]:
    """Constants of all files by kind, each in the file that states it."""
    kinds: Counter[str] = Counter()
    for path in sorted(path for folder in _FOLDERS for path in (home.catalog() / folder).glob("*.toml")):
        document = limits.toml(path.read_text(encoding="utf-8"), str(path))
        kinds.update(one["kind"] for _, one in catalog.parameters(document))
    return kinds


def used() -> Counter[str]:
    """Constants that twins and hosts are played with, what they take over included."""
    documents = [*catalog.everything(), *(catalog.host(name) for name in catalog.hosts())]
    return Counter(one["kind"] for document in documents for _, one in catalog.parameters(document))


def from_records() -> list[str]:
    """Twins whose own rates were measured by somebody: published or fitted, and not promised or assumed."""
    return [document["name"] for document in catalog.everything() if _is_from_records(document["device"])]


def _is_from_records(device: Json) -> bool:
    kinds = Counter(one["kind"] for _, one in _rates(device.get("drive", device)))
    seen = kinds["measured"] + kinds["published"] + kinds["fitted"]
    return seen > 0.5 * kinds.total()


def _rates(device: Json) -> Iterator[tuple[str, Json]]:
    """Constants that say how much a second, or how long an operation takes."""
    return ((place, one) for place, one in catalog.parameters(device) if place.endswith(("_per_s", "_iops")))


def main() -> int:
    """Prints both counts."""
    here, there = stated(), used()
    sys.stdout.write("| kind | stated in the files | as twins are played |\n| --- | --- | --- |\n")
    for kind in KINDS:
        sys.stdout.write(f"| {kind} | {_share(here, kind)} | {_share(there, kind)} |\n")
    sys.stdout.write(f"{len(from_records())} of {len(catalog.twins())} twins have most rates from measurements.\n")
    return 0


def _share(kinds: Counter[str], kind: str) -> str:
    return f"{kinds[kind]} ({kinds[kind] / kinds.total():.0%})"


if __name__ == "__main__":
    sys.exit(main())
