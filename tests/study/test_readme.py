"""Every command of the README and of the tutorial is run as it is written there.

What measures for minutes is asked for its plan alone (`--dry-run`), which checks every word of it. Lines with a name in
capitals (DIR, FILE) or with dots stand for something else, and are looked up by their first words.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from commands import assay
from report.synthetic import folder, studies

ROOT = Path(__file__).parents[2]
LINE = re.compile(r"^ {4}(?:\$ )?\./assay (.*?)(?:  +# .*)?$", re.MULTILINE)
LONG = ("quick", "run")
PLACEHOLDER = re.compile(r"\b(DIR|FILE)\b|\.\.\.|--try")


def lines(name: str) -> list[str]:
    """Commands of a page, those that go on in the next line in one."""
    text = (ROOT / name).read_text().replace("\\\n", " ")
    return list(dict.fromkeys(found.strip() for found in LINE.findall(text)))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as a user would have it after a first run."""
    found = tmp_path_factory.mktemp("reader")
    for name in ("A", "B"):
        (found / name).mkdir()
    folder.write(found / "assay-results" / "first", [studies.scan(), studies.depth_curve()])
    return found


def test_there_are_commands() -> None:
    assert len(lines("README.md")) >= 10
    assert len(lines("docs/tutorial.md")) >= 5


@pytest.mark.parametrize("line", lines("README.md"))
def test_commands_of_the_readme(line: str, place: Path, assayer: Path) -> None:
    if "mount:" in line and not Path("/dev/fuse").exists():
        pytest.skip("the kernel has no FUSE (/dev/fuse is missing)")
    words = shlex.split(line)
    words += ["--dry-run"] if words[0] in LONG and "--dry-run" not in words else []
    done = assay(*words, inside=place)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


@pytest.mark.parametrize("line", lines("docs/tutorial.md"))
def test_commands_of_the_tutorial(line: str, place: Path, assayer: Path) -> None:
    if PLACEHOLDER.search(line):
        words = shlex.split(line.split("--", maxsplit=1)[0])
        command = [word for word in words if re.fullmatch("[a-z-]+", word)][:2]
        options = set(re.findall(r"--[a-z-]+", line))
        found = assay(*command, "--help", inside=place)
        found = found if found.returncode == 0 else assay(command[0], "--help", inside=place)
        assert found.returncode == 0, found.stderr
        assert all(option in found.stdout for option in options), options
        return
    words = shlex.split(line)
    done = assay(*words, *(["--dry-run"] if words[0] in LONG else []), inside=place)
    assert done.returncode == 0, done.stderr
