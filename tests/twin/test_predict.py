"""What `assay predict` refuses: nothing is answered as if it had not been said."""

from __future__ import annotations

from pathlib import Path

import pytest
from assay import home
from assay.error import AssayError
from assay.twin.predict import Point, predict

REFUSED = [
    (Point("twin:p4610", durability="maybe"), "no durability `maybe`"),
    (Point("twin:p4610", "write", persist="clwb"), "takes no stores"),
    (Point("twin:pmem100-128g", "write", persist="never"), "no persist `never`"),
    (Point("twin:p4610", working_set_bytes=10**13), "do not fit"),
]


@pytest.mark.parametrize(("point", "said"), REFUSED)
def test_what_means_nothing_is_refused(point: Point, said: str) -> None:
    with pytest.raises(AssayError, match=said):
        predict(point)


@pytest.mark.parametrize(("on", "fix"), [("twin:raid5:p4610*2", "3 to 64"), ("twin:raid10:p4610*3", "an even number")])
def test_a_refusal_says_what_to_do(assayer: object, on: str, fix: str) -> None:
    assert assayer
    with pytest.raises(AssayError) as refused:
        predict(Point(on))
    assert fix in refused.value.hint


def test_a_depth_on_memory_as_a_block_device_is_said_to_do_nothing(assayer: object) -> None:
    assert assayer
    one, deep = (predict(Point("twin:block:pmem100-128g*6", path="io_uring+direct", depth=d)) for d in (1, 32))
    assert "does nothing" in deep["depth"]
    assert "depth" not in one
    assert deep["iops"] == one["iops"]


def test_a_file_system_stands_before_the_twin(assayer: object) -> None:
    assert assayer
    named = predict(Point("twin:fs=ext4:970evoplus", path="libaio", host="i9-9900k"))
    asked = predict(Point("twin:970evoplus", path="libaio", host="i9-9900k", file_system="ext4"))
    assert named["cycles_per_op"] == asked["cycles_per_op"]


def test_a_drive_of_less_than_a_die_is_refused(assayer: object, tmp_path: Path) -> None:
    """Met first as a panic in the middle of a fit, which had tried such a drive."""
    assert assayer
    text = (home.catalog() / "twins" / "p4610.toml").read_text()
    own = tmp_path / "own.toml"
    own.write_text(text.replace("dies = { value = 64,", "dies = { value = 0.75,"))
    with pytest.raises(AssayError, match=r"dies.*0\.75") as refused:
        predict(Point(f"twin:{own}"))
    assert "at least one die" in refused.value.hint
