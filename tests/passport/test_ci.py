"""The script that checks passports of a pull request."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def script(folder: Path, *files: str, **environment: str) -> subprocess.CompletedProcess[str]:
    plain = os.environ | {"ASSAY_COMMAND": str(ROOT / "assay")} | environment
    command = [str(ROOT / "ci" / "passport.sh"), *files]
    return subprocess.run(command, cwd=folder, env=plain, capture_output=True, text=True, check=False)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with one commit and a branch `base` on it."""
    for words in (
        ("init", "-q"),
        ("commit", "-q", "--allow-empty", "-m", "first"),
        ("branch", "base"),
    ):
        git(tmp_path, *words)
    return tmp_path


def git(folder: Path, *words: str) -> None:
    who = ["-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *who, *words], cwd=folder, check=True)


def test_a_change_without_a_passport_passes(repository: Path) -> None:
    done = script(repository, ASSAY_BASE="base")
    assert done.returncode == 0
    assert "no passport" in done.stdout


def test_what_a_change_brings_is_checked(repository: Path, modelled: Path) -> None:
    (repository / "good one.passport").write_bytes(modelled.read_bytes())
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "good")
    summary = repository / "summary"
    done = script(repository, ASSAY_BASE="base", GITHUB_STEP_SUMMARY=str(summary), GITHUB_ACTIONS="true")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "good one.passport: good" in done.stdout
    assert all(line.startswith("    ") for line in summary.read_text().splitlines())
    token = re.search(r"::stop-commands::([0-9a-f]{32})", done.stdout)
    assert token is not None
    assert done.stdout.rstrip().endswith(f"::{token[1]}::")


def test_a_passport_that_was_changed_fails_the_change(tmp_path: Path, modelled: Path) -> None:
    document = json.loads(modelled.read_text())
    document["passport"]["device"]["model"] = "::error::faster"
    (tmp_path / "bad.passport").write_text(json.dumps(document))
    done = script(tmp_path, "bad.passport")
    assert done.returncode == 1
    assert "NOT GOOD" in done.stdout
    (tmp_path / "none.passport").write_text("{}")
    assert script(tmp_path, "none.passport").returncode == 2


def test_the_workflow_is_read_only_and_runs_the_script() -> None:
    text = (ROOT / "ci" / "passport.yml").read_text()
    assert "contents: read" in text
    assert "pull_request_target" not in text
    assert "/ci/passport.sh" in text
