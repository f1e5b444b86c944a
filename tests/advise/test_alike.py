"""Advice compares like with like, prints no factor whose band spans one, and is silent where it has nothing."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from assay import advise
from assay.advise import Advice
from assay.advise.facts import RuleFacts
from assay.advise.rules.bottleneck import path_class
from assay.results import folder as results
from report.synthetic import folder, studies

from advise.folders import Bench, append, mixed, read, scan

KINDS = [
    "depth_curve", "rates", "scan", "log", "cache", "htap", "ladder", "pages", "long_run", "sizes", "everything",
    "noise", "other-depths", "two-places",
]  # fmt: skip


def made(kind: str, directory: Path) -> Path:
    """A result folder of one kind."""
    if kind in ("noise", "other-depths", "two-places"):
        return bench_of(kind, Bench(directory))
    found = getattr(studies, kind)()
    return folder.write(directory, found if isinstance(found, list) else [found])


def bench_of(kind: str, bench: Bench) -> Path:
    luck = random.Random(7)  # noqa: S311
    if kind == "noise":
        for _ in range(3):
            for layout in ("grow", "written"):
                bench.add(append(1000 * luck.uniform(0.5, 2.0)), "logs", layout=layout)
            for path in ("pread", "io_uring+direct"):
                bench.add(scan(1000 * luck.uniform(0.4, 2.5), path, 1), "scans", cache="cold")
            bench.add(mixed(1000 * luck.uniform(0.5, 2.0), "mmap", "msync"), "pages")
            bench.add(mixed(1000 * luck.uniform(0.5, 2.0), "pread", "fdatasync"), "pages")
    elif kind == "other-depths":
        bench.add(read(1000, path="mmap"), "buffer", cache="cold")
        bench.add(read(300_000, depth=64), "depth")
    else:
        for number in range(2):
            bench.add(read(1000 * (1 + 30 * number), depth=1), f"study-{number}")
    return bench.done()


def pieces(directory: Path) -> list[Advice]:
    return advise.of(RuleFacts(results.read(directory)))


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_advised_is_shown_and_a_band_that_spans_one_gives_no_factor(kind: str, tmp_path: Path) -> None:
    for one in pieces(made(kind, tmp_path / "results")):
        if one.outcome == "advised" and one.gain is not None:
            assert one.gain.low > 1, one.rule
        if one.gain is not None and one.gain.spans_one:
            assert one.outcome != "advised", one.rule
            assert one.gain.said.startswith("not shown"), one.rule
        if one.outcome == "no evidence" and one.gain is None:
            assert not one.evidence, one.rule


@pytest.mark.parametrize("kind", KINDS)
def test_the_bottleneck_is_found_among_what_was_asked_the_same(kind: str, tmp_path: Path) -> None:
    directory = made(kind, tmp_path / "results")
    facts = RuleFacts(results.read(directory))
    found = next(one for one in pieces(directory) if one.rule == "bottleneck")
    rows = [row for row in facts.rows if row.cell.id in found.records]
    if found.gain is None:
        return
    for name in ("study", "on", "pattern", "size", "threads", "depth"):
        assert len({repr(row.dimension(name)) for row in rows}) == 1, name
    assert len({path_class(row) for row in rows}) == 1


def test_one_read_by_mmap_is_not_held_against_sixty_four_by_io_uring(tmp_path: Path) -> None:
    """It was advice number one: 36 to 329 times, the least over all paths and depths against the most."""
    found = next(one for one in pieces(made("other-depths", tmp_path / "results")) if one.rule == "bottleneck")
    assert found.outcome == "no evidence"
    assert found.gain is None
