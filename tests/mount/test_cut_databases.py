"""The power is cut of a drive under a database: what was acknowledged as durable is there, what was not is missed.

`./assay test cuts` makes more of them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mount.cutting import Victim, cut
from mount.mounted import require_fuse
from mount.victims import VICTIMS

_LOOSE = [name for name, victim in VICTIMS.items() if victim.loose]


@pytest.fixture(scope="module")
def room_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A folder for each database: what one prepares once is used in each of its tests."""
    rooms: dict[str, Path] = {}

    def room(name: str) -> Path:
        return rooms.setdefault(name, tmp_path_factory.mktemp("cut"))

    return room


def possible(name: str) -> Victim:
    require_fuse()
    victim = VICTIMS[name]
    if reason := victim.reason():
        pytest.skip(reason)
    return victim


@pytest.mark.parametrize("seed", range(1, 3))
@pytest.mark.parametrize("name", VICTIMS)
def test_nothing_that_was_acknowledged_as_durable_is_missing(
    room_of: Callable[[str], Path], name: str, seed: int
) -> None:
    left = cut(possible(name), room_of(name), seed, durable=True)
    assert left.acknowledged > 0, f"seed {seed}"
    assert left.whole, f"seed {seed}: {left}"


@pytest.mark.parametrize("name", _LOOSE)
def test_what_was_never_flushed_is_caught_missing(room_of: Callable[[str], Path], name: str) -> None:
    victim = possible(name)
    left = []
    for seed in range(1, 4):
        left.append(cut(victim, room_of(name), seed, durable=False))
        if not left[-1].whole:
            return
    pytest.fail(f"{name} without flushes lost nothing in 3 cuts, seeds 1 to 3: {left}")
