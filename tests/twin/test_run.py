"""Studies on twins: they run like any other, touch nothing, and say what they are."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import warm
from assay.error import MISSED
from assay.study import source
from assay.study.expand import expand
from assay.study.settings import with_profile
from assay.target import names
from assay.target.host import HostWish, from_settings
from assay.target.target import parse, parse_all

ROOT = Path(__file__).resolve().parents[2]
TWIN = "twin:970evoplus*4"


def assay(folder: Path, assayer: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT / "python"), "ASSAYER": str(assayer)}
    return warm.assay(words, cwd=folder, env=environment)


def records(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted((folder / "records").glob("*.json"))]


def test_a_twin_stands_for_files_and_for_the_device() -> None:
    assert parse(TWIN).stands_for == ("folder", "block-device")
    assert "device-dax" in parse("twin:pmem100-128g*6").stands_for
    assert parse("wal=twin:p4800x").role == "wal"


def test_a_file_system_and_a_host_can_be_named() -> None:
    (target,) = parse_all(["twin:fs=ext4:p4610"], [], False, from_settings("epyc-7702p", {"cores": 8, "clock": "2GHz"}))
    assert target.twin is not None
    assert target.twin["file_system"] == "ext4"
    host = target.twin["host"]
    assert (host["name"], host["cores"]["value"], host["clock_hz"]["value"]) == ("epyc-7702p", 8.0, 2e9)
    assert target.facts()["cpus"] == 8 * host["threads_per_core"]["value"]


def test_a_host_has_a_source_for_what_was_typed() -> None:
    cores = HostWish(cores=4).document(names.target("p4610"))["cores"]
    assert (cores["kind"], cores["source"]) == ("assumed", "Given on the command line")


def test_channels_are_those_of_a_host_that_was_named() -> None:
    # A stand-in with six channels would take two of eight modules of another generation away.
    modules = names.target("ddr5-4800-32g*8")
    assert "memory_channels" not in HostWish().document(modules)
    assert HostWish("xeon-5220s").document(modules)["memory_channels"]["value"] == 6
    assert HostWish("epyc-7702p").document(modules)["memory_channels"]["value"] == 8


# What nothing but a machine can answer: the cost of the generator itself, and memory that no drive is.
NOT_ON_DRIVES = {"raw-null", "raw-memory", "lessons-memory"}


@pytest.mark.parametrize("path", sorted((ROOT / "studies").glob("*.toml")), ids=lambda path: path.stem)
def test_every_study_expands_on_twins(path: Path) -> None:
    study = source.read(path.stem)
    if path.stem in NOT_ON_DRIVES or not hasattr(study, "matrix"):
        return
    cells = expand(replace(with_profile(study, None), targets=(parse(TWIN),)))  # type: ignore[arg-type]
    possible = [cell for cell in cells if cell.refusal is None]
    assert possible, path.stem
    kinds = {one["kind"] for cell in possible for one in cell.job.get("targets", ())}
    assert kinds <= {"twin"}
    # Work has its twins in the place of folders.
    assert all(cell.job.get("targets") or cell.job["twins"] for cell in possible)
    assert not any(cell.files for cell in possible)


def test_a_study_runs_on_a_twin_and_touches_nothing(assayer: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ("--set", "measure=1s", "--set", "warmup=0s", "--repeats", "1", "--no-report", "--out", str(out), "--json")
    done = assay(tmp_path, assayer, "run", "dana-htap", "--on", TWIN, *words)
    assert done.returncode == MISSED, done.stderr  # Its log does not reach its rate on this drive.
    found = records(out)
    assert found
    assert {path.name for path in tmp_path.iterdir()} == {"out"}, "nothing but the results lies beside them"
    for record in found:
        assert {entry["bandwidth"]["provenance"] for entry in record["classes"]} == {"modelled"}
        codes = {reason["code"] for reason in record["verdict"]["reasons"]}
        assert "modelled-target" in codes
        for entry in record["classes"]:
            band = entry["bandwidth"]["band"]
            assert band["low"] <= entry["bandwidth"]["value"] <= band["high"]
            assert entry["service"]["widths"]["tail"] > 0
        plan = json.loads((out / "plan.json").read_text())
        assert plan["totals"]["bytes_written"] == 0


def test_little_holds_in_every_record(assayer: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ("--set", "measure=2s", "--repeats", "1", "--no-report", "--out", str(out), "--json")
    done = assay(tmp_path, assayer, "run", "raw-depth", "--on", "twin:p4610", *words)
    assert done.returncode == 0, done.stderr
    for record in records(out):
        for entry in record["classes"]:
            in_flight = entry["ops_rate"]["value"] * entry["service"]["mean_ns"] / 1e9
            assert in_flight == pytest.approx(entry["achieved_depth"]["value"], rel=0.02)
            assert in_flight <= entry["asked_depth"] * 1.02
        assert all(0 <= device["utilisation"]["value"] <= 1 for device in record["devices"])


def test_both_engines_agree_on_reads(assayer: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ("--set", "measure=2s", "--repeats", "1", "--no-report", "--out", str(out), "--json")
    done = assay(tmp_path, assayer, "run", "raw-depth", "--on", "twin:p4610", *words)
    assert done.returncode == 0, done.stderr
    for record in records(out):
        for entry in record["classes"]:
            if entry["writes"]:
                continue
            notes = [one for one in record["verdict"]["reasons"] if one["code"] == "modelled-target"]
            analytic = notes[0]["numbers"]["analytic_ops_per_s"]
            assert entry["ops_rate"]["value"] == pytest.approx(analytic, rel=0.06), record["job"]["name"]


def test_what_is_real_is_not_mixed_with_what_is_not(assayer: Path, tmp_path: Path) -> None:
    job = {
        "version": 1,
        "name": "mixed",
        "targets": [parse(TWIN).job("main"), {"id": "other", "kind": "folder", "members": [str(tmp_path)]}],
        "datasets": [{"name": "d", "target": "other", "bytes": 1 << 20}],
        "classes": [
            {
                "name": "c",
                "dataset": "d",
                "path": {"kind": "pread"},
                "operation": {"kind": "read"},
                "pattern": {"kind": "uniform"},
                "size": 4096,
            }
        ],
        "window": {"measure_s": 1},
    }
    done = subprocess.run([assayer, "run", "-"], input=json.dumps(job), capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "use twins for all targets of a job" in done.stdout
    assert not list(tmp_path.iterdir())


def test_host_without_a_twin_is_refused(assayer: Path, tmp_path: Path) -> None:
    done = assay(tmp_path, assayer, "run", "raw-depth", "--on", ".", "--host", "epyc-7702p", "--dry-run")
    assert done.returncode == 2
    assert "no target is one" in done.stderr
