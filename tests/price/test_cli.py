"""`assay cost` and `assay choose`, end to end."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Run

Write = Callable[[str, str], Path]
RATIO = ("cost", "ratio", "--storage", "pmem100-128g*6", "--dram", "ddr4-32g*6")
WORKLOAD = """
name = "orders"
capacity = "2TB"
working_set = "400GB"
reads_per_s = "300000/s"
writes_per_s = "30000/s"
cycles_per_operation = 40000
clock = 3e9
memory = "16GiB"
durability = "replicated"
copies = 2
"""


def test_jungle_table1(assay: Run) -> None:
    done = assay("cost", "jungle-table1", "--json")
    assert done.returncode == 0
    rows = json.loads(done.stdout)["rows"]
    assert len(rows) == 18
    assert {"configuration": "pm6", "basis": "10 threads", "usd_per_gb": 6.6}.items() <= rows[11].items()


@pytest.mark.parametrize(
    "words",
    [
        ("cost", "jungle-table1"),
        (*RATIO, "--throughput", "1e6", "--threads", "20", "--utilisation", "0.8"),
        ("cost", "total", "--part", "p4800x-375g*2", "--set", "months=12", "--set", "work.iops=500000"),
        ("cost", "budget", "--usd", "2000"),
        ("cost", "history"),
        ("cost", "break-even"),
        ("cost", "break-even", "--history"),
        ("cost", "break-even", "--cpu", "xeon-6242r", "--cycles", "20000", "--clock", "3e9"),
        ("cost", "lomet", "--size", "100GiB", "--rops-memory", "4e6", "--rops-device", "7e5"),
        ("cost", "population", "--pmem", "6", "--dram", "6"),
        ("cost", "prices", "ddr"),
    ],
)
def test_each_command_speaks_in_words_and_in_json(assay: Run, words: tuple[str, ...]) -> None:
    said = assay(*words)
    assert said.returncode == 0, said.stderr
    assert said.stdout.strip()
    found = json.loads(assay(*words, "--json").stdout)
    assert found["command"].startswith("cost ")
    for price in found["prices"]:
        assert price["source"]
        assert price["date"]
        assert price["item"] in said.stdout
    for fact in found["inputs"]:
        assert fact["provenance"] in ("measured", "emulated", "modelled", "published", "datasheet", "assumed")
        assert fact["source"]


def test_prices_that_are_old_warn_on_standard_error(assay: Run) -> None:
    done = assay("cost", "break-even")
    assert "older than 90 days" in done.stderr
    assert "warning" not in done.stdout
    assert any(
        "older than 90 days" in line for line in json.loads(assay("cost", "break-even", "--json").stdout)["warnings"]
    )


def test_a_band_can_be_set(assay: Run) -> None:
    words = ("cost", "total", "--part", "p4800x-375g", "--set", "months=60", "--json")
    found = json.loads(assay(*words, "--band", "1.5").stdout)
    assert found["band"]["low"] == pytest.approx(found["usd"] / 1.5)
    assert found["band"]["high"] == pytest.approx(found["usd"] * 1.5)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((*RATIO, "--throughput", "1e6", "--threads", "20"), "the utilisation U of the worker threads is missing"),
        ((*RATIO, "--utilisation", "0.5"), "throughput P and worker threads W are missing"),
        ((*RATIO, "--throughput", "1", "--threads", "1", "--utilisation", "2"), "not between 0 and 1"),
        ((*RATIO, "--in", "nowhere", "--cell", "x"), "nowhere holds no records"),
        ((*RATIO, "--cell", "x"), "a record needs its folder and its cell"),
        (("cost", "ratio", "--throughput", "1", "--threads", "1", "--utilisation", "1"), "no storage is named"),
        (("cost", "total"), "nothing is bought"),
        (("cost", "total", "--part", "nonsense"), "no price of `nonsense`"),
        (("cost", "total", "--part", "p4800x-375g", "--set", "month=3"), "did you mean `months`?"),
        (("cost", "total", "--part", "p4800x-375g", "--set", "months"), "is not a setting"),
        (("cost", "total", "--part", "p4800x-375g", "--set", "months=0"), "months"),
        (("cost", "total", "no-such-file.toml"), "cannot be read"),
        (("cost", "budget", "--usd", "0"), "buy nothing"),
        (("cost", "break-even", "--band", "0.5"), "is no band"),
        (("cost", "break-even", "--as-of", "yesterday"), "is not a date"),
        (("cost", "break-even", "--page", "4 potatoes"), "not a unit of size"),
        (("cost", "break-even", "--iops", "0"), "serve nobody"),
        (("cost", "break-even", "--latency-bound", "1ms"), "a latency bound needs a curve"),
        (("cost", "break-even", "--cycles", "5"), "needs three numbers"),
        (("cost", "break-even", "--quotes", "no-such-file.toml"), "cannot be read"),
        (("choose", "--workload", "no-such-file.toml"), "cannot be read"),
        (("choose",), "workload"),
    ],
)
def test_bad_input_is_a_sentence_and_what_to_do(assay: Run, words: tuple[str, ...], sentence: str) -> None:
    done = assay(*words)
    assert done.returncode == 2
    assert done.stdout == ""
    assert sentence in done.stderr
    assert "hint: " in done.stderr
    error = json.loads(assay(*words, "--json").stdout)["error"]
    assert sentence in error["message"] + error["hint"]


def test_quotes_win_and_unknown_currencies_are_refused(assay: Run, write: Write) -> None:
    text = '[[price]]\nitem = "p4800x-375g"\nvalue = 500\ncurrency = "EUR"\nunit = "each"\ndate = "2026-10"\n'
    text += 'source = "our dealer"\nkind = "quote"\n'
    bare = write("bare.toml", text)
    done = assay("cost", "break-even", "--quotes", str(bare))
    assert done.returncode == 2
    assert "priced in EUR, which has no exchange rate" in done.stderr
    rate = '[[exchange]]\ncurrency = "EUR"\nusd = 1.1\ndate = "2026-10"\nsource = "our bank"\n'
    found = json.loads(assay("cost", "break-even", "--quotes", str(write("q.toml", text + rate)), "--json").stdout)
    price = next(price for price in found["prices"] if price["item"] == "p4800x-375g")
    assert (price["usd"], price["origin"], price["exchange"]["usd"]) == (550.0, "quotes", "1.1")


def test_choose(assay: Run, write: Write) -> None:
    path = str(write("w.toml", WORKLOAD))
    done = assay("choose", "--workload", path, "--objective", "cost", "--cloud", "aws,gcp,azure", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["winner"]["instances"] >= 2
    assert found["winner"]["binding_limit"]
    assert found["pareto"]
    assert found["losers"]
    said = assay("choose", "--workload", path, "--cloud", "aws,gcp,azure")
    assert found["winner"]["name"] in said.stdout
    assert "dominated by" in said.stdout


def test_choose_says_so_where_nothing_serves(assay: Run, write: Write) -> None:
    path = str(write("w.toml", WORKLOAD.replace("300000/s", "3000000000/s")))
    done = assay("choose", "--workload", path, "--cloud", "aws")
    assert done.returncode == 0
    assert "None can be chosen" in done.stdout


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--objective", "beauty"), "is no objective"),
        (("--objective", "throughput"), "needs a budget"),
        (("--cloud", "aws,nimbus"), "no cloud `nimbus`"),
        (("--cloud", "none"), "nothing to choose from"),
        (("--arch", "vax"), "no architecture `vax`"),
        (("--hardware", "no-such-file.toml"), "cannot be read"),
        (("--latencies", "no-such-file.json"), "is no file of latencies"),
    ],
)
def test_a_choice_that_cannot_be_is_a_sentence(assay: Run, write: Write, words: tuple[str, ...], sentence: str) -> None:
    done = assay("choose", "--workload", str(write("w.toml", WORKLOAD)), *words)
    assert done.returncode == 2
    assert sentence in done.stderr


def test_a_sum_that_buys_nothing_is_a_sentence(assay: Run) -> None:
    done = assay("cost", "budget", "--usd", "1")
    assert done.returncode == 0
    assert "1 USD buy no part of the price book; the cheapest is" in done.stdout
    assert "has no price of 1999" in assay("cost", "budget", "--date", "1999").stdout


def test_capacity_per_dollar_has_a_band_where_it_is_of_a_price(assay: Run) -> None:
    rows = json.loads(assay("cost", "history", "--json").stdout)["rows"]
    priced = [row for row in rows if row["item"]]
    assert priced
    for row in priced:
        assert row["band"]["low"] == pytest.approx(row["gb_per_usd"] / 2)
        assert row["band"]["high"] == pytest.approx(row["gb_per_usd"] * 2)


def test_a_wrong_key_of_an_order_is_explained_where_orders_are(assay: Run, write: Write) -> None:
    order = write("order.toml", 'parts = [{ item = "disk-4t" }]\n[work]\nrate = 3\n')
    done = assay("cost", "total", str(order))
    assert done.returncode == 2
    assert "`rate` is not a key here" in done.stderr
    assert "docs/cost-system.md" in done.stderr


def test_the_example_of_the_help_is_taken(assay: Run) -> None:
    """Two drives of 5 PB, 2 TB a day reach their cells: 1e16 bytes in 164 months."""
    settings = ("endurance.rated=5PB", "endurance.written_per_day=1TB", "endurance.write_amplification=2")
    words = [word for setting in settings for word in ("--set", setting)]
    done = assay("cost", "total", "--part", "p4610-1.6t*2", *words, "--json")
    assert done.returncode == 0, done.stderr
    (worn,) = json.loads(done.stdout)["endurance"]
    assert worn["wear_months"] == pytest.approx(2 * 5e15 / (2e12 * 730 / 24))


def test_a_machine_alone_is_chosen_without_others(assay: Run, write: Write) -> None:
    own = write(
        "own.toml",
        """
[[machine]]
name = "ours"
price_usd = 6000
cores = 16
memory = "256GiB"
local = "6TB"
read_iops = 1000000
write_iops = 300000
network = "3GB/s"
read_latency = "90us"
source = "an offer"
date = "2026-10"
kind = "quote"
""",
    )
    work = write("w.toml", WORKLOAD)
    done = assay("choose", "--workload", str(work), "--hardware", str(own), "--cloud", "none")
    assert "2 x ours for 200.00 USD a month" in done.stdout
    assert "There was no other to choose from." in done.stdout
