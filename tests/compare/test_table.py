"""Two sides in one table: what stands in it is what the rules of a comparison say."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from pathlib import Path

import pytest
from assay import home
from assay.cli.measure import versus
from assay.compare import side, table
from assay.compare.comparison import Comparison
from assay.compare.comparison import compare as judge
from assay.compare.error import CompareError
from assay.compare.judgement import Rules
from study.conftest import Assay

from compare.folders import Made, write


def compared(tmp_path: Path, factor: float, scatter: float, pairs: int = 12, **more: object) -> Comparison:
    """Pairs of throughputs around 1,000, B `factor` times A."""
    lots = random.Random(7)  # noqa: S311  Noise that is the same each time.
    a = [1000 * lots.lognormvariate(0, scatter) for _ in range(pairs)]
    b = [1000 * factor * lots.lognormvariate(0, scatter) for _ in range(pairs)]
    at = [float(2 * place) for place in range(pairs)]
    write(tmp_path / "a", Made(a, at, **more))  # type: ignore[arg-type]
    write(tmp_path / "b", Made(b, [one + 1 for one in at], **more))  # type: ignore[arg-type]
    sides = [side.read(name, str(tmp_path / name.lower()), None) for name in ("A", "B")]
    return judge(sides[0], sides[1], Rules(margin=0.05), metrics=("ops_rate", "service_p50"), by_lot=True)


def test_a_fifth_faster_is_better_in_throughput_and_in_latency_alike(tmp_path: Path) -> None:
    found = compared(tmp_path, 1.2, 0.02)
    rate, latency = table.entries(found)
    assert (rate.outcome, latency.outcome) == ("B better", "B better")
    assert rate.times == pytest.approx(1.2, rel=0.03)
    assert rate.times is not None
    assert latency.times == pytest.approx(1.2, rel=0.03)
    assert rate.times is not None
    assert rate.bounds is not None
    assert rate.times is not None
    assert rate.bounds[0] < rate.times < rate.bounds[1]
    assert rate.bounds[0] > 1
    assert table.sentence(found, ("this", "that")).startswith("that is 1.")


def test_a_fifth_slower_is_the_other_sides_gain(tmp_path: Path) -> None:
    found = compared(tmp_path, 1 / 1.2, 0.02)
    assert {entry.outcome for entry in table.entries(found)} == {"A better"}
    assert table.sentence(found, ("this", "that")).startswith("this is 1.18x as good")


def test_equal_sides_are_equivalent_where_it_is_quiet_and_undecided_where_it_is_not(tmp_path: Path) -> None:
    quiet = compared(tmp_path / "quiet", 1.0, 0.005)
    assert {entry.outcome for entry in table.entries(quiet)} == {"equivalent"}
    assert table.sentence(quiet, ("this", "that")).startswith("Equivalent: ")
    loud = compared(tmp_path / "loud", 1.0, 0.4)
    assert all(entry.outcome.startswith("undecided (about ") for entry in table.entries(loud))


def test_what_was_not_run_side_by_side_is_undecided_however_far_apart(tmp_path: Path) -> None:
    write(tmp_path / "a", Made([1000.0] * 12, [float(at) for at in range(12)]))
    write(tmp_path / "b", Made([9000.0] * 12, [float(at) for at in range(100, 112)]))
    sides = [side.read(name, str(tmp_path / name.lower()), None) for name in ("A", "B")]
    found = judge(sides[0], sides[1], Rules(), metrics=("ops_rate",))
    assert table.entries(found)[0].outcome == "undecided (not run side by side)"


def test_what_models_computed_is_called_so(tmp_path: Path) -> None:
    found = compared(tmp_path / "x", 1.2, 0.0, pairs=1, provenance="modelled")
    assert {entry.outcome for entry in table.entries(found)} == {"B better (modelled)"}
    alike = compared(tmp_path / "y", 1.01, 0.0, pairs=1, provenance="modelled")
    assert {entry.outcome for entry in table.entries(alike)} == {"equivalent (modelled)"}


@pytest.mark.parametrize(
    ("prices", "said"),
    [
        (("A=cheap", "B=2"), "is no price"),
        (("A=0", "B=2"), "above zero"),
        (("A=-1", "B=2"), "above zero"),
        (("A=nan", "B=2"), "above zero"),
        (("A=2",), "has no price"),
        (("C=2", "A=1", "B=1"), "no target is called so"),
    ],
)
def test_prices_that_are_none_are_refused(prices: tuple[str, ...], said: str) -> None:
    with pytest.raises(CompareError, match=said):
        versus.versus(versus.VersusFlags(on=("twin:gp3", "twin:io2"), prices=prices))


@pytest.mark.parametrize("words", [("--pairs", "3"), ("--margin", "2"), ("--host", "i9-9900k")])
def test_nonsense_is_refused_before_anything_runs(assay: Assay, words: tuple[str, ...]) -> None:
    other = assay.target / "other"
    other.mkdir(parents=True)
    done = assay("quick", str(assay.target), str(other), *words)
    assert (done.returncode, assay.runs()) == (2, []), done.stderr
    assert "hint:" in done.stderr


def test_a_target_named_twice_is_refused(assay: Assay) -> None:
    done = assay("quick", "--on", str(assay.target), "--on", str(assay.target))
    assert done.returncode == 2
    assert "stands there twice" in done.stderr


def test_two_twins_are_told_apart_in_the_right_direction(tmp_path: Path, assay: Assay, assayer: Path) -> None:
    assay.environment["ASSAYER"] = str(assayer)
    done = assay("quick", "twin:gp3", "twin:gp3-16k", "--out", str(tmp_path / "out"), "--json")
    assert done.returncode == 0, done.stderr
    (answer,) = json.loads(done.stdout)["answers"]
    deep = next(row for row in answer["table"] if "32 in flight" in row["title"])
    assert deep["outcome"].startswith("B better (modelled")
    assert deep["times_as_good"] == pytest.approx(16000 / 3000, rel=0.1)
    assert (tmp_path / "out" / "compare.html").is_file()
    again = assay("compare", str(tmp_path / "out"), "--margin", "5%", "--no-page", "--json")
    assert {one["metric"] for one in json.loads(again.stdout)["comparisons"]} <= {
        "service_p50", "ops_rate", "bandwidth", "read_service_p99",
    }  # fmt: skip


def on_disks(tmp_path: Path, first: str, second: str) -> Comparison:
    """Twelve pairs of two places, B three times as fast, as one paired run has them."""
    places = {"a": ("/mnt/a", first), "b": ("/mnt/b", second)}
    for name, (path, disk) in places.items():
        more = {"targets.path": path, "targets.device.name": disk}
        rate = 1000.0 if name == "a" else 3000.0
        write(tmp_path / name, Made([rate] * 12, [2.0 * at + (name == "b") for at in range(12)], environment=more))
    sides = [side.read(name, str(tmp_path / name.lower()), None) for name in ("A", "B")]
    found = judge(sides[0], sides[1], Rules(margin=0.05), metrics=("ops_rate",), by_lot=True)
    return replace(found, b=replace(found.b, directory=found.a.directory))


def test_two_folders_of_one_disk_are_never_so_many_times_as_fast(tmp_path: Path) -> None:
    found = on_disks(tmp_path, "vda", "vda")
    assert table.sentence(found, ("d1", "d2")).startswith("Both lie on one disk (vda), so that neither is the faster")
    (entry,) = table.entries(found)
    assert entry.outcome == table.ONE_DISK
    assert entry.ratio == ""
    assert "x as" not in table.sentence(found, ("d1", "d2"))


def test_two_disks_are_told_apart(tmp_path: Path) -> None:
    found = on_disks(tmp_path, "vda", "vdb")
    assert table.sentence(found, ("d1", "d2")).startswith("d2 is 3.00x as good")


def test_two_folders_of_this_disk_end_to_end(tmp_path: Path, assay: Assay, assayer: Path) -> None:
    assay.environment["ASSAYER"] = str(assayer)
    places = [tmp_path / name for name in ("d1", "d2")]
    for place in places:
        place.mkdir()
    # A disk that others use may hold a flush back for a tenth of a second.
    words = ["--set", "ask=durable commit", "--set", "measure=400ms", "--set", "data=8MiB", "--no-report", "--json"]
    done = assay("quick", *map(str, places), "--out", str(tmp_path / "out"), *words)
    assert done.returncode == 0, done.stderr
    (answer,) = json.loads(done.stdout)["answers"]
    if "Both lie on one disk" not in answer["sentence"]:
        pytest.skip(f"no disk is seen beneath {tmp_path}: {answer['sentence']}")
    assert "x as" not in answer["sentence"]


def test_twins_a_fifth_apart_are_told_apart_in_the_right_direction(tmp_path: Path, assay: Assay, assayer: Path) -> None:
    """Every time of the slower one is a fifth longer."""
    assay.environment["ASSAYER"] = str(assayer)
    text = (home.catalog() / "twins" / "970evoplus.toml").read_text()
    for before, after in (("28700", "34440"), ("8990", "10788"), ("32000", "38400")):
        assert f"value = {before}," in text
        text = text.replace(f"value = {before},", f"value = {after},")
    text = re.sub(r", low = [0-9.e]+, high = [0-9.e]+", "", text)
    slow = tmp_path / "slow.toml"
    slow.write_text(text.replace('name = "970evoplus"', 'name = "slow"'))
    for first, second, better in (("970evoplus", slow, "A"), (slow, "970evoplus", "B")):
        done = assay(
            "quick", "--on", f"twin:{first}", "--on", f"twin:{second}", "--out", str(tmp_path / better), "--json"
        )
        assert done.returncode == 0, done.stderr
        (answer,) = json.loads(done.stdout)["answers"]
        read = next(row for row in answer["table"] if row["title"] == "one 4 KiB read, median")
        apart = read["low"] > 1 or read["high"] < 1
        assert read["outcome"].startswith(f"{better} better (modelled" if apart else "undecided (modelled, bands"), read
        times = read["times_as_good"]
        assert (times > 1) == (better == "B")
        assert max(times, 1 / times) == pytest.approx(1.2, rel=0.05)
