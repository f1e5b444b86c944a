"""Leave to destroy a device is typed each time; a plan that somebody planted has none, and leads nowhere."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from assay.document.identifier import Identifier, IdentifierError
from assay.error import AssayError
from assay.study import plan
from assay.study.cell import Cell
from assay.study.consent import Consent, given
from assay.untyped import Json

from study.conftest import Assay


def cell(ident: str, *targets: Json) -> Cell:
    return Cell(ident, "s", "", 1, {}, {"name": ident, "targets": list(targets)})


def device(name: str, **more: Any) -> Json:
    return {"id": "main", "kind": "block-device", "members": [name], **more}


def test_a_plan_carries_the_devices_and_no_leave(tmp_path: Path) -> None:
    made = plan.Plan([cell("s-1-r1", device("/dev/x", serials=["S"], yes_destroy=True))], 1, "now", destroys=["/dev/x"])
    text = json.dumps(made.document())
    assert "yes_destroy" not in text
    assert "serials" not in text
    (tmp_path / "plan.json").write_text(text)
    assert plan.load(tmp_path / "plan.json").destroys == ["/dev/x"]


def test_a_plan_that_carries_leave_all_the_same_is_not_believed(tmp_path: Path) -> None:
    made = plan.Plan([cell("s-1-r1", device("/dev/x"))], 1, "now").document()
    made["cells"][0]["job"]["targets"][0] |= {"serials": ["S"], "yes_destroy": True}
    (tmp_path / "plan.json").write_text(json.dumps(made))
    loaded = plan.load(tmp_path / "plan.json")
    assert loaded.destroys == ["/dev/x"]
    assert loaded.cells[0].job["targets"] == [device("/dev/x")]
    with pytest.raises(AssayError, match="leave for that is carried by no file") as caught:
        given(loaded.cells, loaded.destroys, Consent(), "assay run --resume r")
    assert "--serial SERIAL --yes-destroy" in caught.value.hint
    (again,) = given(loaded.cells, loaded.destroys, Consent(("T",), True), "assay run --resume r")
    assert again.job["targets"] == [device("/dev/x", serials=["T"], yes_destroy=True)]


def test_leave_reaches_the_devices_that_were_named_and_no_others() -> None:
    cells = [cell("a", device("/dev/x")), cell("b", device("/dev/y")), cell("c", device("/dev/z"))]
    allowed = given(cells, ["/dev/x", "/dev/y"], Consent(("X", "Y"), True), "")
    assert [one.job["targets"][0].get("serials") for one in allowed] == [["X"], ["Y"], None]
    assert "yes_destroy" not in allowed[2].job["targets"][0]
    with pytest.raises(AssayError, match="belongs to no device"):
        given(cells, ["/dev/x"], Consent(("X", "Y"), True), "")
    with pytest.raises(AssayError, match="writes to no device"):
        given(cells, [], Consent((), True), "")


@pytest.mark.parametrize("name", ["../../x", "a/b", "", ".hidden", "-rf", "a\0b", "a\nb", "x" * 201, "\u00e9", None, 7])
def test_names_that_could_lead_elsewhere_are_refused(name: object) -> None:
    with pytest.raises(IdentifierError, match="cannot be the name of a file"):
        Identifier.parse(name)


def test_the_names_of_cells_are_identifiers() -> None:
    assert Identifier.parse("dana-htap-0001-r1") == "dana-htap-0001-r1"
    with pytest.raises(IdentifierError):
        cell("../../x")


def change(assay: Assay, **keys: Any) -> None:
    path = assay.results / "plan.json"
    document = json.loads(path.read_text())
    document["cells"][0] |= keys
    path.write_text(json.dumps(document))


def test_a_planted_plan_with_a_name_that_leads_out_writes_nothing(assay: Assay) -> None:
    assay.run()
    change(assay, id="../../x")
    before = len(assay.runs())
    done = assay("run", "--resume", str(assay.results), "--no-report")
    assert done.returncode == 2
    assert "cannot be the name of a file" in done.stderr
    assert len(assay.runs()) == before
    assert not list(assay.folder.parent.rglob("x.json"))


def test_what_another_user_wrote_or_may_write_is_not_gone_on_with(assay: Assay) -> None:
    assay.run()
    path = assay.results / "plan.json"
    path.chmod(0o666)
    done = assay("run", "--resume", str(assay.results), "--no-report")
    assert done.returncode == 2
    assert "others may write to" in done.stderr
    if os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    path.chmod(0o644)
    os.chown(path, 65534, 65534)
    done = assay("run", "--resume", str(assay.results), "--no-report")
    assert done.returncode == 2
    assert "belongs to user 65534" in done.stderr


def test_a_folder_under_measurement_is_one_runs(assay: Assay) -> None:
    assay.behave(small="slow")
    with assay.start(
        "run", str(assay.study()), "--on", str(assay.target), "--out", str(assay.results), "--no-report"
    ) as first:
        while not assay.runs():
            assert first.poll() is None
        second = assay("run", str(assay.study()), "--on", str(assay.target), "--out", "other", "--no-report")
        first.kill()
    assert second.returncode == 1, second.stderr
    assert f"process {first.pid} " in second.stderr
    assert "measures in" in second.stderr
