"""The rooms where a wrong figure is born, and the tests that must notice."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


@dataclass(frozen=True)
class Room:
    """Files of Python, as patterns below `python/assay`, and the tests of them, folders or files below `tests`.

    `without` are tests that take seconds, by how their names begin: every mutant that survives would wait for them, and
    a quick test should notice what they notice.
    """

    name: str
    patterns: tuple[str, ...]
    tests: tuple[str, ...]
    without: tuple[str, ...] = ()

    def files(self) -> list[str]:
        """Its files, from the root of the checkout."""
        found = {path for pattern in self.patterns for path in (ROOT / "python" / "assay").glob(pattern)}
        return sorted(str(path.relative_to(ROOT)) for path in found)


@dataclass(frozen=True)
class Crate:
    """Files of a crate, and the tests that must notice: programs (`--lib`, `--test NAME`), a part of their names."""

    name: str
    package: str
    files: tuple[str, ...]
    tests: tuple[str, ...]


ROOMS = (
    Room(
        "statistics",
        ("stats/*.py", "results/interval.py", "results/bound.py"),
        ("stats", "results", "compare/test_core.py"),
    ),
    Room("units", ("units/*.py",), ("units",)),
    Room("comparisons", ("compare/*.py",), ("compare", "stats")),
    Room(
        "prices",
        ("price/*.py", "price/choose/*.py"),
        ("price",),
        (
            "price/test_cli.py::test_choose",
            "price/test_cli.py::test_a_choice",
            "price/test_choose.py::test_every_instance_that_lost",
            "price/test_choose.py::test_clouds_whose_volumes",
        ),
    ),
    Room("advice", ("advise/rules/*.py",), ("advise",), ("advise/test_alike.py", "advise/test_cli.py")),
)

CRATES = (
    Crate("histograms and percentiles", "assay-instruments", ("tally.rs", "distribution.rs", "series.rs"), ("--lib",)),
    Crate("arrivals and what is overdue", "assay-load", ("arrivals.rs", "overdue.rs"), ("--lib",)),
    Crate("steadiness", "assay-instruments", ("steady.rs", "steady/*.rs"), ("--lib", "--test", "steadiness")),
    Crate("verdicts", "assay-instruments", ("verdict/*.rs", "work/verdict.rs"), ("--lib", "--test", "verdicts")),
    Crate("log records", "assay-engine", ("log/record.rs", "log/reader.rs", "log/merge.rs"), ("--lib", "log::")),
    Crate("recovery", "assay-engine", ("recovery.rs",), ("--lib", "recovery::")),
    Crate("guards", "assay-path", ("guard/*.rs",), ("--lib", "guard::")),
)
