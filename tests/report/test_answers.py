"""The words of the first screen say what the records say."""

import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from assay.report import answers
from assay.report.answer import Answer
from assay.results import pick
from assay.results.interval import over_runs
from assay.units import show
from assay.untyped import Json
from report.synthetic import drive, folder
from report.synthetic.folder import Synthetic
from report.synthetic.record import Shape, asked, reason

SEEDS = range(5)


def by_topic(directory: Path) -> dict[str, Answer]:
    return {one.topic: one for one in answers(directory)}


def records(directory: Path) -> dict[str, Any]:
    return {path.stem: json.loads(path.read_text()) for path in (directory / "records").glob("*.json")}


def test_every_question_of_the_main_job_is_answered(finished: Path) -> None:
    assert set(by_topic(finished)) == {"latency", "commit", "scan", "ladder", "cache", "together", "trust"}


def test_every_number_links_to_a_record_that_is_there(finished: Path) -> None:
    anchors = {f"cell-{name}" for name in records(finished)}
    numbers = [number for one in answers(finished) for number in one.numbers]
    assert len(numbers) > 15
    assert {number.anchor for number in numbers} <= anchors
    assert {number.provenance for number in numbers} == {"measured"}


def by_depth(factors: Json, _scenario: str) -> list[Shape]:
    return [drive.read_shape("r", "pread+direct", depth=factors["depth"])]


def by_flush(factors: Json, _scenario: str) -> list[Shape]:
    return [drive.log_shape("log", "pread", 4096, every=factors["every"])]


def study(name: str, model: Any, matrix: dict[str, list[Any]], **more: Any) -> Synthetic:
    return Synthetic(name, name, "", "", matrix, model, more.pop("figures", []), **more)


@pytest.mark.parametrize("seed", SEEDS)
def test_latency_in_words_is_the_records(tmp_path: Path, seed: int) -> None:
    reads = study("raw", by_depth, {"depth": [1, 8]})
    folder.write(tmp_path, [reads], seed=seed)
    single, deep = (records(tmp_path)[f"raw-00{index}-all-0"]["classes"][0] for index in (0, 1))
    found = by_topic(tmp_path)["latency"]
    said = [number.text for number in found.numbers]
    assert said[0] == show.time(single["service"]["p50_ns"])
    assert said[1] == show.time(single["service"]["p99_ns"])
    assert said[2] == show.count(single["ops_rate"]["value"])
    assert said[3] == show.count(deep["ops_rate"]["value"])
    assert said[4] == show.times(deep["ops_rate"]["value"] / single["ops_rate"]["value"])
    assert "8 in flight" in found.plain


def judged_by_depth(bound_ns: float) -> Any:
    """Reads by depth whose p99 grows with it, with an objective."""

    def shapes(factors: Json, _scenario: str) -> list[Shape]:
        depth = factors["depth"]
        wanted = {"metric": "p99_ns", "bound": bound_ns}
        read = drive.read_shape("r", "io_uring+direct", depth=depth)
        return [replace(read, ops_per_s=10_000.0 * depth**0.5, median_ns=80_000.0 * depth, objective=wanted)]

    return shapes


@pytest.mark.parametrize(
    ("bound_ns", "words"),
    [
        (1e9, "up to depth 16 (40 "),
        (1e9, "the deepest that was tried"),
        (600e3, "r keeps its p99 of 600 us up to depth 2 (14 1"),
        (600e3, "at 4 it takes"),
        (1e3, "does not keep its p99 of 1.00 us even at depth 1: "),
    ],
)
def test_the_deepest_queue_that_keeps_an_objective_is_named(tmp_path: Path, bound_ns: float, words: str) -> None:
    folder.write(tmp_path, [study("deep", judged_by_depth(bound_ns), {"depth": [1, 2, 4, 16]})])
    assert words in by_topic(tmp_path)["deepest"].plain


def test_one_depth_alone_says_nothing_of_the_deepest_queue(tmp_path: Path) -> None:
    folder.write(tmp_path, [study("deep", judged_by_depth(1e6), {"depth": [4]})])
    assert "deepest" not in by_topic(tmp_path)


@pytest.mark.parametrize("seed", SEEDS)
def test_commit_in_words_is_the_records(tmp_path: Path, seed: int) -> None:
    logs = study("log", by_flush, {"every": [1, 32]})
    folder.write(tmp_path, [logs], seed=seed)
    each, shared = (records(tmp_path)[f"log-00{index}-all-0"]["classes"][0] for index in (0, 1))
    found = by_topic(tmp_path)["commit"]
    assert found.numbers[0].text == show.time(each["service"]["p50_ns"])
    assert found.numbers[2].text == show.count(each["ops_rate"]["value"])
    assert show.percent(each["flush"]["p50_ns"] / each["service"]["p50_ns"]) in found.plain
    assert "One flush for 32 writes" in found.plain
    assert show.count(shared["ops_rate"]["value"]).replace("\u00a0", " ") in found.plain


def test_a_commit_that_shares_its_flush_is_not_taken_for_one_that_does_not(tmp_path: Path) -> None:
    logs = study("log", by_flush, {"every": [32]})
    assert "commit" not in by_topic(folder.write(tmp_path, [logs]))


def test_repeats_give_their_interval_and_the_run_in_the_middle_is_linked(tmp_path: Path) -> None:
    reads = study("raw", lambda *_: [drive.read_shape("r", "pread+direct")], {}, repeats=3)
    folder.write(tmp_path, [reads])
    found = by_topic(tmp_path)["latency"].numbers[0]
    medians = {name: one["classes"][0]["service"]["p50_ns"] for name, one in records(tmp_path).items()}
    low, middle, high = sorted(medians.values())
    assert found.text == show.time(middle)
    interval = over_runs([low, middle, high])
    assert interval is not None
    assert interval.low < low < high < interval.high, "three runs know little"
    assert found.bounds == show.span(interval.low, interval.high, "ns")
    assert found.how_sure == "95 % over 3 runs"
    assert medians[found.anchor.removeprefix("cell-")] == middle


def test_scans_are_compared_where_all_paths_were_measured_alike(tmp_path: Path) -> None:
    """The slower path has an invalid record at 8 threads: its figure there is no part of the answer."""

    def reasons(factors: Json, _scenario: str, _repeat: int) -> list[Json]:
        worthless = factors["path"] == "mmap" and factors["threads"] == 8
        return (
            [reason("page-cache-served", "invalid", "It came from memory.", "Use a larger file.")] if worthless else []
        )

    def model(factors: Json, _scenario: str) -> list[Shape]:
        return [drive.read_shape("s", factors["path"], 16384, threads=factors["threads"], pattern="sequential")]

    scans = study("scan", model, {"path": ["pread", "mmap"], "threads": [4, 8]}, reasons=reasons)
    found = by_topic(folder.write(tmp_path, [scans]))["scan"]
    fast, slow = (records(tmp_path)[f"scan-00{index}-all-0"]["classes"][0]["bandwidth"]["value"] for index in (0, 2))
    assert "with 4 threads" in found.plain
    assert show.percent(slow / fast) in found.plain
    assert found.status == "valid"


def test_a_suspect_record_that_is_much_faster_is_not_said_to_be_slower(tmp_path: Path) -> None:
    """What is fastest is said by value; the mark says that the record is suspect."""
    doubt = reason("not-steady", "suspect", "It still fell by 20 %.", "Measure longer.")

    def reasons(factors: Json, _scenario: str, _repeat: int) -> list[Json]:
        return [doubt] if factors["path"] == "libaio+direct" else []

    def model(factors: Json, _scenario: str) -> list[Shape]:
        return [drive.read_shape("s", factors["path"], 16384, threads=4, pattern="sequential")]

    scans = study("scan", model, {"path": ["mmap", "libaio+direct"]}, reasons=reasons)
    found = by_topic(folder.write(tmp_path, [scans]))["scan"]
    mmap, libaio = (records(tmp_path)[f"scan-00{at}-all-0"]["classes"][0]["bandwidth"]["value"] for at in (0, 1))
    assert libaio > 1.2 * mmap
    assert found.plain.startswith("libaio direct is fastest")
    assert f"mmap reaches {show.percent(mmap / libaio)}".replace("\u00a0", " ") in found.plain
    assert found.standing == "suspect"


@pytest.mark.parametrize(
    ("values", "lowest", "leads"),
    [([(100, "suspect"), (95, "valid")], False, 1), ([(100, "suspect"), (80, "valid")], False, 0),
     ([(100, "suspect"), (108, "valid")], True, 1), ([(100, "suspect"), (120, "valid")], True, 0)],
)  # fmt: skip
def test_a_valid_record_speaks_for_a_suspect_one_that_it_nearly_equals(
    values: list[tuple[float, str]], lowest: bool, leads: int
) -> None:
    points: list[Any] = [SimpleNamespace(value=value, status=status) for value, status in values]
    assert pick.leading(points, lowest=lowest) is points[leads]


def test_an_answer_from_suspect_records_says_so(tmp_path: Path) -> None:
    doubt = reason("not-steady", "suspect", "It still fell by 20 %.", "Measure longer.")
    reads = study("raw", lambda *_: [drive.read_shape("r", "pread+direct")], {}, reasons=lambda *_: [doubt])
    found = by_topic(folder.write(tmp_path, [reads]))
    assert found["latency"].status == "suspect"
    assert "Suspect: It still fell by 20 %." in found["latency"].plain
    assert "0 of 1 records are valid, 1 suspect" in found["trust"].plain


def test_an_answer_from_invalid_records_alone_says_not_to_rely_on_it(tmp_path: Path) -> None:
    fault = reason("errors", "invalid", "912 operations failed.", "Look at the kernel's log.")
    reads = study("raw", lambda *_: [drive.read_shape("r", "pread+direct")], {}, reasons=lambda *_: [fault])
    found = by_topic(folder.write(tmp_path, [reads]))["latency"]
    assert found.status == "invalid"
    assert "Not to be relied on: 912 operations failed." in found.plain


def test_an_invalid_repeat_is_left_out_where_others_are_there(tmp_path: Path) -> None:
    fault = reason("errors", "invalid", "All failed.", "Look.")
    reads = study(
        "raw",
        lambda *_: [drive.read_shape("r", "pread+direct")],
        {},
        repeats=3,
        reasons=lambda _factors, _scenario, repeat: [fault] if repeat == 1 else [],
    )
    found = by_topic(folder.write(tmp_path, [reads]))["latency"]
    assert found.status == "valid"
    assert found.numbers[0].how_sure == "range of 2 runs"


def test_warm_reads_are_not_taken_for_the_devices(tmp_path: Path) -> None:
    reads = study("raw", lambda *_: [drive.read_shape("r", "pread")], {}, cache="warm")
    assert "latency" not in by_topic(folder.write(tmp_path, [reads]))


def test_loads_that_overlap_are_not_said_to_come_one_at_a_time(tmp_path: Path) -> None:
    """Seen as 140 ns for "one read at a time" of 64 B from memory, where one that is waited for took 280 ns."""

    def model(factors: Json, _scenario: str) -> list[Shape]:
        fenced = factors["fenced"]
        path = {"kind": "pmem", "direct": False, "fenced": fenced}
        return [Shape("r", 3.5e6 if fenced else 7e6, 280 if fenced else 140, asked("r", path=path, size=64))]

    both = folder.write(tmp_path / "both", [study("m", model, {"fenced": [False, True]})])
    assert re.match(r"One random 64 B read at a time takes 2[78]\d ns", by_topic(both)["latency"].plain)
    alone = folder.write(tmp_path / "alone", [study("m", model, {"fenced": [False]})])
    said = by_topic(alone)["latency"].plain
    assert re.match(r"One random 64 B read after another takes 1[34]\d ns", said), said
    assert "several such loads under way at once" in said


def test_memory_is_not_taken_for_the_device(tmp_path: Path) -> None:
    def model(*_: object) -> list[Shape]:
        return [Shape("null", 9e6, 110, asked("null", path={"kind": "null", "direct": False}))]

    assert set(by_topic(folder.write(tmp_path, [study("raw-null", model, {})]))) == {"trust"}


def test_the_ladder_in_words_is_the_sum_of_its_classes(finished: Path) -> None:
    found = by_topic(finished)["ladder"]
    all_records = records(finished)
    totals = [
        sum(one["bandwidth"]["value"] for one in all_records[f"dana-ladder-00{index}-all-0"]["classes"])
        for index in (0, 3)
    ]
    assert show.rate(totals[1]) in found.plain
    assert show.times(totals[1] / totals[0]) in found.plain
    assert "Not measured: #5 no file system." in found.plain


def test_interference_in_words_is_the_ratio_of_two_records(finished: Path) -> None:
    found = by_topic(finished)["together"]
    all_records = records(finished)
    together, alone = (
        next(
            one["response"]["p99_ns"]
            for cell in all_records.values()
            if cell["job"]["labels"]["study"] == "dana-htap" and cell["job"]["labels"]["scenario"] == scenario
            for one in cell["classes"]
            if one["name"] == "wal"
        )
        for scenario in ("all", "alone:wal")
    )
    assert f"wal answers at p99 in {show.time(together)}, {show.times(together / alone)} the time alone" in found.plain
    assert "1 of 2 objectives met; missed: wal" in found.plain


def test_emulated_figures_are_called_so(tmp_path: Path) -> None:
    reads = study("raw", lambda *_: [drive.read_shape("r", "pread+direct")], {})
    folder.write(tmp_path, [reads])
    path = next((tmp_path / "records").glob("*.json"))
    path.write_text(path.read_text().replace('"measured"', '"emulated"'))
    assert re.search(r"us.*\[emulated\]", by_topic(tmp_path)["latency"].plain)


def test_who_pauses_is_no_measure_of_what_a_drive_can_do(tmp_path: Path) -> None:
    def shapes(factors: Json, _scenario: str) -> list[Shape]:
        read = drive.read_shape("r", "pread+direct", depth=1)
        think = {"think": {"pause_s": 0.01, "every": 1}} if factors["who"] == "users" else {}
        return [replace(read, asked=read.asked | think)]

    folder.write(tmp_path / "users", [study("raw", shapes, {"who": ["users"]})])
    folder.write(tmp_path / "load", [study("raw", shapes, {"who": ["load"]})])
    assert "latency" not in by_topic(tmp_path / "users")
    assert "latency" in by_topic(tmp_path / "load")
