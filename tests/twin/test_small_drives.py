"""Flash drives of another size, whose collection is followed page by page."""

from __future__ import annotations

import pytest
from assay.error import AssayError
from assay.target import names


def test_a_flash_drive_of_another_size_is_followed_page_by_page() -> None:
    twin = names.target("twin:handles=8:unit=512KiB:capacity=1GiB:p4510")["twin"]
    whole = names.target("twin:p4510")["twin"]
    assert twin["capacity_bytes"]["value"] == 1 << 30
    collection = twin["device"]["collection"]
    assert (collection["unit_bytes"]["value"], collection["placement_handles"]["value"]) == (512 << 10, 8)
    assert all(collection[key]["kind"] == "assumed" for key in ("unit_bytes", "placement_handles"))
    assert {**twin["device"], "collection": whole["device"]["collection"]} == whole["device"]
    assert names.unit_bytes(names.target("twin:capacity=1GiB:p4510")) == 1 << 20
    assert names.unit_bytes(names.target("twin:p4510")) is None


@pytest.mark.parametrize(
    "name",
    [
        "capacity=1GiB:p5800x",
        "capacity=1GiB:p4510*4",
        "capacity=1KiB:p4510",
        "capacity=100TB:p4510",
        "unit=1MiB:p4510",
        "unit=5KiB:capacity=1GiB:p4510",
        "handles=8:p4510",
        "handles=0:capacity=1GiB:p4510",
    ],
)
def test_what_cannot_be_followed_page_by_page_is_refused(name: str) -> None:
    with pytest.raises(AssayError) as refused:
        names.target(name)
    assert refused.value.hint
