"""What the answers of a quick run quote has three interleaved turns."""

from pathlib import Path

from assay.study import again, plan
from assay.study.request import Wish, prepare
from assay.target.target import parse


def planned(directory: Path) -> plan.Plan:
    from assay.results.files import write_json

    found = prepare(Wish("quick", (parse("/tmp"),), {}), None).plan
    write_json(directory / "plan.json", found.document())
    return found


def test_quoted_cells_get_their_turns_in_rounds(tmp_path: Path) -> None:
    before = planned(tmp_path)
    quoted = [cell.id for cell in before.cells if cell.study == "raw-depth"]
    assert again.extend(tmp_path, quoted) == 2 * len(quoted)
    after = plan.load(tmp_path / "plan.json")
    added = after.cells[len(before.cells) :]
    assert [cell.repeat for cell in added] == [2] * len(quoted) + [3] * len(quoted), "each once before any again"
    assert {cell.group for cell in added} == {one.rpartition("-r")[0] for one in quoted}
    assert len({cell.job["seed"] for cell in after.cells}) == len(after.cells), "a turn draws its own operations"
    for cell in added:
        assert cell.job["labels"]["cell"] == cell.id
        assert cell.job["labels"]["repeat"] == str(cell.repeat)
        assert cell.job["name"].endswith(f"#{cell.repeat}")
    assert again.extend(tmp_path, [*quoted, *(cell.id for cell in added)]) == 0, "three are enough"


def test_another_leader_gets_its_turns_too(tmp_path: Path) -> None:
    before = planned(tmp_path)
    one, other = before.cells[0].id, before.cells[1].id
    assert (again.extend(tmp_path, [one]), again.extend(tmp_path, [one, other])) == (2, 2)
    ids = [cell.id for cell in plan.load(tmp_path / "plan.json").cells]
    assert len(ids) == len(set(ids)) == len(before.cells) + 4
