"""How often published figures that no twin was fitted to lie in the band, by kind of question; and bands from them.

`python -m assay.claim.coverage` writes `catalog/bands.toml`, the least bands by kind of question.

A width is that of split conformal prediction: of n misses the one of rank ceil(0.9 (n + 1)). What is left out is a
group at a time: a table of a study, a drive, a family of instances. Coverage counts figures of a group against widths
from all other groups.
"""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from assay.binary import Binary
from assay.claim import judge
from assay.claim.model import ClaimStudy, Run, known
from assay.claim.reproduce import reproduce
from assay.claim.take import names
from assay.executor.work import SerialExecutor, WorkExecutor
from assay.home import catalog
from assay.target import catalog as devices
from assay.target import names as targets
from assay.twin import beside_file, fit_load, instance_table, load_file, random_reads_file
from assay.twin.document import Table, parameter, to_toml
from assay.units.parse import parse_bytes
from assay.untyped import Json

COVERED = 0.9
SEVERAL, PAGE_CACHE, MIX = "several loads", "page cache", "reads and writes of one load"
ONE, RATIO, CPU = "one load", "ratio of two runs", "CPU"
GRANULES, CALLS = "one load of granules on memory", "one load by calls or of lines on memory"
DRAM_ONE, UNLIKE = "one load on DRAM", "printed of another set-up"
MEMORY = "readers beside writers on memory"
LOADED, TAIL = "median beside writes", "tail beside writes"
INSTANCE = "rates of another size of instance"
# In the file of bands each has its key.
JOINED = {"several": SEVERAL, "page_cache": PAGE_CACHE, "mix": MIX}
# Memory has no page cache before it; the key is there because each twin's table has the same ones.
ON_MEMORY = {"several": MEMORY, "page_cache": PAGE_CACHE, "mix": MIX, "granules": GRANULES, "calls_or_lines": CALLS}
# A kind of too few figures has the width of several loads, or of all single ones on persistent memory together.
ALONE = (GRANULES, CALLS)
# Fewer figures than this in other groups are no base for a width.
FIGURES_AT_LEAST = 8
# What modules of persistent memory read and write at once.
GRANULE_BYTES = 256
# No band is wider: half to double says that nothing is known.
WIDEST = 1.0


@dataclass(frozen=True)
class CoveredFigure:
    """A published figure that nothing was fitted to, beside what a twin gave."""

    kind: str
    group: str
    miss: float
    """Logarithm of modelled over published; 0 inside a published range."""
    width: float
    """Relative half-width of the twin's own band."""
    drive: bool = True

    @property
    def inside(self) -> bool:
        """It lies in the twin's own band."""
        return abs(self.miss) <= math.log1p(self.width) + 1e-9


def figures(executor: WorkExecutor | None = None) -> list[CoveredFigure]:
    """All of them: of the studies, of drives under load, of instances, of memory; by `executor`, or by this process."""
    drives = [{"of": "drive", "name": name} for name in load_file.drives(_loads())]
    return _computed([*_studies(), *drives, {"of": "sizes"}, {"of": "memory"}], executor)


def of_bands(executor: WorkExecutor | None = None) -> list[CoveredFigure]:
    """Those that the bands are made of."""
    return _computed([*_studies(), {"of": "memory"}], executor)


def _studies() -> list[Json]:
    return [{"of": "study", "name": name} for name in known()]


def _computed(orders: Sequence[Json], executor: WorkExecutor | None) -> list[CoveredFigure]:
    return [CoveredFigure(**one) for found in (executor or SerialExecutor()).do(counted, orders) for one in found]


def counted(order: Json) -> list[Json]:
    """The figures of one study, of one drive, of instances or of memory: a piece of the work, for whoever computes."""
    if order["of"] == "study":
        found = published(order["name"])
    elif order["of"] == "drive":
        found = under_load(order["name"])
    else:
        found = other_sizes() if order["of"] == "sizes" else beside()
    return [asdict(one) for one in found]


def published(name: str) -> Iterator[CoveredFigure]:
    """What a study published and twins predict."""
    found = reproduce(name)
    for outcome in judge.predicted(found.outcomes):
        if outcome.modelled is not None and outcome.error is not None and outcome.error > -1.0:
            runs = [found.study.runs[run] for run in _runs(outcome.claim.take)]
            kind = kind_of(outcome, found.study, runs)
            drive = not any(_family(found.study, run) in devices.MEMORY_FAMILIES for run in runs)
            yield CoveredFigure(kind, outcome.claim.id, math.log1p(outcome.error), outcome.modelled.width, drive)


def _runs(take: str) -> list[str]:
    return list(dict.fromkeys(name.split(".", maxsplit=1)[0] for name in names(take)))


def _family(study: ClaimStudy, run: Run) -> str:
    return targets.family(targets.target(study.machines[run.machine].on))


def kind_of(outcome: judge.JudgedClaim, study: ClaimStudy, runs: Sequence[Run]) -> str:
    """The kind of question that a figure answers: the first that applies."""
    claim, families = outcome.claim, {_family(study, run) for run in runs}
    on_drives = not families & set(devices.MEMORY_FAMILIES)
    if claim.unlike:
        return UNLIKE
    if claim.metric == "CPU":
        return CPU
    if claim.unit == "-":
        return RATIO
    if any(len(run.streams) > 1 for run in runs):
        return SEVERAL
    if on_drives and any(run.path in ("pread", "mmap", "io_uring+buffered") for run in runs):
        return PAGE_CACHE
    if any(study.stream(run, alias).op == "mix" for run in runs for alias in run.streams):
        return MIX
    if on_drives:
        return ONE
    if "pmem" not in families:
        return DRAM_ONE
    return CALLS if any(_by_calls_or_of_lines(study, run) for run in runs) else GRANULES


def _by_calls_or_of_lines(study: ClaimStudy, run: Run) -> bool:
    """As `calls_or_lines` of a twin's bands has it."""
    sizes = [study.stream(run, alias).size for alias in run.streams] + list(run.sweep.get("size", ()))
    return run.path != "pmem" or any(size and parse_bytes(str(size)) < GRANULE_BYTES for size in sizes)


def _loads() -> Path:
    """Published latencies under load."""
    return catalog() / "published" / "ssd-under-load.csv"


def under_load(drive: str) -> Iterator[CoveredFigure]:
    """Latencies of a drive beside writes, at every second rate, of a twin that was fitted to the others."""
    table, binary = _loads(), Binary.find()
    title, rows = load_file.read(table, drive)
    chosen = ",".join(f"{row.asked:.0f}" for row in rows[::2])
    twin = fit_load.fit_table(table, drive, chosen, {}, "left-out", binary)
    others, _ = fit_load.check(twin, table, drive, binary)
    for row in others:
        if row.figure.startswith("read"):
            kind = LOADED if row.figure.endswith("p50") else TAIL
            yield CoveredFigure(kind, title, math.log(row.predicted / row.published), row.width)


def other_sizes() -> Iterator[CoveredFigure]:
    """Rates of instances, each taken from the sizes beside it."""
    for family, miss in instance_table.left_out():
        yield CoveredFigure(INSTANCE, family, miss, instance_table.width())


def beside() -> Iterator[CoveredFigure]:
    """Readers beside writers on one module, where the model was fitted to two and more; reads of another machine."""
    for row in beside_file.read():
        if row.modules == beside_file.LEFT_OUT:
            value, width = beside_file.answer(row)
            yield CoveredFigure(MEMORY, "one module", math.log(value / row.bytes_per_s), width, drive=False)
    for read in random_reads_file.read():
        kind = CALLS if read.size_bytes < GRANULE_BYTES else GRANULES
        yield CoveredFigure(kind, "six modules", math.log(read.modelled / read.published), read.width, drive=False)


def width_of(misses: Iterable[float]) -> float | None:
    """The width that holds nine of ten; none where there are too few to tell."""
    ordered = sorted(abs(miss) for miss in misses)
    if len(ordered) < FIGURES_AT_LEAST:
        return None
    rank = math.ceil(COVERED * (len(ordered) + 1))
    return min(WIDEST, _up(math.expm1(ordered[min(rank, len(ordered)) - 1])))


def _up(width: float) -> float:
    """Four digits, as the file has them, upwards: the figure that made the width lies within it."""
    return math.ceil(width * 1e4) / 1e4


@dataclass(frozen=True)
class CoverageRow:
    """A kind of question: how far off, and how often inside."""

    kind: str
    figures: int
    groups: int
    median: float
    p90: float
    inside: float
    conformal: float | None
    left_out: float | None
    """Inside of widths from the other groups; none where those are too few."""


def rows(found: Sequence[CoveredFigure]) -> list[CoverageRow]:
    """By kind, and all together."""
    kinds = list(dict.fromkeys(figure.kind for figure in found))
    return [_row(kind, [figure for figure in found if figure.kind == kind]) for kind in kinds] + [_row("all", found)]


def _row(kind: str, found: Sequence[CoveredFigure]) -> CoverageRow:
    errors = sorted(math.expm1(abs(figure.miss)) for figure in found)
    hits = list(_left_out(found)) if kind != "all" else []
    return CoverageRow(
        kind=kind,
        figures=len(found),
        groups=len({figure.group for figure in found}),
        median=statistics.median(errors),
        p90=errors[min(len(errors) - 1, int(0.9 * len(errors)))],
        inside=sum(figure.inside for figure in found) / len(found),
        conformal=width_of(figure.miss for figure in found) if kind != "all" else None,
        left_out=sum(hits) / len(hits) if hits else None,
    )


def _left_out(found: Sequence[CoveredFigure]) -> Iterator[bool]:
    """Whether each figure lies within the width that all other groups make."""
    for group in dict.fromkeys(figure.group for figure in found):
        width = width_of(figure.miss for figure in found if figure.group != group)
        if width is not None:
            yield from (abs(figure.miss) <= math.log1p(width) for figure in found if figure.group == group)


def bands(found: Sequence[CoveredFigure]) -> Table:
    """The file of bands: of drives, and of persistent memory, by kind of question."""
    sections = {"drives": (JOINED, True), "pmem": (ON_MEMORY, False)}
    made = {
        name: _section([figure for figure in found if figure.drive == drive], kinds)
        for name, (kinds, drive) in sections.items()
    }
    return {"version": devices.VERSION, **made}


def _section(found: Sequence[CoveredFigure], kinds: Mapping[str, str]) -> Table:
    """Widths by key; a kind of too few figures has that of several loads, or of all single loads on memory."""
    made: Table = {}
    for key in ("several", *(key for key in kinds if key != "several")):
        misses = [figure.miss for figure in found if figure.kind == kinds[key]]
        width = width_of(misses)
        alone = [figure.miss for figure in found if figure.kind in ALONE]
        if width is None and kinds[key] in ALONE:
            words = f"Only {len(misses)} of the {len(alone)} published figures of one load: conformal over all of them"
            made[key] = parameter(width_of(alone) or WIDEST, "assumed", words, DATE)
            continue
        if width is None:
            words = f"Only {len(misses)} published figures that nothing was fitted to: as of several loads"
            made[key] = parameter(float(made["several"]["value"]), "assumed", words, DATE)
            continue
        words = f"Conformal at {COVERED:.0%} over {len(misses)} published figures that nothing was fitted to"
        made[key] = parameter(width, "fitted", words, DATE, residual=statistics.median(map(abs, misses)))
    return made


DATE = "2026-11"


def main() -> int:
    """Writes the bands into the catalog."""
    (catalog() / "bands.toml").write_text(to_toml(bands(of_bands())), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
