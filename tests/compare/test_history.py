"""Series over result folders, and where they change."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from assay.compare import change, history
from assay.compare.error import CompareError
from scipy import stats

from compare.folders import Made, write

DAY = 86_400.0


def folders(base: Path, levels: list[float], **more: Any) -> list[Path]:
    lots = np.random.default_rng(3)
    found = []
    for place, level in enumerate(levels):
        values = [level * float(np.exp(lots.normal(0, 0.004))) for _ in range(3)]
        made = Made(values, [place * DAY + at for at in (0, 1, 2)], **more)
        found.append(write(base / f"run-{place:07x}a", made))
    return found


def test_a_series_without_a_change_rarely_shows_one() -> None:
    seed = random.SystemRandom().getrandbits(32)
    lots = np.random.default_rng(seed)
    found = sum(bool(change.changes(lots.standard_t(3, 20).tolist())) for _ in range(60))
    assert found <= stats.binom.ppf(1 - 1e-7, 60, 0.05), f"{found} of 60; seed {seed}"


def test_a_clear_change_is_found_where_it_is() -> None:
    seed = random.SystemRandom().getrandbits(32)
    series = np.random.default_rng(seed).normal(0, 0.01, 40)
    series[22:] += 0.2
    found = change.changes(series.tolist())
    assert 22 in [one.at for one in found], f"{found}; seed {seed}"
    one = next(one for one in found if one.at == 22)
    assert one.first <= 22 <= one.last
    assert one.low <= one.shift <= one.high
    assert one.shift == pytest.approx(0.2, abs=0.02)


def test_there_and_back_are_two_changes() -> None:
    series = np.random.default_rng(1).normal(0, 0.01, 60)
    series[20:35] += 0.3
    assert [one.at for one in change.changes(series.tolist())] == [20, 35]


def test_short_and_constant_series_have_no_change() -> None:
    assert change.changes([1.0, 2.0, 30.0, 40.0]) == []
    assert change.changes([5.0] * 30) == []


def test_the_energy_statistic_is_that_of_its_definition() -> None:
    series = np.random.default_rng(2).normal(0, 1, 14)

    def energy(place: int) -> float:
        a, b = series[:place], series[place:]
        n, m = len(a), len(b)
        between = 2 / (n * m) * sum(abs(x - y) for x in a for y in b)
        inside = [sum(abs(x - y) for x in part for y in part) / (len(part) * (len(part) - 1)) for part in (a, b)]
        return float(n * m / (n + m) * (between - sum(inside)))

    found = {place: energy(place) for place in range(change.SHORTEST, len(series) - change.SHORTEST + 1)}
    place, statistic = change.strongest(series)
    assert place == max(found, key=lambda one: found[one])
    assert statistic == pytest.approx(max(found.values()))


def test_a_history_names_the_folder_from_which_on_it_is_worse(tmp_path: Path) -> None:
    made = folders(tmp_path, [1000.0] * 8 + [900.0] * 8)
    found = history.read(made[::-1], "ops_rate", "date")
    (series,) = found.series
    assert [step.directory for step in series.steps] == made
    (one,) = series.changes
    assert one.at == 8
    sentence = history.sentences(series)[0]
    assert sentence.startswith("Worse from 2026-03-22")
    document = json.loads(json.dumps(found.document(), allow_nan=False))
    assert document["series"][0]["changes"][0]["ratio"] == pytest.approx(0.9, rel=0.02)


def test_a_history_over_commits_takes_them_from_the_folders_in_the_order_given(tmp_path: Path) -> None:
    made = folders(tmp_path, [1000.0] * 3)
    found = history.read(made, "service_p50", "commit")
    assert [step.name for step in found.series[0].steps] == ["0000000a", "0000001a", "0000002a"]
    assert "a change can be shown from 8 on" in history.sentences(found.series[0])[0]
    plain = made[0].rename(tmp_path / "plain")
    with pytest.raises(CompareError, match="does not say which commit"):
        history.read([plain], "ops_rate", "commit")


def test_a_history_over_firmware_orders_versions_by_number(tmp_path: Path) -> None:
    versions = ["1.10", "1.9", "1.2"]
    made = [
        write(tmp_path / f"f{place}", Made([1000.0], [place * DAY], environment={"targets.device.firmware": version}))
        for place, version in enumerate(versions)
    ]
    found = history.read(made, "ops_rate", "firmware")
    assert [step.name for step in found.series[0].steps] == ["1.2", "1.9", "1.10"]
    with pytest.raises(CompareError, match="not known"):
        history.read(made, "ops_rate", "moon")


def test_invalid_records_are_no_part_of_a_history(tmp_path: Path) -> None:
    made = folders(tmp_path, [1000.0, 1000.0], status={1: ("invalid", "errors")})
    found = history.read(made, "ops_rate", "date")
    assert {len(step.point.rows) for step in found.series[0].steps} == {2}


def test_another_version_and_a_metric_nobody_has_are_sentences(tmp_path: Path) -> None:
    made = folders(tmp_path, [1000.0])
    with pytest.raises(CompareError, match="no folder has a valid value of flush_p99"):
        history.read(made, "flush_p99", "date")
    other = write(tmp_path / "other", Made([1.0], [0.0], version=3))
    with pytest.raises(CompareError, match="has version 3"):
        history.read([*made, other], "ops_rate", "date")


def test_the_page_of_a_history_holds_its_figure(tmp_path: Path) -> None:
    from assay.compare.view import page

    found = history.read(folders(tmp_path, [1000.0] * 8 + [900.0] * 8), "ops_rate", "date")
    text = page.write_history(tmp_path / "history.html", found).read_text()
    data = json.loads(text.split('id="assay-data">')[1].split("</script>")[0])
    assert set(data["figures"]) == {"history"}
    assert "Worse from" in text
