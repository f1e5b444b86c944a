"""The library that draws is bundled once, and a kept bundle that is not whole is made anew."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest
import vl_convert
from assay.charts import bundle


@pytest.fixture
def bundled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was bundled, with a cache of its own."""
    made: list[str] = []

    def stand_in(snippet: str) -> str:
        made.append(snippet)
        return "a script\r\nof two lines"

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(vl_convert, "javascript_bundle", stand_in)
    return made


def kept(tmp_path: Path) -> Path:
    """The one file of the cache."""
    (found,) = (tmp_path / "assay" / "charts").iterdir()
    return found


def test_a_second_page_takes_the_kept_script(bundled: list[str], tmp_path: Path) -> None:
    first = bundle.drawing()
    assert bundle.drawing() == first == "a script\r\nof two lines"
    assert len(bundled) == 1
    assert metadata.version("vl-convert-python") in kept(tmp_path).name


@pytest.mark.parametrize("left", [b"", b"a script", b"0" * 64 + b"\na script\r\nof two lines"])
def test_a_script_that_is_not_whole_is_made_anew(bundled: list[str], tmp_path: Path, left: bytes) -> None:
    first = bundle.drawing()
    kept(tmp_path).write_bytes(left)
    assert bundle.drawing() == first
    assert len(bundled) == 2
    assert bundle.drawing() == first
    assert len(bundled) == 2


def test_without_a_place_for_it_the_script_is_made_each_time(
    bundled: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert bundle.drawing() == bundle.drawing()
    assert len(bundled) == 2


@pytest.mark.parametrize("how", ["a link", "writable"])
def test_nothing_is_taken_from_or_kept_in_a_folder_that_others_can_fill(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "cache").mkdir()
    if how == "a link":
        (tmp_path / "cache" / "assay").symlink_to(elsewhere)
    else:
        (tmp_path / "cache" / "assay" / "charts").mkdir(parents=True)
        (tmp_path / "cache" / "assay" / "charts").chmod(0o777)
    assert bundle._path() is None
    assert bundle.drawing()
    assert not [one for one in tmp_path.rglob("*") if one.is_file()]
