"""Packages that a command needs come in when one of Assay's modules imports them, and never for a library's sake."""

from __future__ import annotations

import json
import subprocess
import sys
import types
from pathlib import Path

import pytest
from assay import home, packages
from assay.error import NOT_POSSIBLE

# Hides the packages of all parts, as in an environment with the core alone.
HIDE = """
import sys
class Hidden:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name in PARTS and path is None:
            raise packages.PackagesError(f"{name} is hidden", hint="show it")
from assay import packages
from assay.packages import PARTS
packages.there = lambda name: False
sys.meta_path.insert(0, Hidden)
sys.modules.pop("jinja2", None)
from assay.__main__ import main
sys.exit(main())
"""


def core_alone(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", HIDE, *words], cwd=cwd, capture_output=True, text=True, check=False)


@pytest.mark.usefixtures("assayer")
@pytest.mark.parametrize(
    "words",
    [
        ["run", "raw-flush", "--profile", "quick", "--on", "twin:p4610", "--out", "made", "--no-report", "--json"],
        ["quick", "twin:p4610", "twin:970evoplus", "--out", "made", "--no-report", "--json"],
        ["predict", "--on", "twin:p4610", "--op", "read", "--json"],
        ["index", "list"],
        ["advise", "--help"],
        ["list", "--json"],
    ],
)
def test_measuring_comparing_and_asking_need_the_core_alone(words: list[str], tmp_path: Path) -> None:
    done = core_alone(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "hidden" not in done.stderr


@pytest.mark.usefixtures("assayer")
@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["run", "raw-flush", "--profile", "quick", "--on", "twin:p4610"], "What does a durable commit cost?"),
        (["quick", "twin:p4610", "twin:970evoplus"], "durable 4 KiB commits, one thread"),
    ],
)
def test_without_the_packages_of_a_page_the_answer_is_printed_and_nothing_fails(
    words: list[str], answer: str, tmp_path: Path
) -> None:
    done = core_alone(*words, "--out", "made", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert answer in done.stdout
    assert "there is no page: " in done.stderr
    assert "(show it)" in done.stderr


def test_an_installed_wheel_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(home, "checkout", lambda: None)
    with pytest.raises(packages.PackagesError, match="part `report`") as seen:
        packages.bring("report")
    assert "pip install 'assay[report]'" in seen.value.hint
    assert seen.value.code == NOT_POSSIBLE


def importing(module: str, asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Imports a package that nobody has, as `module` would."""
    monkeypatch.setitem(packages.PARTS, "nowhere_at_all", "report")
    monkeypatch.setattr(packages, "bring", asked.append)
    with pytest.raises(ModuleNotFoundError):
        types.FunctionType(compile("import nowhere_at_all", "", "exec"), {"__name__": module})()


def test_a_part_comes_for_a_module_of_assay(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    importing("assay.charts.axes", asked, monkeypatch)
    assert asked == ["report"]


@pytest.mark.parametrize("module", ["pandas.compat", "assayed", "__main__"])
def test_nothing_comes_for_what_others_try_to_import(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    importing(module, asked, monkeypatch)
    assert asked == []


def test_a_part_that_cannot_be_installed_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "setup").mkdir()
    script = tmp_path / "setup" / "packages.sh"
    script.write_text("#!/bin/sh\nexit 1\n")
    script.chmod(0o755)
    monkeypatch.setattr(home, "checkout", lambda: tmp_path)
    with pytest.raises(packages.PackagesError, match="could not be installed") as seen:
        packages.bring("query")
    assert "call the command again" in json.dumps(seen.value.document())
