"""The manual page of `assay` names every command, and is text for `man`."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import command_page
import pytest
from assay.cli.contents import CONTENTS, Group


def test_every_command_is_in_the_manual() -> None:
    page = command_page.page()
    for section in CONTENTS:
        for entry in section.entries:
            names = [entry.name]
            names += [f"{entry.name} {one.name}" for one in entry.commands] if isinstance(entry, Group) else []
            for name in names:
                assert rf"\fBassay {name}\fR".replace("-", r"\-") in page


def test_nothing_in_the_manual_is_taken_for_a_request() -> None:
    known = {".TH", ".SH", ".B", ".BR", ".I", ".RI", ".PP", ".TP", ".RS", ".RE"}
    requests = {line.split()[0] for line in command_page.page().splitlines() if line.startswith((".", "'"))}
    assert requests <= known


def test_man_has_no_complaints(tmp_path: Path) -> None:
    if shutil.which("man") is None:
        pytest.skip("man is not installed: apt install man-db")
    (tmp_path / "assay.1").write_text(command_page.page())
    command = ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", str(tmp_path / "assay.1")]
    environment = os.environ | {"MANROFFSEQ": "", "LC_ALL": "C.UTF-8"}
    assert subprocess.run(command, env=environment, capture_output=True, text=True, check=False).stderr == ""
