"""The documentation builds as a site, and its reference says what the code says."""

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from tidy.files import ROOT


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    spec = importlib.util.spec_from_file_location("reference", ROOT / "setup" / "reference.py")
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def test_the_generated_reference_is_not_stale(reference: ModuleType) -> None:
    assert reference.stale() == [], "write it anew: .venv/bin/python setup/reference.py"


def test_a_stale_page_would_be_found(reference: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "docs" / "reference", tmp_path / "reference")
    monkeypatch.setattr(reference, "FOLDER", tmp_path / "reference")
    assert reference.stale() == []
    (tmp_path / "reference" / "commands.md").write_text("# Commands in full\n")
    (tmp_path / "reference" / "catalog.md").unlink()
    assert reference.stale() == ["commands.md", "catalog.md"]


def test_the_reference_names_every_command_and_reason(reference: ModuleType) -> None:
    pages = reference.pages()
    for name in ("assay advise", "assay claims", "assay cost ratio", "assay report"):
        assert f"## `{name}`" in pages["commands.md"]
    assert "page-cache-served" in pages["verdicts.md"]
    assert "`pmem100-128g`" in pages["catalog.md"]
    assert "## record" in pages["schemas.md"]


def mkdocs() -> list[str]:
    """The command that builds sites; skips where there is none."""
    own = ROOT / ".venv-site" / "bin" / "python"
    if own.is_file():
        return [str(own), "-m", "mkdocs"]
    if importlib.util.find_spec("mkdocs") is not None:
        return [sys.executable, "-m", "mkdocs"]
    pytest.skip("MkDocs is not installed; setup/site installs it into an environment of its own")


def test_the_site_builds_without_a_broken_link(tmp_path: Path) -> None:
    command = [*mkdocs(), "build", "--quiet", "--strict", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "site" / "tutorial.html").is_file()
    assert "assay advise" in (tmp_path / "site" / "reference" / "commands.html").read_text()


def test_a_broken_link_fails_the_site(tmp_path: Path) -> None:
    command = mkdocs()
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("# One\n\n[gone](nowhere.md)\n")
    (tmp_path / "mkdocs.yml").write_text((ROOT / "mkdocs.yml").read_text())
    done = subprocess.run([*command, "build", "--strict"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "nowhere.md" in done.stderr
