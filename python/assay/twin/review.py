"""What whoever writes a twin wants to know of the file: what holds, what is only assumed, what it does not reach."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator

from assay.target import catalog
from assay.twin.envelope import DEPTHS, Load, Reached, drive, reached
from assay.untyped import Json

# Rates that a file states, and the load that should come near them.
_STATED = {
    "read_iops": Load(),
    "read_bytes_per_s": Load(sequential=True, size_bytes=1 << 17, in_flight=64),
    "write_iops": Load("write", fresh=True),
    "write_bytes_per_s": Load("write", sequential=True, size_bytes=1 << 17, in_flight=64, fresh=True),
    "sustained_bytes_per_s": Load("write", sequential=True, size_bytes=1 << 17, in_flight=64),
    "mixed_iops": Load(read_percent=70.0),
}
# A twin that gives less than this share of what its file states says so.
_NEAR = 0.9
# Rounding of a fixed point is no fall.
_FALLS = 0.99


def review(name: str) -> Json:
    """Parameters by kind, those that are assumed without a range, stated rates that are not reached, and laws broken.

    Raises:
        AssayError: where there is no such twin, it is memory, or the program refuses the file.
    """
    twin = drive(name)
    stated = list(_stated(twin))
    found = [(place, one) for place, one in catalog.parameters(twin)]
    # Bands say how far off answers are, and are no property of the drive.
    counted = Counter(one["kind"] for place, one in found if not place.startswith("band"))
    bare = [place for place, one in found if one["kind"] == "assumed" and not ("low" in one or "high" in one)]
    return {
        "twin": twin["name"],
        "parameters": dict(sorted(counted.items())),
        "assumed_without_a_range": [place for place in bare if not place.startswith("band")],
        "stated": stated,
        "laws": [*_outside(found), *_falls(twin)],
    }


def _stated(twin: Json) -> Iterator[Json]:
    device = twin["device"]
    known = [name for name in _STATED if name in device]
    for name, one in zip(known, reached(twin, [_STATED[name] for name in known]), strict=True):
        gets = one.bytes_per_s if name.endswith("bytes_per_s") else one.ops_per_s
        share = gets / device[name]["value"]
        yield {"parameter": name, "stated": device[name]["value"], "reached": gets, "near": share >= _NEAR}


def _outside(found: list[tuple[str, Json]]) -> Iterator[str]:
    """A value lies in its own range."""
    for place, one in found:
        low, high = one.get("low", one["value"]), one.get("high", one["value"])
        if not low <= one["value"] <= high:
            yield f"{place} is {one['value']:g} and lies outside of its own range, {low:g} to {high:g}"


def _falls(twin: Json) -> Iterator[str]:
    """More in flight never gives less, and nobody is quicker than a lone request."""
    for words, load in (("reads", Load()), ("writes", Load("write"))):
        curve = reached(twin, [Load(load.operation, in_flight=depth) for depth in DEPTHS])
        yield from (_fall(words, one, other) for one, other in itertools.pairwise(curve) if _less(one, other))
        yield from (
            f"{words} with {one.load.in_flight} in flight are quicker ({one.mean_ns:.0f} ns) than a lone one"
            for one in curve
            if one.mean_ns < curve[0].mean_ns * _FALLS
        )


def _less(one: Reached, other: Reached) -> bool:
    return other.ops_per_s < one.ops_per_s * _FALLS


def _fall(words: str, one: Reached, other: Reached) -> str:
    return (
        f"{words}: {other.load.in_flight} in flight give {other.ops_per_s:,.0f}/s, and {one.load.in_flight} gave "
        f"{one.ops_per_s:,.0f}/s"
    )
