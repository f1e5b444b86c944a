"""The arithmetic of growth, and that what it is measured on can be made and read. No figure of a machine is judged."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from assay.bench import growth, many, works
from assay.bench.growth import GrowthPoint
from assay.bench.show import show
from assay.error import AssayError
from assay.price.choose.candidate import own
from assay.price.choose.workload import Workload
from assay.price.reading import read
from hypothesis import given
from hypothesis import strategies as st
from report.synthetic.record import Shape, asked, record


def law(exponent: float, factor: float = 1e-6, amounts: tuple[int, ...] = (100, 1000, 10_000)) -> list[GrowthPoint]:
    return [GrowthPoint(amount, factor * amount**exponent) for amount in amounts]


@given(st.floats(0.1, 3), st.floats(1e-9, 1))
def test_the_exponent_of_a_power_law_is_found_whatever_its_factor(exponent: float, factor: float) -> None:
    found = growth.fit(law(exponent, factor))
    assert found is not None
    assert found.exponent == pytest.approx(exponent, rel=1e-6)
    assert found.low == pytest.approx(found.high, abs=1e-5)


def test_the_interval_is_that_of_a_slope() -> None:
    """Four points at x = 0, 1, 2, 3 with residuals of a fit worked by hand: slope 0.9, residual sum 0.7."""
    points = [GrowthPoint(math.exp(x), math.exp(y)) for x, y in ((0, 1.0), (1, 3.0), (2, 3.0), (3, 4.0))]
    found = growth.fit(points)
    assert found is not None
    assert found.exponent == pytest.approx(0.9)
    # t(0.975, 2 degrees of freedom) = 4.3027; the standard error is the root of 0.7 / 2 / 5.
    assert found.high - found.exponent == pytest.approx(4.3027 * math.sqrt(0.7 / 2 / 5), rel=1e-4)


def test_n_log_n_is_not_worse_than_itself_and_a_square_is() -> None:
    amounts = (100, 1000, 10_000)
    itself = growth.fit([GrowthPoint(amount, amount * math.log(amount)) for amount in amounts for _ in range(2)])
    assert itself is not None
    assert not itself.worse
    assert itself.allowed == pytest.approx(itself.exponent, abs=0.02)
    square = growth.fit(law(2.0) * 2)
    assert square is not None
    assert square.worse
    two = growth.fit(law(2.0, amounts=(10, 100)))
    assert two is not None
    assert not two.worse
    assert two.high == math.inf


def test_one_amount_has_no_exponent_and_start_does_not_count() -> None:
    assert growth.fit(law(1.0, amounts=(10,)) * 3) is None
    assert growth.fit([]) is None
    shifted = [GrowthPoint(point.amount, point.cpu_s + 0.4) for point in law(1.0)]
    found = growth.fit(growth.net(shifted, 0.4))
    assert found is not None
    assert found.exponent == pytest.approx(1.0, abs=1e-6)
    assert growth.net([GrowthPoint(10, 0.3)], 0.4) == []


def _record() -> Any:
    asked_for = asked("reads")
    return record("r", [Shape("reads", 1000.0, 1e5, asked_for)], {}, reasons=[], seed=1)


def test_folders_and_machines_of_any_size_are_what_the_commands_read(tmp_path: Path) -> None:
    made = many.runs(tmp_path / "runs", _record(), 40)
    cells = json.loads((made / "plan.json").read_text())["cells"]
    assert len(cells) == 40 == len({cell["id"] for cell in cells})
    assert {path.stem for path in (made / "records").iterdir()} == {cell["id"] for cell in cells}
    machines = own(many.machines(tmp_path / "own.toml", 25))
    assert len({machine.name for machine in machines}) == 25
    (tmp_path / "w.toml").write_text(many.WORKLOAD)
    assert read(tmp_path / "w.toml", Workload, "a workload").capacity == 2e12


def test_a_result_is_shown_with_its_exponent_and_what_is_worse(capsys: pytest.CaptureFixture[str]) -> None:
    work = {
        "name": "report", "unit": "runs", "start_cpu_s": 0.4,
        "points": [{"times": 10**step, "amount": 100 * 10**step, "cpu_s": 0.5 * 100**step} for step in range(3)],
        "exponent": 2.0, "low": 1.9, "high": 2.1, "n_log_n": 1.15, "worse": True,
        "largest": {"wall_s": 11.0, "bytes": 19e6, "within": False},
    }  # fmt: skip
    start = {"name": "assay --help", "wall_s": 0.1, "cpu_s": 0.09, "most_s": 0.15, "within": True}
    result = {"bench": "scaling", "works": [work], "starts": [start], "repeats": 3, "load": 0.5}
    show("scaling", result, as_json=False)
    said = capsys.readouterr().out
    assert "1.90 to 2.10" in said
    assert "grows faster than n log n: report" in said
    assert "11.0 s, 19.0 MB (beyond" in said
    assert "100 ms by the clock" in said


def test_every_work_has_a_name_of_its_own_and_some_work_to_begin_with() -> None:
    found = works.every({})
    assert len({work.name for work in found}) == len(found)
    assert all(work.smallest > 1 for work in found)


def test_a_work_that_is_none_is_refused_before_anything_runs() -> None:
    with pytest.raises(AssayError, match="no work `reports`") as refused:
        works.measure(1, ["reports"], print)
    assert "report" in str(refused.value.hint)


def test_who_waits_hears_what_is_measured_next(assayer: Path) -> None:
    heard: list[str] = []
    found = works.measure(1, ["null"], heard.append, (1,))
    assert heard == ["[1/1] null: 1 x 1,000,000 operations"]
    assert [work["name"] for work in found["works"]] == ["null"]
