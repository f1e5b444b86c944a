"""A cell that writes begins once."""

from pathlib import Path

import pytest
from assay.error import AssayError
from assay.fleet import once
from assay.fleet.once import Start


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def test_a_second_start_of_the_same_attempt_is_refused_and_another_attempt_is_not() -> None:
    start = Start("run", "a", "cell-0001-r1", 1)
    with once.begun(start):
        pass
    with pytest.raises(AssayError, match="not begun twice"), once.begun(start):
        pass
    with once.begun(Start("run", "a", "cell-0001-r1", 2)):
        pass
    with once.begun(Start("run", "b", "cell-0001-r1", 1)):
        pass


def test_what_is_under_way_is_not_begun_by_any_attempt() -> None:
    with (
        once.begun(Start("run", "a", "cell-0001-r1", 1)),
        pytest.raises(AssayError, match="under way"),
        once.begun(Start("run", "a", "cell-0001-r1", 2)),
    ):
        pass


def test_a_record_is_kept_until_it_is_taken(tmp_path: Path) -> None:
    start = Start("run", "a", "cell-0001-r1", 1)
    assert once.kept(start) is None
    with once.begun(start):
        once.keep(start, {"state": "finished"})
    assert once.kept(start) == {"state": "finished"}
    once.forget(start)
    assert once.kept(start) is None
    assert not list((tmp_path / "assay" / "fleet").iterdir())


def test_names_that_lead_elsewhere_are_refused() -> None:
    with pytest.raises(AssayError, match="cannot be the name"):
        Start.of({"run": "../x", "host": "a", "cell": "c", "attempt": 1})
