"""What `assay soak` does and says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from assay.cli import executors, output
from assay.cli.executors import ExecutorWish
from assay.error import BAD_JOB, DONE, FAILED, AssayError, did_you_mean
from assay.soak import lanes
from assay.soak.lanes import SoakResult
from assay.soak.rounds import ENGINE, SoakOrder
from assay.untyped import Json


def run(order: SoakOrder, stores: Sequence[str], wish: ExecutorWish, as_json: bool) -> int:
    """Kills and looks; returns the exit code."""
    if order.store not in stores:
        raise AssayError(f"there is no store `{order.store}`", hint=did_you_mean(order.store, stores), code=BAD_JOB)
    with executors.executor(wish) as by:
        if by is None or by.here:
            order = replace(order, places={role: _folder(Path(place)) for role, place in order.places.items()})
        found = lanes.soak(order, by, (lambda _: None) if as_json else output.tell)
    if as_json:
        output.emit(_document(order, found))
    else:
        output.say(_sentence(order, found))
    return DONE if found.whole else FAILED


def _folder(place: Path) -> str:
    if not place.is_dir():
        raise AssayError(f"{place} is no folder", hint="name a folder that exists", code=BAD_JOB)
    return str(place.resolve())


def _document(order: SoakOrder, found: SoakResult) -> Json:
    """What `--json` prints."""
    engine = order.store == ENGINE
    return {
        "store": order.store,
        "durability": order.durability if engine else None,
        "logs": (order.logs or 1) if engine else None,
        "passed": found.whole,
        "kills": found.kills,
        "stores": found.stores,
        "seed": order.seed,
        "threads": order.threads,
        "kept": found.kept,
        **found.finding,
    }


def _sentence(order: SoakOrder, found: SoakResult) -> str:
    """The same for people."""
    beside = f" on {found.stores} stores" if found.stores > 1 else ""
    turns = f"{found.finding['turns']} turns acknowledged by {order.threads} threads"
    said = f"{order.store}: {found.kills} kills{beside}, {turns}" + (" each" if beside else "")
    if found.whole:
        return f"{said}; nothing was lost, nothing is half there. Its structure: {found.finding['structure']}."
    [one] = found.finding["datasets"]
    counts = f"{one['lost']} LOST, {one['corrupt']} CORRUPT: {'; '.join(one['examples'])}"
    return f"{said}; {counts}. What shows it is kept in {', '.join(found.kept)}."
