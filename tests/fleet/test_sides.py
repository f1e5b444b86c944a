"""Two runs of a fleet, compared host by host and together."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from assay.compare.comparison import compare
from assay.compare.error import CompareError
from assay.compare.judgement import Rules
from assay.fleet import sides
from commands import assay
from compare.folders import Made, write

REPEATS = 12
Rates = Mapping[str, Sequence[float]]


def _run(directory: Path, rates: Rates, at: float, absent: Mapping[str, Sequence[int]]) -> Path:
    """A run of a fleet with a rate for each host and repeat, of which some are in no total."""
    totals = []
    for host, values in rates.items():
        starts = [at + 10 * number for number in range(len(values))]
        write(directory / "hosts" / host, Made(values, starts, run_ids=f"{directory.name}-{host}"))
    for repeat in range(1, REPEATS + 1):
        there = [host for host in rates if repeat not in absent.get(host, ())]
        totals.append({"cell": f"scan-0001-r{repeat}", "in_total": there})
    document = {"run": directory.name, "hosts": [{"name": host} for host in rates], "totals": totals}
    (directory / "fleet.json").write_text(json.dumps(document))
    return directory


def _rates(seed: int, factors: Mapping[str, float]) -> Rates:
    drawn = random.Random(seed)  # noqa: S311  Noise that can be repeated.
    return {host: [1000 * factor * drawn.gauss(1, 0.005) for _ in range(REPEATS)] for host, factor in factors.items()}


@pytest.fixture
def runs(tmp_path: Path) -> tuple[Path, Path]:
    """The second run has `b` a fifth slower, and `c` in no total of its first four cells; `d` was not there before."""
    before = _run(tmp_path / "before", _rates(1, {"a": 1, "b": 1, "c": 1}), 0, {})
    after = _run(tmp_path / "after", _rates(2, {"a": 1, "b": 0.8, "c": 1, "d": 1}), 1000, {"c": [1, 2, 3, 4]})
    return before, after


def test_each_host_is_compared_with_itself_and_all_together(runs: tuple[Path, Path]) -> None:
    found = compare(*sides.both(*runs), Rules(drift=0.005), metrics=("ops_rate",))
    by_cell = {line.cell: line for line in found.lines}
    assert {name: line.outcome for name, line in by_cell.items()} == {
        "host all together, threads 4": "different",
        "host a, threads 4": "equivalent",
        "host b, threads 4": "different",
        "host c, threads 4": "equivalent",
    }
    assert [len(line.pairs) for line in found.lines] == [12, 12, 12, 8]
    assert by_cell["host b, threads 4"].evidence.ratio == pytest.approx(0.8, rel=0.02)  # type: ignore[union-attr]
    # Without d, which one run alone has.
    ratio = by_cell["host all together, threads 4"].evidence.ratio  # type: ignore[union-attr]
    assert ratio == pytest.approx(2.8 / 3, rel=0.02)


def test_a_sum_is_over_the_hosts_that_both_runs_have_in_it(runs: tuple[Path, Path]) -> None:
    a, b = sides.both(*runs)
    for one in (a, b):
        rates = {(row.cell.factors["host"], row.cell.repeat): row.metric("ops_rate") for row in one.rows}
        sums = {repeat: rate for (host, repeat), rate in rates.items() if host == sides.TOGETHER}
        for repeat, together in sums.items():
            hosts = ["a", "b"] if repeat <= 4 else ["a", "b", "c"]
            assert together == pytest.approx(sum(rates[host, repeat] or 0 for host in hosts))
    assert any("c is in no total of 4 cells" in one for one in b.problems)
    assert any("only this run has d" in one for one in b.problems)


def test_the_command_compares_two_runs_and_a_run_with_nothing_else(runs: tuple[Path, Path], tmp_path: Path) -> None:
    before, after = map(str, runs)
    done = assay("compare", before, after, "--drift-at-most", "0.5%", "--no-page", inside=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "host all together, threads 4" in done.stdout
    assert "host b, threads 4" in done.stdout
    done = assay("compare", before, f"{after}/hosts/a", "--no-page", inside=tmp_path)
    assert done.returncode == 2
    assert "is a run of a fleet, and the other side is none" in done.stderr


def test_runs_without_a_host_in_common_are_refused(tmp_path: Path) -> None:
    one, other = (_run(tmp_path / name, _rates(1, {name: 1}), 0, {}) for name in ("x", "y"))
    with pytest.raises(CompareError, match="no host is in both runs"):
        sides.both(one, other)
