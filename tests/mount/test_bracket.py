"""A drive that is played late and the same drive slowed down: what both say of the truth."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest
from assay.cli import bracket
from assay.cli.dbms import forecasts
from assay.cli.playing import drive_of
from assay.cli.runners import bracketed, written
from assay.dbms.predict import demand
from assay.error import AssayError
from assay.record import WorkRecord
from assay.results.work import Work

from mount.test_on import _STUDY, assay, require_nothing_left, room

__all__ = ["room"]

_LATE, _SLOWED = "mount:twin:970evoplus", "mount:slow=8:twin:970evoplus"


def work(on: str, per_s: float, *codes: str) -> Work:
    """A record of a database that did so many transactions a second of this machine's time there."""
    record: dict[str, Any] = {
        "kind": "database",
        "subject": {"name": "sqlite"},
        "workload": {"name": "tpcc"},
        "targets": [{"target": on}],
        "figures": {"transactions_per_s": {"value": per_s, "unit": "1/s", "provenance": "emulated"}},
        "parts": [],
        "verdict": {"status": "suspect", "reasons": [{"code": code} for code in codes]},
    }
    return Work("one", cast("WorkRecord", record))


def test_the_truth_lies_between_the_late_drive_and_the_slowed_one() -> None:
    works = [work(_LATE, 800), work(_SLOWED, 130), work(_LATE, 900), work(_LATE, 700), work("/mnt/other", 5000)]
    (found,) = bracket.found(works)
    assert (found.late, found.slowed, found.slow) == (800, 1040, 8)
    assert "between 800/s (played late) and 1\xa0040/s (slowed 8 times" in found.sentence
    assert "sqlite tpcc on mount:twin:970evoplus" in found.sentence


def test_ends_that_lie_the_wrong_way_round_are_no_bracket() -> None:
    (found,) = bracket.found([work(_LATE, 800), work(_SLOWED, 90)])
    assert "no bracket" in found.sentence


def test_an_end_that_was_late_itself_is_doubted() -> None:
    (found,) = bracket.found([work(_LATE, 800, "played-late"), work(_SLOWED, 130)])
    assert "late, too" not in found.sentence
    (found,) = bracket.found([work(_LATE, 800, "played-late"), work(_SLOWED, 130, "played-late")])
    assert "that one was late, too" in found.sentence


def test_one_of_both_is_no_bracket() -> None:
    assert list(bracket.found([work(_LATE, 800), work("mount:slow=8:twin:gp3", 90)])) == []


def test_queries_of_cold_and_hot_data_have_a_bracket_each() -> None:
    works = []
    for protocol, late_s, slowed_s in (("cold", 4.0, 20.0), ("hot", 1.0, 6.0)):
        for on, seconds in ((_LATE, late_s), (_SLOWED, slowed_s)):
            one = work(on, 1.0)
            record: dict[str, Any] = {"workload": {"name": "tpch", "parameters": {"protocol": protocol}}}
            record |= {"figures": {"sum_s": {"value": seconds}}, "parts": [{"name": "q01"}, {"name": "q06"}]}
            works.append(Work("one", cast("WorkRecord", {**one.record, **record})))
    cold, hot = bracket.found(works)
    assert "sqlite tpch cold on mount:twin:970evoplus" in cold.sentence
    assert [cold.late, cold.slowed] == pytest.approx([0.5, 0.8])
    assert [hot.late, hot.slowed] == pytest.approx([2.0, 8 / 3])


def test_queries_that_run_freely_are_played_both_ways() -> None:
    study = written(("tpch", "dbms tpch"), "?", 1, {"kind": "dbms-tpch"}, {"protocol": ["cold"]})
    assert bracketed(study, [_LATE])
    assert not bracketed(study, ["/mnt/x"])
    assert not bracketed(written(("tpcc", "dbms tpcc"), "?", 1, {"kind": "dbms-tpcc", "rate": 5.0}), [_LATE])


def test_a_forecast_stands_beside_the_drive_as_it_is_played() -> None:
    other, slowed, late = (work(on, per_s).record for on, per_s in (("/mnt/x", 1), (_SLOWED, 130), (_LATE, 800)))
    records = [record | {"measured_s": 2.0} for record in (other, slowed, late)]
    chosen = forecasts._twin_of(late, "twin:970evoplus", records)
    assert chosen["targets"][0]["target"] == _LATE
    (took,) = demand.took(chosen)
    assert (took.name, took.wall_s, took.operations) == ("tpcc", 2.0, 1600.0)
    assert forecasts._twin_of(late, "twin:gp3", records)["targets"][0]["target"] == "/mnt/x"


def test_the_name_of_a_slowed_drive_is_read_as_it_is_written() -> None:
    assert bracket.slowed(_LATE, 8.0) == _SLOWED
    assert drive_of("slow=2.5:fixed:1,2,3") == ({"fixed": {"read_ns": 1000, "write_ns": 2000, "flush_ns": 3000}}, 2.5)


@pytest.mark.parametrize("factor", ["0", "-1", "x", "nan", "inf", "1e9"])
def test_a_factor_that_is_none_is_refused(factor: str) -> None:
    with pytest.raises(AssayError, match="is no factor"):
        drive_of(f"slow={factor}:fixed:1,2,3")


def test_a_study_runs_on_a_slowed_drive_and_says_so(room: Path, tmp_path: Path) -> None:
    (tmp_path / "little.toml").write_text(_STUDY)
    out = tmp_path / "out"
    on = f"mount:slow=4:fixed:400,200,600@{room}"
    done = assay("run", tmp_path / "little.toml", "--on", on, "--out", out, "--no-report")
    assert done.returncode == 0, done.stderr
    record = json.loads(next((out / "records").glob("*.json")).read_text())
    assert record["classes"][0]["service"]["p50_ns"] >= 1_500_000, "four times what the drive takes, less the way"
    played = next(one for one in record["verdict"]["reasons"] if one["code"] == "emulated-target")
    assert played["numbers"]["slow"] == 4
    assert "stretched 4 times" in played["evidence"]
    require_nothing_left(room)
