"""In which state a volume was measured: initialised, cached, collected. What cannot be told is said to be unknown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from assay.passport import figures
from assay.passport.document import HealthAnswer, VolumeState
from assay.results import group, labels, pick
from assay.results.row import Row
from assay.twin import fit_knee
from assay.units import show

FIRST = "passport-first"
"""The study that writes places for the first time, and again."""


def of(rows: Sequence[Row], capacity_bytes: int) -> VolumeState:
    """All three answers."""
    return VolumeState(initialised=_initialised(rows), cached=_cached(rows), collected=_collected(rows, capacity_bytes))


def _initialised(rows: Sequence[Row]) -> HealthAnswer:
    reading = [one for one in pick.lone(rows) if not pick.does(one, "write")]
    if not reading or _having(rows, "unwritten-extents"):
        return HealthAnswer(answer="no", why="Extents that were never written were read.")
    layouts = {pick.layout(one) for one in reading}
    first, again = (_place(rows, word) for word in ("first", "again"))
    numbers = {"first_write_bytes_per_s": first, "again_bytes_per_s": again} if first and again else {}
    said = f" First writes ran at {show.times(first / again)} the rate of writing again." if first and again else ""
    if layouts == {"written"}:
        return HealthAnswer(answer="yes", why=f"All that was read had been written by the run.{said}", numbers=numbers)
    return HealthAnswer(answer="unknown", why=f"Data was read as it was found.{said}", numbers=numbers)


def _place(rows: Iterable[Row], word: str) -> float | None:
    """Bandwidth of writing a place for the first time, or again."""
    there = [one for one in rows if one.cell.study == FIRST and one.cell.factors.get("place") == word]
    found = group.point(there, "bandwidth")
    return found.value if found is not None else None


def _cached(rows: Sequence[Row]) -> HealthAnswer:
    for code, answer in (("page-cache-served", "page cache"), ("memory-beneath", "memory beneath the file system")):
        if found := _having(rows, code):
            return HealthAnswer(answer=f"yes: {answer}", why=found)
    if found := _having(rows, "file-smaller-than-caches"):
        return HealthAnswer(answer="possibly: a cache of the device", why=found)
    reading = [one for one in pick.lone(rows) if not pick.does(one, "write")]
    if reading and all(pick.cache(one) == "bypassed" for one in reading):
        return HealthAnswer(answer="no", why="Reads went past the page cache.")
    return HealthAnswer(answer="unknown", why="Reads went through the page cache.")


def _having(rows: Iterable[Row], code: str) -> str:
    """Evidence of the first verdict with a reason; empty where none has it."""
    reasons = (reason for one in rows for reason in one.record["verdict"].get("reasons") or ())
    return next((str(reason.get("evidence")) for reason in reasons if reason.get("code") == code), "")


def _collected(rows: Sequence[Row], capacity_bytes: int) -> HealthAnswer:
    """A fall shows that the drive had room to be fast in; no fall shows nothing before all of it is overwritten."""
    series = next((one.result.get("intervals") or [] for one in rows if figures.sustains(one)), [])
    found = fit_knee.find(series)
    if found is None:
        return HealthAnswer(answer="unknown", why="Writing without a pause was not measured for long enough to tell.")
    numbers = {
        "written_bytes": found.written_bytes,
        "early_bytes_per_s": found.early_bytes_per_s,
        "late_bytes_per_s": found.late_bytes_per_s,
    }
    share = found.written_bytes / capacity_bytes if capacity_bytes else 0.0
    if found.knee_bytes is not None:
        why = f"It was fast at first: {found.told()}."
        return HealthAnswer(answer="fresh, or buffered", why=why, numbers=numbers | {"knee_bytes": found.knee_bytes})
    if share >= 1:
        return HealthAnswer(
            answer="collected", why=f"{labels.sentence(found.told())[:-1]}, more than it holds.", numbers=numbers
        )
    why = f"{labels.sentence(found.told())[:-1]}, which is {show.percent(share)} of it; a fall may come after more."
    return HealthAnswer(answer="unknown", why=why, numbers=numbers)
