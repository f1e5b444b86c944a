"""From fits to the kinds of access of a twin: what the grid holds, and what follows where it ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from assay.twin.document import Table, curve, parameter
from assay.twin.fit_grid import Fit, HeldOut
from assay.twin.grid_model import Size

# An access from here on lies on whole interleaved pages.
_PAGE = 4096.0
_LARGEST = 16384.0


@dataclass(frozen=True)
class Origin:
    """Where the figures come from."""

    kind: str
    source: str
    date: str


@dataclass(frozen=True)
class Known:
    """Fits by kind of access and what they say of points they did not see."""

    fits: Mapping[str, Fit]
    held_out: Mapping[str, HeldOut | None]


def operations(known: Known, origin: Origin, scale: Callable[[str, float], float] | None = None) -> Table:
    """All kinds of access as tables of a document; `scale(kind, size)` multiplies the capacity of a module."""
    sizes = {name: dict(fit.sizes) for name, fit in known.fits.items()}
    shapes = dict(known.fits)
    notes = _extend(sizes, shapes)
    return {
        name: _operation(name, sizes[name], shapes[name], known, origin, notes.get(name, ""), scale) for name in sizes
    }


def _extend(sizes: dict[str, dict[float, Size]], fits: dict[str, Fit]) -> dict[str, str]:
    """Adds the sizes that a grid does not hold; returns what was done, by kind."""
    notes = {}
    if "random_read" in sizes and "sequential_read" in sizes:
        here = sizes["random_read"]
        here |= {size: each for size, each in sizes["sequential_read"].items() if size >= _PAGE and size not in here}
        notes["random_read"] = "from 4 KiB on as sequential reads, because prefetching ends at a page"
    if "sequential_nt" in sizes:
        notes["sequential_nt"] = _longer(sizes["sequential_nt"])
    if "random_nt" in sizes and "sequential_nt" in sizes:
        here = sizes["random_nt"]
        here |= {size: each for size, each in sizes["sequential_nt"].items() if size > max(here)}
        notes["random_nt"] = "beyond 256 B as sequential stores, because whole granules do not merge"
    if "random_clwb" in sizes:
        notes["random_clwb"] = _longer(sizes["random_clwb"])
        if "sequential_clwb" not in sizes:
            fits["sequential_clwb"], sizes["sequential_clwb"] = fits["random_clwb"], _merged(sizes["random_clwb"])
            notes["sequential_clwb"] = "as random stores, but lines of 64 B merge in the module's buffer"
    return notes


def _longer(sizes: dict[float, Size]) -> str:
    """Beyond the largest size a thread's time grows as between the last two, and the modules do as at the last."""
    (small, first), (large, last) = sorted(sizes.items())[-2:]
    slope = (large / last.thread_bytes_per_s - small / first.thread_bytes_per_s) / (large - small)
    for size in (_PAGE, _LARGEST):
        seconds = large / last.thread_bytes_per_s + slope * (size - large)
        sizes[size] = Size(size / seconds, last.module_bytes_per_s, last.floor, last.onset_threads, last.decay_threads)
    return f"beyond {large:.0f} B the time of a thread grows as between {small:.0f} and {large:.0f} B"


def _merged(sizes: Mapping[float, Size]) -> dict[float, Size]:
    whole = sizes[256.0]
    return {
        size: Size(
            each.thread_bytes_per_s,
            max(each.module_bytes_per_s, whole.module_bytes_per_s),
            whole.floor,
            whole.onset_threads,
            whole.decay_threads,
        )
        for size, each in sizes.items()
    }


def _operation(
    name: str,
    sizes: Mapping[float, Size],
    fit: Fit,
    known: Known,
    origin: Origin,
    note: str,
    scale: Callable[[str, float], float] | None,
) -> Table:
    source = origin.source + (f"; {note}" if note else "")
    held = known.held_out.get(name)
    residual = {} if held is None else {"residual": held.median}

    def over(pick: Callable[[Size], float], times: Callable[[str, float], float] | None = None) -> Table:
        points = {size: pick(each) * (times(name, size) if times else 1.0) for size, each in sizes.items()}
        return curve(points, origin.kind, source, origin.date, **residual)

    def one(value: float) -> Table:
        return parameter(value, origin.kind, source, origin.date, **residual)

    shape = fit.shape
    table: Table = {
        "thread_bytes_per_s": over(lambda size: size.thread_bytes_per_s),
        "module_bytes_per_s": over(lambda size: size.module_bytes_per_s, scale),
        "sharpness": one(shape.sharpness),
        "sharpness_fall": one(shape.sharpness_fall),
        "thread_gain": one(shape.thread_gain),
    }
    if shape.knee_threads < float("inf"):
        table["knee_threads"] = parameter(
            shape.knee_threads, "assumed", "Grids step from 16 to 32 threads; cores lie between", origin.date
        )
        table["beyond_knee_share"] = one(shape.beyond_knee_share)
    table["collapse"] = {
        "floor": over(lambda size: size.floor),
        "onset_threads": over(lambda size: size.onset_threads),
        "decay_threads": over(lambda size: size.decay_threads),
    }
    return table
