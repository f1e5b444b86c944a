"""Records, figure by figure: rates, bytes, and how busy their processors were."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest
from advise.folders import Bench, work
from assay.price.error import PriceError
from assay.price.record import load_of
from assay.price.seen import Seen, find_work, load_of_work, of_cell, of_work, seen
from assay.record import Record, WorkRecord
from assay.results.work import Work
from assay.untyped import Json

from price.shop import ledger
from price.test_jungle import figure, record, stored
from price.test_plan import close


def classes(*names: str, **cpu: Any) -> Json:
    """A record of several classes: 100, 200, ... operations and 1000, 2000, ... bytes a second, 2 + 1 s of CPU each."""
    spent = {"user_s": figure(2.0), "kernel_s": figure(1.0)} | cpu
    results = [
        {"name": name, "ops_rate": figure(100.0 * place), "bandwidth": figure(1000.0 * place), "cpu": dict(spent)}
        for place, name in enumerate(names, 1)
    ]
    return record(job={"classes": [{"name": name, "threads": 2} for name in names]}, classes=results)


def test_classes_add_up_and_can_be_picked(tmp_path: Path) -> None:
    directory = stored(tmp_path, classes("a", "b", "c"))
    whole = load_of(directory, "c-r1", "ops")
    assert (whole.throughput, whole.unit, whole.threads, whole.utilisation) == (600.0, "operations/s", 6, close(9 / 60))
    assert (whole.provenance, whole.source, list(whole.warnings)) == ("measured", "record r1, cell c-r1", [])
    some = load_of(directory, "c-r1", "bandwidth", ["b", "c"])
    assert (some.throughput, some.unit, some.threads, some.utilisation) == (5000.0, "B/s", 4, close(6 / 40))
    with pytest.raises(PriceError, match="no class `bb`") as found:
        load_of(directory, "c-r1", "ops", ["bb"])
    assert found.value.hint
    with pytest.raises(PriceError, match="`iops` is no throughput"):
        load_of(directory, "c-r1", "iops")


def test_figures_of_two_origins_are_modelled_together(tmp_path: Path) -> None:
    mixed = classes("a", "b")
    mixed["classes"][1]["ops_rate"]["provenance"] = "emulated"
    directory = stored(tmp_path, mixed)
    assert load_of(directory, "c-r1", "ops").provenance == "modelled"
    assert load_of(directory, "c-r1", "ops", ["b"]).provenance == "emulated"


def test_a_class_has_one_thread_where_nothing_is_said(tmp_path: Path) -> None:
    plain = classes("a")
    del plain["job"]["classes"][0]["threads"]
    assert load_of(stored(tmp_path, plain), "c-r1", "ops").threads == 1


@pytest.mark.parametrize(
    ("cpu", "utilisation", "warned"),
    [
        ({"user_s": figure(0.5), "kernel_s": figure(0.25)}, 0.75 / 20, False),
        ({"helper_s": figure(4.0), "wait_s": figure(5.0)}, 2 / 20, False),
        ({"helper_s": None, "wait_s": figure(1.0)}, 2 / 20, False),
        ({"helper_s": figure(1.0), "wait_s": None}, 4 / 20, False),
        ({"wait_s": figure(5.0)}, 0.0, False),
        ({"user_s": figure(19.0)}, 1.0, False),
        ({"user_s": figure(25.0)}, 1.0, True),
        ({"user_s": figure(99.0)}, 1.0, True),
    ],
)
def test_cpu_seconds_of_threads_and_helpers_without_waits(
    tmp_path: Path, cpu: Json, utilisation: float, warned: bool
) -> None:
    """Of one class with two threads for ten seconds."""
    load = load_of(stored(tmp_path, classes("a", **cpu)), "c-r1", "ops")
    assert load.utilisation == close(utilisation)
    assert any("kernel helpers make the utilisation" in line for line in load.warnings) == warned


@pytest.mark.parametrize("missing", ["user_s", "kernel_s"])
def test_both_kinds_of_cpu_seconds_are_needed(tmp_path: Path, missing: str) -> None:
    with pytest.raises(PriceError, match="utilisation U of the worker threads is missing"):
        load_of(stored(tmp_path, classes("a", **{missing: None})), "c-r1", "ops")


def test_a_class_without_cpu_is_refused(tmp_path: Path) -> None:
    silent = classes("a")
    del silent["classes"][0]["cpu"]
    with pytest.raises(PriceError, match="utilisation U"):
        load_of(stored(tmp_path, silent), "c-r1", "ops")


def test_a_cell_as_an_order() -> None:
    whole = classes("a", "b") | {"devices": [{"written_bytes": figure(30.0)}, {"written_bytes": figure(50.0)}, {}]}
    found = of_cell("c", cast("Record", whole))
    assert found == Seen(
        "c", "classes a, b", "valid", "measured", {"iops": 300.0, "ops_per_s": 300.0, "bandwidth": 3000.0}, 8.0, None
    )
    assert found.order() == {
        "work": found.rates,
        "endurance": {"written_per_day": 8.0 * 86_400, "write_amplification": 1.0},
    }
    assert found.document()["device_written_bytes_per_s"] == 8.0
    unknown: list[list[Json] | None] = [None, [], [{}]]
    for devices in unknown:
        silent = of_cell("c", cast("Record", classes("a") | {"devices": devices}))
        assert "endurance" not in silent.order()
        assert silent.written_bytes_per_s == (0.0 if devices else None)
    with pytest.raises(PriceError, match="is invalid"):
        of_cell("c", cast("Record", classes("a") | {"verdict": {"status": "invalid"}}))


def of(kind: str = "database", medium: str = "drive", **changes: Any) -> Work:
    """Work of two seconds by two usable processors; 500 a second."""
    made = work(kind, "s", "w", 500.0, medium)
    made["environment"]["cpu"]["usable"] = 2
    return Work("w", cast("WorkRecord", made | changes))


@pytest.mark.parametrize(
    ("seconds", "written"), [(2.0, 15.0), (1.0, 30.0), (0.5, 60.0), (0.0, None), (-1.0, None), (None, None)]
)
def test_bytes_that_drives_took_a_second(seconds: float | None, written: float | None) -> None:
    devices = [{"written_bytes": {"value": 30}}, {"written_bytes": {"value": None}}, {"written_bytes": 7}]
    found = of_work(of(devices=devices, measured_s=seconds))
    assert found.written_bytes_per_s == written
    assert of_work(of(devices=None)).written_bytes_per_s is None


@pytest.mark.parametrize(
    ("cpu", "seconds", "busy"),
    [
        ({"user_s": 1.0, "kernel_s": 0.5, "helper_s": 0.25, "wait_s": 0.75}, 2.0, 0.25),
        ({"user_s": 0.5}, 2.0, 0.125),
        ({"user_s": 1.0}, 1.0, 0.5),
        ({"user_s": 1.0}, 0.5, 1.0),
        ({"user_s": 1.0, "wait_s": 3.0}, 2.0, 0.0),
        ({"user_s": 1.0}, 0.0, None),
        ({"user_s": 1.0}, None, None),
    ],
)
def test_how_busy_processors_were(cpu: Json, seconds: float | None, busy: float | None) -> None:
    figures = {name: {"value": value} for name, value in cpu.items()}
    assert of_work(of(cpu=figures, measured_s=seconds)).cpu_utilisation == busy
    assert of_work(of(cpu=None)).cpu_utilisation is None


@pytest.mark.parametrize("cpu", [{"usable": None}, {}, None])
def test_one_processor_where_nobody_counted(cpu: Json | None) -> None:
    plain = of(cpu={"user_s": {"value": 1.0}})
    cast("Json", plain.record)["environment"]["cpu"] = cpu
    assert of_work(plain).cpu_utilisation == 0.5


@pytest.mark.parametrize(
    ("rate", "kind", "unit"),
    [
        ("transactions_per_s", "transactions_per_s", "transactions/s"),
        ("new_orders_per_s", "transactions_per_s", "transactions/s"),
        ("queries_per_s", "ops_per_s", "operations/s"),
        ("ops_per_s", "ops_per_s", "operations/s"),
    ],
)
def test_rates_of_work(rate: str, kind: str, unit: str) -> None:
    named = of(figures={rate: figure(7.0)})
    assert of_work(named).rates == {kind: 7.0}
    load = load_of_work(named)
    assert (load.throughput, load.unit, load.threads, load.warnings) == (7.0, unit, 2, [])


def test_a_load_of_work_is_busy_all_the_time_at_most() -> None:
    spent = {"user_s": {"value": 99.0}}
    assert load_of_work(of(cpu=spent)).utilisation == 1.0
    assert load_of_work(of()).utilisation == close(1.5 / 4)
    with pytest.raises(PriceError, match="utilisation U"):
        load_of_work(of(cpu=None))
    suspect = load_of_work(of(verdict={"status": "suspect", "reasons": []}))
    assert suspect.warnings == ["the record of `w` is suspect; see its verdict before buying by it"]


@pytest.mark.parametrize(
    ("medium", "origin", "provenance"),
    [
        ("drive", "measured", "measured"),
        ("memory", "measured", "emulated"),
        ("memory", "modelled", "modelled"),
        ("drive", "modelled", "modelled"),
    ],
)
def test_what_was_measured_on_memory_is_emulated(medium: str, origin: str, provenance: str) -> None:
    rated = of(medium=medium, figures={"ops_per_s": figure(7.0) | {"provenance": origin}})
    assert of_work(rated).provenance == provenance


def test_what_a_record_says_goes_into_the_ledger() -> None:
    kept = ledger()
    Seen("r", "a run", "valid", "measured", {"iops": 5.0}, 7.0, None).note(kept)
    assert [(one["name"], one["value"], one["source"]) for one in kept.inputs] == [
        ("iops", 5.0, "record r: a run"),
        ("bytes written to devices a second", 7.0, "record r: a run"),
    ]
    assert kept.warnings == []
    other = ledger()
    Seen("r", "a run", "suspect", "emulated", {"iops": 5.0}, None, None).note(other)
    assert [one["name"] for one in other.inputs] == ["iops"]
    assert [line.split(";")[0] for line in other.warnings] == [
        "the record r is suspect",
        "the record r was not taken on a drive: its rates are those of memory",
    ]


def test_a_record_of_work_has_one_rate(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    names = [bench.work("index", "fptree", "lookup", rate).removeprefix("work-") for rate in (5.0, 7.0)]
    bench.done()
    for metric, classes in (("bandwidth", None), ("ops", ["a"]), ("bandwidth", ["a"])):
        with pytest.raises(PriceError, match="is a record of work"):
            load_of(tmp_path, names[1], metric, classes)
    assert load_of(tmp_path, names[1], "ops").throughput == 7.0
    assert seen(tmp_path, names[0]).rates == {"ops_per_s": 5.0}
    assert find_work(tmp_path, "nothing") is None


@pytest.mark.parametrize("text", ['"words"', "[1]"])
def test_a_work_record_that_is_no_table_is_no_whole_record(tmp_path: Path, text: str) -> None:
    bench = Bench(tmp_path)
    other, name = (bench.work("index", one, "lookup", 5.0).removeprefix("work-") for one in ("a", "b"))
    (tmp_path / "work" / f"{name}.json").write_text(text)
    with pytest.raises(PriceError, match="is no whole record"):
        find_work(tmp_path, name)
    found = find_work(tmp_path, other)
    assert found is not None
    assert found.id == other


@pytest.mark.parametrize("missing", ["version", "classes", "verdict", "window"])
def test_a_record_without_one_of_its_parts_is_no_whole_record(tmp_path: Path, missing: str) -> None:
    broken = record()
    del broken[missing]
    with pytest.raises(PriceError, match="is no whole record"):
        seen(stored(tmp_path, broken), "c-r1")


def test_a_record_of_no_more_than_what_is_needed_is_whole(tmp_path: Path) -> None:
    least = {name: part for name, part in classes("a").items() if name in ("version", "classes", "verdict", "window")}
    assert seen(stored(tmp_path, least), "c-r1").rates["iops"] == 100.0


def test_a_wrong_name_is_answered_with_a_few(tmp_path: Path) -> None:
    folder = tmp_path / "records"
    folder.mkdir()
    for name in ("alpha", "beta", "gamma", "logs-1", "logs-2", "logs-3", "logs-4", "logz-1", "logy-1", "logx-1"):
        (folder / f"{name}.json").write_text(json.dumps(record()))
    with pytest.raises(PriceError, match="no record of `log`") as found:
        seen(tmp_path, "log")
    hint = found.value.hint or ""
    assert hint.startswith("there are 10, such as `logs-1`, `logs-2`, `logs-3`, ")
    named = hint.partition("such as ")[2].partition(";")[0].split(", ")
    # Three that begin so, three that are like it, and the first two of all.
    assert named[-2:] == ["`alpha`", "`beta`"]
    assert len(named) == len({"`logs-1`", "`logs-2`", "`logs-3`"} | set(named[3:]))
    assert len(named) <= 8
    with pytest.raises(PriceError) as near:
        seen(tmp_path, "xgammx")
    assert (near.value.hint or "").startswith("there are 10, such as `gamma`, `alpha`, `beta`;")
