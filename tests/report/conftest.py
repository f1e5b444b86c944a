"""Result folders for the tests of the report."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from report import browser as browsers
from report.browser import Browser
from report.synthetic import folder, studies


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result folder of a run that came to its end; only to be read."""
    return folder.write(tmp_path_factory.mktemp("finished") / "results", studies.everything())


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A few of its studies; only to be read."""
    few = [studies.ladder(), studies.htap(), studies.depth_curve(), studies.scan()]
    return folder.write(tmp_path_factory.mktemp("small") / "results", few)


@pytest.fixture
def copied(small: Path, tmp_path: Path) -> Path:
    """The same few, to be damaged."""
    return Path(shutil.copytree(small, tmp_path / "results"))


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One browser for all pages: it takes longer to start than most pages to look at."""
    with browsers.browser() as found:
        yield found
