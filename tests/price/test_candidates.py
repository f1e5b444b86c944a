"""Machines of one's own, instances and volumes of clouds, and latencies of files, field by field."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from assay import home
from assay.price.book import open_book
from assay.price.choose.candidate import Candidate, Hardware, age_warning, cloud, own, snapshot
from assay.price.choose.latency import LOCAL, Ask, CatalogLatencies, FileLatencies, LatencyFigure, loaded_ns
from assay.price.choose.volume import Need, VolumeFile, VolumePrices, catalog_volumes, count, io_units, usd_per_month
from assay.price.error import PriceError
from assay.price.ledger import Ledger
from pydantic import ValidationError

from price.test_plan import close, volume

Write = Callable[[str, str], Path]
LEAST: dict[str, Any] = {
    "name": "m", "cores": 8, "memory": 64, "source": "s", "date": "2026-10", "kind": "quote",
}  # fmt: skip


def ours(**more: Any) -> Candidate:
    (machine,) = Hardware.model_validate({"machine": [LEAST | more]}).machine
    return machine.candidate()


def test_a_machine_of_ones_own() -> None:
    assert ours(usd_per_month=30) == Candidate(
        name="m", cloud="own", usd_per_month=30.0, cores=8.0, memory_bytes=64.0, local_bytes=0.0, read_iops=None,
        write_iops=None, volume_iops=None, volume_bytes_per_s=None, network_bytes_per_s=None, nvme=True,
        provenance="assumed", source="s", date="2026-10",
    )  # fmt: skip
    found = ours(usd_per_month=30, read_latency="90us", local=5, read_iops=6, write_iops=7, network=8)
    assert found.read_latency_ns == close(90e3)
    assert (found.local_bytes, found.read_iops, found.write_iops, found.network_bytes_per_s) == (5, 6, 7, 8)
    assert found.document() == {
        "name": "m", "cloud": "own", "usd_per_month_each": 30.0, "cores": 8.0, "memory_bytes": 64.0, "local_bytes": 5.0,
        "read_iops": 6.0, "write_iops": 7.0, "network_bytes_per_s": 8.0, "provenance": "assumed", "source": "s",
        "date": "2026-10",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("price", "usd"),
    [
        ({"usd_per_month": 30}, 30.0),
        ({"usd_per_month": 30, "running_usd_per_month": 5}, 35.0),
        ({"price_usd": 6000}, 100.0),
        ({"price_usd": 6000, "lifetime_months": 30, "running_usd_per_month": 5}, 205.0),
    ],
)
def test_what_a_machine_costs_a_month(price: dict[str, float], usd: float) -> None:
    assert ours(**price).usd_per_month == usd


def test_a_twin_or_a_latency_but_not_both() -> None:
    assert (ours(usd_per_month=1, twin="twin:p4800x").twin, ours(usd_per_month=1).twin) == ("p4800x", "")
    assert ours(usd_per_month=1, twin="t").read_latency_ns is None
    with pytest.raises(PriceError, match="two latencies"):
        ours(usd_per_month=1, twin="t", read_latency="1us")


def test_a_file_of_machines_holds_one_at_least(write: Write) -> None:
    text = '[[machine]]\nname="m"\ncores=8\nmemory=64\nsource="s"\ndate="2026-10"\nkind="quote"\nusd_per_month=30\n'
    assert [one.name for one in own(write("h.toml", text))] == ["m"]
    machines: list[list[dict[str, Any]]] = [[], [LEAST | {"name": ""}], [LEAST | {"source": ""}]]
    for wrong in machines:
        with pytest.raises(ValidationError):
            Hardware.model_validate({"machine": wrong})


def instances(*names: str, clouds: tuple[str, ...] = ("aws",), arch: str | None = None) -> list[Candidate]:
    found = {one.name: one for one in cloud(list(clouds), open_book(), arch)}
    return [found[name] for name in names]


def test_an_instance_of_the_catalog() -> None:
    about = snapshot()
    # 10.9824 USD an hour, 730 hours; 40 and 75 Gbit/s.
    assert instances("aws/i4i.32xlarge") == [
        Candidate(
            name="aws/i4i.32xlarge", cloud="aws", usd_per_month=10.9824 * 730, cores=64.0, memory_bytes=1024 * 2.0**30,
            local_bytes=30e12, read_iops=3.2e6, write_iops=1.76e6, volume_iops=160e3, volume_bytes_per_s=5e9,
            network_bytes_per_s=9.375e9, nvme=True, provenance="datasheet", source=about.source, date=about.date,
            arch="x86_64",
        )
    ]  # fmt: skip
    (plain,) = instances("aws/m7g.large")
    assert (plain.local_bytes, plain.read_iops, plain.write_iops, plain.nvme) == (0.0, None, None, False)
    silent = next(one for one in cloud(["gcp"], open_book()) if one.volume_iops is None)
    assert silent.volume_bytes_per_s is None


def test_the_snapshot_says_where_it_comes_from() -> None:
    text = (home.catalog() / "prices" / "instances.toml").read_text(encoding="utf-8")
    found = snapshot()
    assert all(f'"{value}"' in text for value in (found.source, found.date, found.licence, found.regions, found.note))


def test_clouds_and_architectures_are_picked() -> None:
    book = open_book()
    assert {one.arch for one in cloud(["aws"], book, "arm64")} == {"arm64"}
    assert {one.cloud for one in cloud(["hetzner"], book)} == {"hetzner"}
    assert len({one.cloud for one in cloud([], book)}) > 3
    assert {one.arch for one in cloud([], book)} >= {"arm64", "x86_64"}
    with pytest.raises(PriceError, match="no architecture `arm65`") as found:
        cloud([], book, "arm65")
    assert "arm64" in (found.value.hint or "")


@pytest.mark.parametrize(("unit", "usd"), [("hour", 1460.0), ("month", 2.0), ("each", None)])
def test_a_quote_per_hour_or_month_wins(write: Write, unit: str, usd: float | None) -> None:
    text = f'[[price]]\nitem = "aws/m7g.large"\nvalue = 2\ncurrency = "USD"\nunit = "{unit}"\n'
    text += 'date = "2026-10"\nsource = "us"\nkind = "quote"\n'
    text += text.replace("aws/m7g.large", "m7g.large").replace(unit, "month")
    found = {one.name: one for one in cloud(["aws"], open_book(write("q.toml", text)))}["aws/m7g.large"]
    if usd is None:
        assert (found.usd_per_month, found.source) == (close(0.0816 * 730), snapshot().source)
    else:
        assert (found.usd_per_month, found.source, found.date) == (usd, "quote: us", "2026-10")


def test_a_snapshot_is_old_after_ninety_days() -> None:
    assert snapshot().date == "2026-07-22"
    assert age_warning(open_book(as_of="2026-10-20")) is None
    assert "91 days old (2026-07-22)" in (age_warning(open_book(as_of="2026-10-21")) or "")


def test_the_prices_of_volumes() -> None:
    gp3, io2 = catalog_volumes()
    ledger = Ledger(open_book())
    assert VolumePrices.of(gp3, ledger) == VolumePrices(0.08, 0.005, 0.04 / 2**20)
    assert VolumePrices.of(io2, ledger) == VolumePrices(0.125, 0.065, 0.0)
    with pytest.raises(ValidationError):
        VolumeFile.model_validate({"volume": []})
    VolumeFile.model_validate({"volume": [gp3], "price": []})


@pytest.mark.parametrize(
    ("need", "volumes"),
    [
        (Need(0, 0, 0), 1),
        (Need(300e9, 1, 1), 1),
        (Need(301e9, 1, 1), 2),
        (Need(1, 4000, 1), 1),
        (Need(1, 12_001, 1), 4),
        (Need(1, 1, 101e6), 3),
        (Need(301e9, 4001, 201e6), 5),
    ],
)
def test_as_many_volumes_as_the_greatest_need_takes(need: Need, volumes: int) -> None:
    assert count(volume(), need) == volumes


@pytest.mark.parametrize(
    ("need", "usd"),
    [
        # Of 1000 IOPS and 10 MB/s that a volume includes, nothing is paid.
        (Need(2**30, 1000, 10e6), 0.1),
        (Need(2 * 2**30, 1, 1), 0.2),
        (Need(2**30, 3000, 1), 0.1 + 20),
        (Need(2**30, 1, 30e6), 0.1 + 40),
        # Two volumes include twice as much.
        (Need(2**30, 5000, 1), 0.1 + 30),
        (Need(2**30, 1, 60e6), 0.1 + 80),
    ],
)
def test_what_volumes_cost(need: Need, usd: float) -> None:
    assert usd_per_month(volume(), VolumePrices(0.1, 0.01, 2e-6), need) == close(usd)


def test_a_speed_without_a_limit_costs_nothing() -> None:
    free = volume().model_copy(update={"included_bytes_per_s": None})
    assert usd_per_month(free, VolumePrices(0.1, 0.01, 2e-6), Need(2**30, 1, 40e6)) == close(0.1)


@pytest.mark.parametrize(("page", "units"), [(1, 1), (8192, 1), (8193, 2), (20_000, 3)])
def test_a_page_is_as_many_io_as_it_begins(page: float, units: int) -> None:
    assert io_units(volume(), page) == units


def test_latencies_of_the_catalog() -> None:
    known = CatalogLatencies(catalog_volumes())
    local = known.read(LOCAL, 4096)
    assert (local.value_ns, local.provenance) == (115e3, "assumed")
    assert known.read("io2", 4096).value_ns == 500e3
    assert known.read("gp3", 4096).value_ns is None
    assert known.read("tape", 4096).value_ns is None
    assert known.under(Ask("io2", "", False, 4096, 0.75, 1.0)).value_ns == close(2e6)
    assert known.under(Ask("gp3", "", False, 4096, 0.75, 1.0)).value_ns is None


@pytest.mark.parametrize(("busy", "times"), [(0.0, 1.0), (0.5, 2.0), (0.99, 100.0), (1.0, 100.0)])
def test_a_busy_device_waits_as_one_station_and_a_hundred_times_at_most(busy: float, times: float) -> None:
    assert loaded_ns(10.0, busy) == pytest.approx(10.0 * times)


def test_latencies_of_a_file(write: Write) -> None:
    figures = {
        "local": {"mean_ns": 0.5, "provenance": "measured"},
        "v": {"latency_ns": {"mean": 7.0}, "mean_ns": 9.0, "provenance": "modelled", "source": "us"},
    }
    path = write("l.json", json.dumps(figures))
    found = FileLatencies(path, CatalogLatencies(catalog_volumes()))
    assert found.under(Ask("local", "", False, 4096, 0.0, 1.0)) == LatencyFigure(0.5, "measured", str(path))
    assert found.under(Ask("v", "", False, 4096, 0.5, 1.0)) == LatencyFigure(14.0, "modelled", "us")
    assert found.under(Ask("io2", "", False, 4096, 0.0, 1.0)).value_ns == 500e3
    assert LatencyFigure(1.0, "a", "b", "c", 2.0, 0.1, 0.2).document() == {
        "value_ns": 1.0, "provenance": "a", "source": "b", "date": "c", "p99_ns": 2.0, "band": 0.1, "tail_band": 0.2,
    }  # fmt: skip
