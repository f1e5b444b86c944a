"""A twin in the words of other programs, as a card, and under review."""

from __future__ import annotations

import re
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest
from assay.error import AssayError
from assay.target import catalog
from assay.twin import card
from assay.twin.envelope import Load, drive, reached
from assay.twin.export import FORMATS, export
from assay.twin.review import review

pytestmark = pytest.mark.usefixtures("assayer")


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_each_format_says_what_it_cannot_say(name: str) -> None:
    text = export("970evoplus", name)
    assert "What this format cannot say of the drive" in text
    assert len(re.findall(r"^\S+ - ", text, re.MULTILINE)) >= 3


def test_rates_of_io_cost_and_scylla_are_those_of_the_twin() -> None:
    (read,) = reached(drive("p4610"), [Load()])
    assert f"rrandiops={read.ops_per_s:.0f} " in export("p4610", "iocost")
    assert f"    read_iops: {read.ops_per_s:.0f}\n" in export("p4610", "scylla")


def test_what_is_no_flash_has_no_dies_to_export_and_memory_nothing_at_all() -> None:
    for name in ("nvmevirt", "mqsim"):
        with pytest.raises(AssayError, match="cloud-volume"):
            export("gp3", name)
    with pytest.raises(AssayError, match="is memory"):
        export("pmem100-128g", "iocost")
    with pytest.raises(AssayError, match="no format"):
        export("gp3", "xml")


def test_mqsim_gets_a_document_whose_dies_write_as_fast_as_the_drive() -> None:
    # Made here, a few lines above: nobody else's document.
    root = ET.fromstring(export("970evoplus", "mqsim"))  # noqa: S314
    value = {one.tag: one.text for one in root.iter()}
    pages = [int(value[name] or 0) for name in ("Flash_Channel_Count", "Chip_No_Per_Channel", "Plane_No_Per_Die")]
    each = int(value["Page_Capacity"] or 0) / int(value["Page_Program_Latency_LSB"] or 1) * 1e9
    assert 0.7 < pages[0] * pages[1] * pages[2] * each / 1.7e9 < 1.4
    assert pages[0] * pages[1] == 16


def test_fio_takes_the_job(need: Callable[[str], str], tmp_path: Path) -> None:
    path = tmp_path / "a.fio"
    path.write_text(export("gp3", "fio"))
    command = [need("fio"), "--parse-only", str(path)]
    done = subprocess.run(command, env={"TARGET": "/dev/null"}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["970evoplus", "gp3", "p5800x", "disk-7200"])
def test_a_card_is_a_picture_with_its_sources(name: str, tmp_path: Path) -> None:
    twin = catalog.twin(name)
    card.write(twin, tmp_path / "card.svg")
    text = (tmp_path / "card.svg").read_text()
    words = " ".join(word.strip() for word in ET.fromstring(text).itertext() if word.strip())  # noqa: S314
    for kind, count in review(name)["parameters"].items():
        assert f"{count} {kind}" in words, "card and review count alike"
    assert twin["title"].split(",")[0] in text
    assert "writes, fresh" in text
    assert "Parameters:" in text


def test_a_review_finds_what_is_wrong(tmp_path: Path) -> None:
    assert review("970evoplus")["laws"] == []
    path = tmp_path / "mine.toml"
    text = (Path(__file__).parents[2] / "catalog/twins/gp3.toml").read_text()
    path.write_text(text.replace("value = 800000, ", "value = 100000, ", 1))
    assert review(str(path))["laws"] == [
        "device.read_latency_ns is 100000 and lies outside of its own range, 400000 to 2e+06"
    ]
    newer = tmp_path / "newer.toml"
    newer.write_text(text.replace("version = 1", "version = 9", 1))
    with pytest.raises(AssayError, match="version 9"):
        review(str(newer))
