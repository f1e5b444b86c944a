"""A run shows first that its workers do not bend what is measured."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from assay.fleet import bend

from .processes import HERE, command

pytest.importorskip("distributed")


def test_a_run_says_once_how_far_workers_bend_a_load_on_every_cpu(assayer: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = (HERE / "rate.toml", "--local", "2", "--lead", "2", "--out", out, "--aa")
    done = subprocess.run(command("run", *words), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    document = json.loads((out / "fleet.json").read_text())
    # Both are on one machine, of which one host speaks.
    assert list(document["bend"]) == ["h1"]
    found = document["bend"]["h1"]
    assert found["pairs"] == bend.PAIRS
    assert found["low"] <= found["share"] <= found["high"]
    assert bend.sentence(document["bend"]) in done.stdout
    assert {one["state"] for one in document["totals"][0]["hosts"]} == {"finished"}, "the worker went on"


def test_what_a_worker_takes_is_seen() -> None:
    rates = {"a": {"with": [99.0, 98.0, 99.5, 98.5, 99.0, 98.8], "without": [100.0] * 6}}
    rates |= {"b": {"with": [100.0] * 6, "without": [100.0] * 6}}
    found = bend.judged(rates)
    assert found["a"]["share"] == pytest.approx(-0.01, abs=0.003)
    assert found["a"]["low"] < -0.005
    assert found["a"]["high"] < 0
    assert bend.sentence(found).startswith("a load on every CPU did -1.")
    assert "on a, which is furthest off of 2" in bend.sentence(found)


def test_of_hosts_on_one_machine_one_is_asked() -> None:
    looks = {"a": {"boot": "1"}, "b": {"boot": "1"}, "c": {"boot": "2"}}
    assert sorted(bend.one_a_machine(looks)) == ["a", "c"]
