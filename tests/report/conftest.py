"""Result folders for the tests of the report."""

import shutil
from pathlib import Path

import pytest
from report.synthetic import folder, studies


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result folder of a run that came to its end; only to be read."""
    return folder.write(tmp_path_factory.mktemp("finished") / "results", studies.everything())


@pytest.fixture
def copied(finished: Path, tmp_path: Path) -> Path:
    """The same, to be damaged."""
    return Path(shutil.copytree(finished, tmp_path / "results"))
