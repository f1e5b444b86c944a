"""What the report adds to records: advice, headroom, work, claims, cost, a page as PDF, frames for notebooks."""

from __future__ import annotations

import json
from pathlib import Path

import assay
import pytest
from advise.folders import Bench, append, read, scan
from assay.charts import shell
from assay.charts.palette import Palette
from assay.error import AssayError
from assay.report import answers, document, headroom, summary, write
from assay.report.page import gather
from assay.report.view import explorer
from assay.results import folder
from report.page import parse


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Paths, logs, and work on a drive and on memory."""
    bench = Bench(tmp_path / "results")
    bench.add(scan(5000, "pread"), "scans", cache="cold")
    bench.add(scan(40000, "io_uring+direct", 32), "scans")
    bench.add(append(1000), "logs", layout="grow")
    bench.add(append(3000), "logs")
    bench.add(read(9000), "reads", status="suspect")
    bench.work("database", "sqlite", "tpcc", 400, parts={"new_order": 0.002, "payment": 0.001, "delivery": 0.01})
    bench.work("database", "sqlite", "tpcc", 1400, medium="memory")
    bench.work("index", "fptree", "ycsb-b", 2e6, medium="memory", status="suspect")
    return bench.done()


def test_headroom_names_the_next_better_configuration(results: Path) -> None:
    found = {one.id: one for one in headroom.find(folder.read(results))}
    reads = found["reads"]
    assert [rung.name for rung in reads.rungs] == ["io_uring direct, 32 in flight", "pread buffered, 1 in flight"]
    assert reads.rungs[0].better == ""
    assert reads.rungs[1].better == reads.rungs[0].name
    assert reads.rungs[1].factor == pytest.approx(8, rel=0.05)
    assert reads.rungs[1].factor * reads.rungs[1].share == pytest.approx(1.0)
    assert "Most is lost between io_uring direct" in reads.lost
    assert [rung.name for rung in found["work-tpcc-threads-2"].rungs] == [
        "sqlite, durability fdatasync, on memory", "sqlite, durability fdatasync, on drive",
    ]  # fmt: skip


def test_work_that_hardly_reads_is_no_rung_of_reads(results: Path) -> None:
    """And what it reads is its own count, for a device serves others too."""
    moved = {"device": "vda", "read_bytes": {"value": 4e9, "unit": "bytes"}}
    for name, own in (("idle", 1e4), ("busy", 1e8)):
        path = next(iter(sorted((results / "work").glob("sqlite-tpcc-*.json"))))
        record = json.loads(path.read_text())
        record["subject"]["name"], record["devices"] = name, [moved]
        count = {"value": own, "unit": "bytes", "provenance": "measured", "method": "rusage"}
        record["figures"]["device_read_bytes"] = count
        (results / "work" / f"{name}.json").write_text(json.dumps(record))
    reads = {one.id: one for one in headroom.find(folder.read(results))}["reads"]
    assert [rung.value for rung in reads.rungs if rung.name.startswith("busy")] == [pytest.approx(5e7)]
    assert [rung.name for rung in reads.left_out] == ["idle, tpcc: read by its devices"]
    assert not any(rung.name.startswith("idle") for rung in reads.rungs)


def test_code_in_sentences_is_set_as_code() -> None:
    assert shell.words("run `a <b>` & look") == "run <code>a &lt;b&gt;</code> &amp; look"


def test_an_invalid_record_is_no_rung(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "r")
    bench.add(scan(5000, "pread"), "scans", cache="cold")
    bench.add(scan(40000, "io_uring+direct", 32), "scans", status="invalid")
    assert headroom.find(folder.read(bench.done())) == []


def test_every_link_of_the_page_leads_somewhere(results: Path) -> None:
    page = parse(write(results).read_text())
    anchors = [one["href"][1:] for one in page.all("a") if one.get("href", "").startswith("#")]
    missing = {anchor for anchor in anchors if anchor not in page.ids}
    assert not missing
    assert any(anchor.startswith("work-") for anchor in anchors)
    assert len(page.ids) == len(set(page.ids))


def test_advice_headroom_work_and_cost_are_on_the_page(results: Path) -> None:
    text = write(results).read_text()
    for words in ("What to change", "Where the gain is lost", "What a dollar of it does", "Databases", "Indexes",
                  "1 of 1 checks held", "Recycle log files"):  # fmt: skip
        assert words in text, words


def test_trials_stand_beside_their_advice(results: Path) -> None:
    trial = {"version": 1, "rule": "recycle-logs", "outcome": "different", "sentence": "Three times.", "command": "x"}
    (results / "trials" / "recycle-logs").mkdir(parents=True)
    (results / "trials" / "recycle-logs" / "trial.json").write_text(json.dumps(trial))
    (results / "trials" / "cut").mkdir()
    (results / "trials" / "cut" / "trial.json").write_text('{"version": 1, "ru')
    text = write(results).read_text()
    assert "Tried: different." in text
    assert 'href="trials/recycle-logs/compare.html"' in text


def test_the_explorer_has_loads_with_records_and_dated_prices(results: Path) -> None:
    found = explorer.explorer(folder.read(results))
    assert found is not None
    data = json.loads(found.data)
    assert all(load["per_s"] > 0 and 0 <= load["utilisation"] <= 1 and load["threads"] >= 1 for load in data["loads"])
    assert {load["anchor"][:5] for load in data["loads"]} == {"cell-", "work-"}
    assert all(part["usd"] > 0 and part["date"] and part["source"] for kind in data["parts"].values() for part in kind)
    assert all(part["threads"] > 0 for part in data["parts"]["cpu"])


def test_work_alone_makes_a_report(results: Path, tmp_path: Path) -> None:
    alone = tmp_path / "alone"
    alone.mkdir()
    (results / "work").rename(alone / "work")
    text = write(alone).read_text()
    assert "Databases" in text
    assert "No question of the first screen" in text


@pytest.mark.parametrize("damage", ["cut", "version", "parts", "list"])
def test_a_damaged_work_record_is_said_and_left_out(results: Path, damage: str) -> None:
    path = min((results / "work").glob("fptree*.json"))
    whole = json.loads(path.read_text())
    changed = {"version": {**whole, "version": 7}, "parts": {**whole, "parts": None}, "list": [1]}
    path.write_text(path.read_text()[:200] if damage == "cut" else json.dumps(changed[damage]))
    found = folder.read(results)
    assert all(one.subject != "fptree" for one in found.works)
    assert any(path.name in problem for problem in found.problems)
    assert f"work/{path.name}" in write(results).read_text()


def test_claims_of_the_folder_are_shown_with_their_records(results: Path) -> None:
    row = {"claim": "x.a", "setup": "s", "metric": "m", "unit": "GB/s", "published": 2.0, "error": 0.1,
           "modelled": {"value": 2.2, "low": 2.0, "high": 2.4}, "verdict": "reproduced",
           "here": {"value": 1.0, "provenance": "measured", "verdict": "valid", "records": ["logs-0003-r1"],
                    "differs": ["nvme0n1 in place of x"]}}  # fmt: skip
    counts = {"claims": 1, "attempted": 1, "reproduced": 1, "direction_only": 0, "not_reproduced": 0,
              "median_error": 0.1, "within_quarter": 1.0}  # fmt: skip
    study = {"study": "x", "title": "X", "source": "Y", "claims": [row], "statements": [], "summary": counts}
    (results / "claims.json").write_text(json.dumps({"version": 1, "here": "records", "studies": [study]}))
    text = write(results).read_text()
    assert "Published, modelled, here: X" in text
    assert 'href="#cell-logs-0003-r1"' in text
    assert "nvme0n1 in place of x" in text
    claims = results / "claims.json"
    claims.write_text(claims.read_text().replace("logs-0003-r1", "another-folders-r1"))
    assert "another-folders-r1</span>" in write(results).read_text(), "a record that is not on the page has no link"


def test_the_summary_is_one_page_with_the_answers(results: Path) -> None:
    found = folder.read(results)
    parts = gather(found, Palette())
    svg = summary.page(found, None, parts.counsel)
    assert "What to change" in svg
    assert "Where the gain is lost" in svg
    write(results, pdf=True)
    pdf = (results / "report.pdf").read_bytes()
    assert pdf.startswith(b"%PDF")
    assert pdf.count(b"/Type /Page\n") + pdf.count(b"/Type/Page\n") + pdf.count(b"/Type /Page/") <= 1


def test_no_line_of_the_summary_leaves_its_column() -> None:
    style = summary.ANSWER
    words = "a word or two " * 40 + "x" * 300
    room = summary.WIDTH / 2
    lines = list(summary.wrapped(words, style, room))
    assert "".join(lines).replace(" ", "") == words.replace(" ", "")
    assert max(map(len, lines)) * style.size * 0.5 <= room


def test_the_document_says_what_the_page_says(results: Path) -> None:
    found = document(results)
    assert found["answers"][-1]["question"] == "Can these figures be believed?"
    assert any(one["rule"] == "recycle-logs" and one["outcome"] == "advised" for one in found["advice"])
    assert any(one["ladder"] == "reads" for one in found["headroom"])


def test_frames_hold_what_the_records_hold(results: Path) -> None:
    found = assay.load(results)
    assert len(found.runs) == 5
    assert set(found.classes["class"]) == {"scan", "wal", "raw"}
    assert len(found.intervals) == 5 * 30
    assert list(found.reasons["code"]) == ["because-suspect"]
    assert set(found.works["subject"]) == {"sqlite", "fptree"}
    assert found.works.loc[found.works["subject"] == "fptree", "ops_per_s"].iloc[0] == 2e6
    assert set(found.parts["name"]) == {"new_order", "payment", "delivery"}
    assert int(found.sql("select count(*) as n from classes")["n"].iloc[0]) == 5
    assert found.charts
    assert found.chart(found.charts[0]).to_dict()["config"]
    with pytest.raises(AssayError, match="there is no figure `ladder`"):
        found.chart("ladder")


def test_frames_of_work_alone(results: Path, tmp_path: Path) -> None:
    alone = tmp_path / "alone"
    alone.mkdir()
    (results / "work").rename(alone / "work")
    found = assay.load(alone)
    assert found.runs.empty
    assert len(found.works) == 3


def test_a_folder_with_nothing_is_refused_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(AssayError, match="holds no plan and no record"):
        assay.load(tmp_path)


def test_the_first_screen_says_which_index_does_most(tmp_path: Path) -> None:
    """A sweep of indexes alone was once told that it answers nothing."""
    bench = Bench(tmp_path / "results")
    for index, medium, rates in (
        ("dash-eh", "memory", {"lookup": 4e6, "insert": 1e6}),
        ("fptree", "memory", {"lookup": 2e6, "insert": 2e6}),
        ("ssd-btree", "drive", {"lookup": 1e6}),
    ):
        for workload, rate in rates.items():
            for threads in (1, 2):
                asked = {"threads": threads, "keys": 1000, "distribution": "uniform"}
                bench.work("index", index, workload, rate * threads, medium=medium, parameters=asked)
    (said,) = [one for one in answers(bench.done()) if one.topic == "indexes"]
    assert said.plain == (
        "lookup of uniform keys: dash-eh with 8.00 M/s, 2.0x what fptree does; "
        "insert of uniform keys: fptree with 4.00 M/s, 2.0x what dash-eh does. All with keys 1000, threads 2."
    )
    assert all(number.anchor.startswith("work-") for number in said.numbers)


def test_one_index_alone_is_no_race(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "results")
    bench.work("index", "ssd-btree", "lookup", 1e6)
    bench.work("index", "ssd-btree", "lookup", 2e6, medium="memory")
    assert not [one for one in answers(bench.done()) if one.topic == "indexes"]
