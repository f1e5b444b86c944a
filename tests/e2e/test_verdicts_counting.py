"""Hardware counters that cost, that lie, or that are refused; played by the kernel's software events (see
`crates/instruments/src/counters/played.rs`), so that all of it runs on a machine without a PMU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from assay.untyped import Json

from . import program
from .jobs import job, klass

DEAR = "hz=2.6e9,events=200"
"""Two hundred events are taken out and put in at each context switch: some 25 us."""
DEARER = "hz=2.6e9,events=400"
"""Twice as many, which no busy machine hides."""


def run(folder: Path, monkeypatch: pytest.MonkeyPatch, play: str, **more: Any) -> program.Outcome:
    """Direct reads of 4 KiB at depth 1 for a second, under played counters."""
    monkeypatch.setenv("ASSAY_PLAY_COUNTERS", play)
    return program.run(job(folder, klass(), measure_s=1.0, **more))


def test_dear_counters_stay_out_of_the_judged_window(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = run(folder, monkeypatch, DEAR)
    cost, counted = outcome.record["counting_cost"], outcome.result()["cpu"]["counted"]
    assert cost["switch_added"]["value"] > 0.01 * cost["switch_plain"]["value"]
    assert counted["by"] == "own-window"
    assert counted["operations"] >= 30
    assert "which would bend the judged window" in counted["why"]
    assert outcome.result()["cpu"]["cycles_per_op"]["method"] == "hardware-counter"
    assert "counting-bends" not in outcome.codes()
    assert outcome.record["process_cpu"]["counted"]["by"] == "accounts"


def test_counting_bends_where_a_job_insists(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = run(folder, monkeypatch, DEARER, counting="in-window")
    assert outcome.result()["cpu"]["counted"]["by"] == "in-window"
    numbers = outcome.reason("counting-bends")["numbers"]
    assert numbers["added_ns_per_op"] > 0.01 * numbers["ns_per_op"]
    assert numbers["switch_counted_ns"] > numbers["switch_plain_ns"]


def test_counters_disagree_where_no_clock_can_explain_both(monkeypatch: pytest.MonkeyPatch) -> None:
    # On nothing, so that there is CPU time enough on a busy machine too.
    monkeypatch.setenv("ASSAY_PLAY_COUNTERS", "hz=1e8")
    nothing = {"id": "main", "kind": "null", "members": []}
    reason = program.run(job(nothing, klass(path="null"), counting="in-window")).reason("counters-disagree")
    assert reason["severity"] == "suspect"
    assert {"cycles_per_op", "cpu_ns_per_op", "implied_hz"} <= set(reason["numbers"])


def test_refused_counters_leave_the_accounts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = run(folder, monkeypatch, "none")
    counted = outcome.result()["cpu"]["counted"]
    assert counted["by"] == "accounts"
    assert "no hardware performance counter" in counted["why"]
    assert "counting_cost" not in outcome.record
    assert outcome.result()["cpu"]["cycles_per_op"]["method"] == "rusage-times-tsc"


def test_a_job_may_do_without_counters_or_give_them_a_window(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = run(folder, monkeypatch, "hz=2.6e9", counting="accounts")
    assert plain.result()["cpu"]["counted"]["why"] == "the job asks for the kernel's accounts"
    apart = run(folder, monkeypatch, "hz=2.6e9", counting="own-window").result()
    assert apart["cpu"]["counted"]["by"] == "own-window"
    assert apart["cpu"]["counted"]["window_s"] == pytest.approx(0.25)


def test_threads_keep_to_the_cpus_that_a_class_names(folder: Path) -> None:
    one = job(folder, klass(pin={"cpus": [0]}), measure_s=0.2)
    assert program.run(one).record["job"]["classes"][0]["pin"] == {"cpus": [0]}
    node = job(folder, klass(pin={"nodes": [0]}), measure_s=0.2)
    assert program.run(node).record["job"]["classes"][0]["pin"] == {"nodes": [0]}


@pytest.mark.parametrize(
    ("pin", "code", "words"),
    [
        ({"cpus": [1000]}, 4, "CPU 1000 for the threads of class reads"),
        ({"nodes": [900]}, 4, "there is no such node"),
        ({"cpus": []}, 2, "name at least one"),
        ({"cpus": [0, 0]}, 2, "0 twice"),
    ],
)
def test_a_pin_that_cannot_be_is_refused(folder: Path, pin: Json, code: int, words: str) -> None:
    outcome = program.run(job(folder, klass(pin=pin), measure_s=0.2))
    assert outcome.code == code
    assert words in outcome.refusal
