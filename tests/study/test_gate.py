"""Files for CI: JUnit, Markdown, OpenMetrics, Otava's table, and the action that makes use of them."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from assay.error import CODES
from assay.results import cases, folder, junit, markdown, openmetrics, otava
from report.synthetic import folder as made
from report.synthetic import studies

from study.conftest import Assay

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made.write(tmp_path_factory.mktemp("gate") / "results", [studies.htap(), studies.scan()])


def test_the_exit_codes_of_the_docs_are_those_of_the_code() -> None:
    text = (ROOT / "docs" / "ci.md").read_text()
    rows = dict(re.findall(r"^\| (\d) \| (.+) \|$", text, re.MULTILINE))
    assert rows == {str(code): said for code, said in CODES.items()}


def test_junit_counts_what_its_cases_are(finished: Path, tmp_path: Path) -> None:
    found = cases.of_folder(folder.read(finished))
    junit.write(tmp_path / "j" / "junit.xml", "run", found)
    top = ET.parse(tmp_path / "j" / "junit.xml").getroot()  # noqa: S314  Written a line above.
    assert int(top.get("tests", 0)) == len(top.findall(".//testcase")) == len(found) > 10
    for kind, state in (("failure", "failed"), ("error", "error"), ("skipped", "skipped")):
        assert len(top.findall(f".//{kind}")) == sum(case.state == state for case in found)
    assert any(case.state == "failed" and "objective missed" in case.said for case in found)


def test_a_case_cannot_break_the_files(tmp_path: Path) -> None:
    evil = [cases.Case("a|b", "<x>`", "failed", "line\nbreak \x00 | </testcase>")]
    junit.write(tmp_path / "junit.xml", "t", evil)
    assert ET.parse(tmp_path / "junit.xml").getroot().find(".//failure") is not None  # noqa: S314
    markdown.write(tmp_path / "page.md", "t", ["said"], evil)
    row = (tmp_path / "page.md").read_text().splitlines()[-1]
    assert len(re.findall(r"(?<!\\)\|", row)) == 5


def test_openmetrics_has_a_type_for_each_sample_and_an_end(finished: Path) -> None:
    lines = openmetrics.text(folder.read(finished)).splitlines()
    assert lines[-1] == "# EOF"
    types = {line.split()[2] for line in lines if line.startswith("# TYPE")}
    sample = re.compile(r'^(\w+)\{(\w+="(?:[^"\\]|\\.)*",?)+\} [0-9.e+-]+( [0-9.]+)?$')
    samples = [line for line in lines if not line.startswith("#")]
    assert len(samples) > 50
    for line in samples:
        match = sample.match(line)
        assert match, line
        assert match[1] in types
    assert "assay_latency_seconds" in types


def test_otavas_table_has_a_row_for_each_folder_and_a_direction_for_each_column(finished: Path, tmp_path: Path) -> None:
    text = otava.table([folder.read(finished)] * 2)
    head, *rows = (line.split(",") for line in text.splitlines())
    assert head[:2] == ["time", "folder"]
    assert len(rows) == 2
    assert all(len(row) == len(head) for row in rows)
    told = otava.configuration(tmp_path / "series.csv", text)
    assert told.count("direction: 1\n") + told.count("direction: -1\n") == len(head) - 2


def test_the_board_asks_for_what_is_exported() -> None:
    board = json.loads((ROOT / "docs" / "data" / "grafana-assay.json").read_text())
    asked = set(re.findall(r"assay_\w+", json.dumps([panel["targets"] for panel in board["panels"]])))
    source = (ROOT / "python" / "assay" / "results" / "openmetrics.py").read_text()
    assert asked == set(re.findall(r'"(assay_\w+)"', source))


def test_the_action_hands_every_input_to_its_script() -> None:
    text = (ROOT / "ci" / "action.yml").read_text()
    script = (ROOT / "ci" / "gate.sh").read_text()
    inputs = re.findall(r"^  \"?([a-z-]+)\"?:$", text.split("\ninputs:")[1].split("\noutputs:")[0], re.MULTILINE)
    assert len(inputs) == 8
    for name in inputs:
        assert f"${{{{ inputs.{name} }}}}" in text, name
        assert f"ASSAY_{name.upper().replace('-', '_')}" in script, name
    yaml = pytest.importorskip("yaml", reason="no YAML reader is installed")
    document = yaml.safe_load(text)
    assert document["runs"]["using"] == "composite"
    assert all({"description", "default"} <= set(one) for one in document["inputs"].values())


def test_the_script_of_the_action_gives_files_and_the_exit_code(assay: Assay, tmp_path: Path) -> None:
    stand_in = tmp_path / "assay"
    stand_in.write_text(f"#!/bin/sh\necho \"$@\" > {tmp_path}/asked\nwhile [ $# -gt 0 ]; do "
                        "[ \"$1\" = --markdown ] && echo table > \"$2\"; shift; done\nexit 6\n")  # fmt: skip
    stand_in.chmod(0o755)
    variables = {"ASSAY_COMMAND": str(stand_in), "ASSAY_OUT": str(tmp_path / "out"), "ASSAY_BASELINE": "old",
                 "ASSAY_SET": "a=1\nb=x, y", "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
                 "GITHUB_OUTPUT": str(tmp_path / "output")}  # fmt: skip
    done = subprocess.run(
        [str(ROOT / "ci" / "gate.sh")], env={"PATH": os.environ["PATH"]} | variables, capture_output=True, check=False
    )
    assert done.returncode == 6
    assert (tmp_path / "summary").read_text() == "table\n"
    assert (tmp_path / "output").read_text() == "exit-code=6\n"
    asked = (tmp_path / "asked").read_text()
    assert "--set a=1 --set b=x, y --baseline old --fail-if-slower 10% --drift-at-most 10%" in asked


def test_a_run_writes_both_files_and_holds_itself_against_a_baseline(assay: Assay, tmp_path: Path) -> None:
    first = assay("run", str(assay.study()), "--on", str(assay.target), "--out", str(tmp_path / "one"), "--no-report")
    assert first.returncode == 0, first.stderr
    files = ["--junit", str(tmp_path / "junit.xml"), "--markdown", str(tmp_path / "summary.md")]
    words = ["--out", str(tmp_path / "two"), "--no-report", "--baseline", str(tmp_path / "one" / "plan.json")]
    second = assay("run", str(assay.study()), "--on", str(assay.target), *words, *files, "--fail-if-slower", "50%")
    assert second.returncode == 0, second.stderr
    assert "<testsuites" in (tmp_path / "junit.xml").read_text()
    assert (tmp_path / "summary.md").read_text().startswith("### ")
    assert "A: " in second.stdout
    assert f"{tmp_path / 'one'} to {tmp_path / 'two'}" in (tmp_path / "summary.md").read_text()


def test_a_baseline_that_is_none_is_refused_before_anything_runs(assay: Assay, tmp_path: Path) -> None:
    done = assay("run", str(assay.study()), "--on", str(assay.target), "--baseline", str(tmp_path / "gone"))
    assert (done.returncode, assay.runs()) == (2, [])
    assert "is no result folder" in done.stderr
