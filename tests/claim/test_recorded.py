"""Claims against records of a folder: matched by what was done, and honest about what differs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from advise.folders import Bench
from assay.charts.palette import Palette
from assay.claim import priced, recorded
from assay.claim.answer import Answers, RunAnswer
from assay.claim.model import Claim, ClaimStudy, known, load, parse
from assay.claim.question import points
from assay.claim.reproduce import held, held_here, measured_here
from assay.claim.take import names
from assay.claim.worked import Worked
from assay.report.view import claims as page
from assay.results import folder
from report.synthetic.drive import KINDS
from report.synthetic.record import Shape, asked

STUDY = """
version = 1
study = "x"
title = "X"
source = "Y"
machines.a = { on = "970evoplus*4", host = "i9-9900k" }
machines.b = { on = "970evoplus", host = "i9-9900k" }
runs.four = { machine = "a", path = "libaio", streams = { r = "read" } }
runs.one = { machine = "b", path = "libaio", streams = { r = "read" } }
streams.read = { op = "read", size = "16KiB", depth = 128 }
works.drive = { kind = "database", workload = "tpch", medium = "drive", like = "the paper's drive" }
works.memory = { kind = "database", workload = "tpch", medium = "memory", like = "the paper's memory" }

[[claims]]
id = "x.read"
setup = "array"
metric = "bandwidth"
published = 6
unit = "GB/s"
take = "four.bandwidth"

[[claims]]
id = "x.query"
setup = "query 3"
metric = "speed-up"
published = 2.5
unit = "-"
work = "drive.q03.time / memory.q03.time"
not_attempted = "a database"

[[statements]]
id = "x.stripes"
says = "Stripes help."
holds = ["four.bandwidth > one.bandwidth"]

[[statements]]
id = "x.queries"
says = "Queries gain."
work = ["drive.q03.time > 2 * memory.q03.time"]
not_attempted = "it is about a database"
"""


@pytest.fixture
def study() -> ClaimStudy:
    return parse(STUDY, "x.toml")


def reads(depth: int, rate: float = 100_000) -> Shape:
    return Shape(
        "lookups", rate, depth * 1e9 / rate, asked("lookups", path=KINDS["libaio+direct"], size=16384, depth=depth)
    )


def answers(study: ClaimStudy, directory: Path) -> Answers:
    return recorded.answers(study, set(study.runs), {"a": False, "b": False}, folder.read(directory))


def test_the_nearest_record_is_taken_and_differences_are_said(study: ClaimStudy, tmp_path: Path) -> None:
    bench = Bench(tmp_path / "r")
    bench.add(reads(1), "depth")
    nearest = bench.add(reads(64), "depth")
    (found, query) = measured_here(study.claims, answers(study, bench.done()), Worked(study, ()))
    assert found["records"] == [nearest]
    assert found["value"] == pytest.approx(100_000 * 16384 / 1e9, rel=0.05)
    assert any("depth 64 in place of 128" in text for text in found["differs"])
    assert any("in place of 970evoplus*4" in text for text in found["differs"])
    assert query["value"] is None
    assert "assay dbms" in query["reason"]


@pytest.mark.parametrize("shape", [
    Shape("w", 1000, 1e6, asked("w", path=KINDS["libaio+direct"], size=16384, operation={"kind": "write"})),
    Shape("b", 1000, 1e6, asked("b", path=KINDS["pread"], size=16384)),
    Shape("s", 1000, 1e6, asked("s", path=KINDS["libaio+direct"], size=16384, pattern={"kind": "sequential"})),
])  # fmt: skip
def test_a_record_that_did_something_else_is_not_taken(study: ClaimStudy, tmp_path: Path, shape: Shape) -> None:
    bench = Bench(tmp_path / "r")
    bench.add(shape, "other")
    found = measured_here(study.claims, answers(study, bench.done()), Worked(study, ()))
    assert found[0]["value"] is None
    assert "no record did the same" in found[0]["reason"]


def test_one_device_does_not_stand_for_two(study: ClaimStudy, tmp_path: Path) -> None:
    bench = Bench(tmp_path / "r")
    bench.add(reads(128), "depth")
    found = held(study.statements[0], answers(study, bench.done()))
    assert found.holds is None
    assert "would stand for both" in found.why


def test_an_invalid_record_says_nothing(study: ClaimStudy, tmp_path: Path) -> None:
    bench = Bench(tmp_path / "r")
    bench.add(reads(128), "depth", status="invalid")
    assert measured_here(study.claims, answers(study, bench.done()), Worked(study, ()))[0]["value"] is None


@pytest.mark.parametrize(("seconds", "holds"), [(5.0, True), (1.2, False)])
def test_work_records_feed_claims_about_databases(
    study: ClaimStudy, tmp_path: Path, seconds: float, holds: bool
) -> None:
    bench = Bench(tmp_path / "r")
    scale = {"scale": 0.1, "seed": 7}
    ids = [
        bench.work("database", "duckdb", "tpch", 1, parts={"q03": seconds}, parameters=scale),
        bench.work("database", "duckdb", "tpch", 1, medium="memory", parts={"q03": 1.0}, parameters=scale),
    ]
    found = folder.read(bench.done())
    worked = Worked(study, found.works)
    claim = worked.claim(study.claims[1])
    assert claim["value"] == pytest.approx(seconds)
    assert claim["records"] == ids
    assert claim["provenance"] == "emulated"
    assert any("duckdb (scale 0.1)" in text for text in claim["differs"])
    statement = held_here(study.statements[1], Answers({}), worked)
    assert statement.holds is holds


def test_works_of_two_subjects_or_sizes_do_not_answer_together(study: ClaimStudy, tmp_path: Path) -> None:
    bench = Bench(tmp_path / "r")
    bench.work("database", "duckdb", "tpch", 1, parts={"q03": 5.0}, parameters={"scale": 1})
    bench.work("database", "sqlite", "tpch", 1, medium="memory", parts={"q03": 1.0}, parameters={"scale": 1})
    bench.work("database", "duckdb", "tpch", 1, medium="memory", parts={"q03": 1.0}, parameters={"scale": 10})
    worked = Worked(study, folder.read(bench.done()).works)
    assert worked.claim(study.claims[1])["value"] is None


def test_workloads_by_pattern_answer_where_both_sides_did_the_same(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "r")
    cached = {"page_cache": "on"}
    bench.work("database", "wiredtiger", "wtperf-small-btree", 100, parameters=cached)
    bench.work("database", "wiredtiger", "wtperf-evict-btree", 500, medium="memory", parameters=cached)
    statement = next(one for one in load("scm").statements if one.id == "scm.two-caches")
    assert Worked(load("scm"), folder.read(bench.done()).works).statement(statement)[0] is None
    bench.work("database", "wiredtiger", "wtperf-small-btree", 110, medium="memory", parameters=cached)
    assert Worked(load("scm"), folder.read(bench.done()).works).statement(statement)[0] is True


def test_sides_may_differ_in_a_parameter_that_is_named(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "r")
    for cache, rate in (("on", 300), ("off", 100), ("cold", 10)):
        bench.work("database", "wiredtiger", "wtperf-small-btree", rate, parameters={"page_cache": cache})
    bench.work("database", "wiredtiger", "wtperf-evict-btree", 1, parameters={"page_cache": "off"})
    claim = next(one for one in load("scm").claims if one.id == "scm.cache")
    assert Worked(load("scm"), folder.read(bench.done()).works).claim(claim)["value"] == pytest.approx(3)


@pytest.mark.parametrize(("drive", "holds"), [(500.0, True), (480.0, False)])
def test_indexes_are_compared_by_what_a_dollar_of_the_study_does(tmp_path: Path, drive: float, holds: bool) -> None:
    bench = Bench(tmp_path / "r")
    asked_for = {"keys": 1000, "threads": 2}
    busy = {"cpu_utilisation": 0.5}
    for subject, rate, medium, durable in (("ssd-btree", drive, "drive", "none"), ("bztree", 1000, "memory", "pmem")):
        bench.work("index", subject, "lookup", rate, medium=medium, durability=durable, figures=busy,
                   parameters=asked_for)  # fmt: skip
    study = load("jungle")
    statement = next(one for one in study.statements if one.id == "jungle.drive-per-dollar")
    found = Worked(study, folder.read(bench.done()).works).statement(statement)
    # 999 + 1157.94 + 2 * 0.5 * 2517 / 40 against 6 * 546.75 + the same: 2219.865 and 4501.365 US dollars.
    assert (drive / 2219.865 > 1000 / 4501.365) is holds
    assert found[0] is holds


def test_what_was_played_on_a_twin_stands_for_the_modules_that_it_names_alone(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "r")
    study = load("jungle")
    statement = next(one for one in study.statements if one.id == "jungle.interleaving")

    def ran(on: str, rate: float) -> None:
        asked_for = {"keys": 1000, "threads": 20}
        name = bench.work("index", "bztree", "lookup", rate, medium="memory", durability="pmem",
                          figures={"cpu_utilisation": 1.0}, parameters=asked_for)  # fmt: skip
        if on:
            path = bench.directory / "work" / f"{name.removeprefix('work-')}.json"
            record = json.loads(path.read_text())
            record["targets"] = [{"role": "data", "target": on, "emulated": False}]
            record["subject"]["settings"]["cpu_cache_bytes"] = 1 << 20
            path.write_text(json.dumps(record))

    def holds() -> bool | None:
        return Worked(study, folder.read(bench.done()).works).statement(statement)[0]

    ran("", 100)
    ran("twin:pmem100-128g", 1000)
    ran("twin:pmem100-128g*4", 3000)
    assert holds() is None, "four modules are not six, and this machine has none"
    ran("twin:pmem100-128g*6", 4000)
    assert holds() is True


@pytest.mark.parametrize("name", known())
def test_every_expression_over_work_names_records_that_are_described(name: str) -> None:
    study = load(name)
    texts = [claim.work for claim in study.claims if claim.work]
    texts += [text for statement in study.statements for text in statement.work]
    used = {each.split(".")[0] for text in texts for each in names(text)}
    assert used == set(study.works)


def test_prices_come_out_to_the_cent() -> None:
    claims = [claim for name in known() for claim in load(name).claims if claim.price]
    assert len(claims) > 12
    for claim in claims:
        value = priced.value(claim)
        assert not isinstance(value, str), value
        if claim.unit == "USD/GB":
            assert round(value.number, 2) == claim.published


def test_an_unknown_price_is_a_defect_of_the_catalog() -> None:
    claim = Claim(id="x", setup="", metric="", published=1, unit="USD/GB", price="rubles 3")
    with pytest.raises(Exception, match="no price is called `rubles`"):
        priced.value(claim)


def test_the_page_draws_bands_times_and_series() -> None:
    row = {"claim": "x.a", "setup": "s", "metric": "m", "unit": "GB/s", "published": 2.0, "error": 0.1,
           "modelled": {"value": 2.2, "low": 2.0, "high": 2.4}, "verdict": "reproduced"}  # fmt: skip
    times = {"run": "r", "stream": "scan", "host": 1.0, "wait": 2.0, "queue": 3.0, "device": 4.0, "flush": 0.0}
    series = {"run": "a", "stream": "wal", "at_s": [1.0, 2.0], "bytes_per_s": [5.0, 1.0]}
    counts = {"claims": 1, "attempted": 1, "reproduced": 1, "direction_only": 0, "not_reproduced": 0,
              "median_error": 0.1, "within_quarter": 1.0}  # fmt: skip
    study = {"study": "x", "title": "X", "source": "Y", "claims": [row], "statements": [], "summary": counts,
             "time": [times], "series": [series]}  # fmt: skip
    document = page.document([study], "")
    (part,) = page.parts(document, Palette())
    points_, bars, lines = part.figures
    assert points_.panels[0].marks == 1
    assert points_.data[0]["low"] == pytest.approx(1.0)
    assert sum(entry["y"] for entry in bars.data) == pytest.approx(1.0)
    assert lines.panels[0].marks == 1
    assert "1 of 1 claims attempted" in page.render(document)


def test_a_claims_file_that_was_cut_short_is_said(tmp_path: Path) -> None:
    (tmp_path / "claims.json").write_text('{"version": 1, "stu')
    found, problem = page.read(tmp_path)
    assert found is None
    assert "assay claims --out" in problem
    (tmp_path / "claims.json").write_text(json.dumps({"version": 99}))
    assert "another version" in page.read(tmp_path)[1]


def test_answers_of_a_refused_run_confuse_nothing() -> None:
    refused = RunAnswer({}, "no", machine="a", place="p")
    assert Answers({"x": [refused], "y": [RunAnswer({}, machine="b", place="p")]}).confused(["x.rate", "y.rate"]) == ""


@pytest.mark.parametrize("name", known())
def test_hardware_of_a_point_names_its_file_system(name: str) -> None:
    study = load(name)
    for point in points(study, set(study.runs)):
        assert point.hardware.startswith(point.machine.on)
        assert (" under " in point.hardware) == bool(point.settings.file_system)
