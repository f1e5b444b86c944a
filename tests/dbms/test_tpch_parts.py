"""TPC-H's parts: parameters by the rules, answers that differ are told apart, the statistics of two targets."""

import datetime as dt
import itertools
import math
import random
import subprocess
import sys
import time
from pathlib import Path
from unittest import mock

import pytest
from assay.dbms.tpch import answers, contrast, data, embedded, parameters, query
from assay.dbms.tpch.dialect import DIALECTS, DUCKDB
from assay.dbms.tpch.schema import TABLES
from assay.error import AssayError
from hypothesis import given
from hypothesis import strategies as st


@given(seed=st.integers(0, 2**32))
def test_drawn_parameters_keep_the_rules(seed: int) -> None:
    drawn = parameters.drawn(10, seed)
    assert drawn == parameters.drawn(10, seed)
    assert set(drawn) == set(query.NUMBERS)
    assert 60 <= (dt.date(1998, 12, 1) - drawn[1]["last_day"]).days <= 120
    assert 1 <= drawn[2]["size"] <= 50
    assert dt.date(1995, 3, 1) <= drawn[3]["day"] <= dt.date(1995, 3, 31)
    for number, months in ((4, 3), (5, 12), (6, 12), (10, 3), (12, 12), (14, 1), (15, 3), (20, 12)):
        first, end = drawn[number]["first_day"], drawn[number]["end_day"]
        assert first.day == end.day == 1
        assert end == parameters.months(first, months)
        assert 1993 <= first.year <= 1997
    assert dt.date(1993, 2, 1) <= drawn[10]["first_day"] <= dt.date(1995, 1, 1)
    assert max(drawn[n]["first_day"] for n in (4, 15)) <= dt.date(1997, 10, 1)
    assert drawn[7]["nation1"] != drawn[7]["nation2"]
    assert parameters.REGION_OF[drawn[8]["nation"]] == drawn[8]["region"]
    assert drawn[11]["fraction"] == "0.000010000000"
    assert drawn[12]["mode1"] != drawn[12]["mode2"]
    assert len(set(drawn[16]["sizes"])) == 8
    assert 312 <= drawn[18]["quantity"] <= 315
    assert [low <= drawn[19][f"quantity{n}"] <= high for n, low, high in ((1, 1, 10), (2, 10, 20), (3, 20, 30))]
    assert len(set(drawn[22]["codes"])) == 7


def test_there_are_as_many_words_as_the_specification_has() -> None:
    assert len(parameters.COLORS) == len(set(parameters.COLORS)) == 92
    assert len(parameters.REGION_OF) == 25
    assert math.prod(map(len, parameters.TYPES)) == 150
    assert math.prod(map(len, parameters.CONTAINERS)) == 40


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("seed", [None, 1])
def test_every_query_is_written_in_every_dialect(name: str, seed: int | None) -> None:
    for one in query.queries(DIALECTS[name], 1, seed=seed):
        assert one.sql.startswith(("select", "with"))
        assert "{" not in one.sql
        assert ("limit" in one.sql) != ("top" in one.sql or one.number not in (2, 3, 10, 18, 21))


def test_parts_of_the_name_of_a_query() -> None:
    assert query.chosen("1,6,9-12,q06") == [1, 6, 9, 10, 11, 12]
    for wrong in ("", "0", "23", "1-30", "x", "5-3"):
        with pytest.raises(AssayError, match="no query"):
            query.chosen(wrong)


@pytest.mark.parametrize("wrong", ["x", "0", "-1", "nan", "1e9"])
def test_scale_factors_that_make_no_sense_are_refused(wrong: str) -> None:
    with pytest.raises(data.DataError):
        data.scale_of(wrong)


def test_the_least_scale_factors_with_a_supplier_twice_are_refused_and_no_traceback() -> None:
    """`--scale 0.001` ended in a traceback of SQLite's: a UNIQUE constraint failed."""
    for wrong in ("0.001", "0.005", "0.012"):
        with pytest.raises(data.DataError, match="same supplier twice"):
            data.scale_of(wrong)
    assert [data.scale_of(good) for good in ("0.008", "0.01", "0.1", "1")] == [0.008, 0.01, 0.1, 1.0]


def test_a_generator_whose_run_was_killed_makes_no_folder_again(tmp_path: Path) -> None:
    """What was left behind after `kill -9`: the room had removed the folder, and the generator made it anew."""
    generator, out = tmp_path / "generator", tmp_path / "made"
    generator.write_text('#!/bin/sh\necho $$ > "$0.pid"; sleep 1; mkdir -p "$4"; sleep 60\n')
    generator.chmod(0o755)
    code = "import sys; from pathlib import Path; from assay.dbms.tpch import data\n"
    code += "data.program = lambda: sys.argv[1]; data.generate(Path(sys.argv[2]), 1.0)"
    run = subprocess.Popen([sys.executable, "-c", code, str(generator), str(out)])
    number = tmp_path / "generator.pid"
    while not (number.exists() and number.read_text().strip()) and run.poll() is None:
        time.sleep(0.01)
    run.kill()
    run.wait()
    out.rmdir()
    process = Path("/proc") / number.read_text().strip()
    for _ in range(200):
        if out.exists() or not process.exists():
            break
        time.sleep(0.01)
    assert not out.exists()


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """A drive's error as the file was closed: "Input/output error" and nothing else was said."""
    for table in TABLES:
        (tmp_path / f"{table.name}.tbl").write_text("")
    failing = mock.patch.object(data, "_compare", side_effect=OSError(5, "Input/output error"))
    with failing, pytest.raises(data.DataError, match=r"\.tbl cannot be read"):
        data.check(tmp_path, 1.0)


rows = st.lists(st.tuples(st.integers(0, 9), st.text("abc", max_size=3), st.floats(-1e6, 1e6)), min_size=1, max_size=9)


@given(rows=rows, seed=st.integers(0, 9))
def test_an_answer_in_another_order_is_the_same_answer(rows: list[answers.Row], seed: int) -> None:
    shuffled = random.Random(seed).sample(rows, len(rows))  # noqa: S311
    assert not answers.difference(shuffled, rows)
    assert not answers.against_summary(shuffled, answers.summary(rows))


@given(rows=rows, data_=st.data())
def test_one_value_that_differs_is_found(rows: list[answers.Row], data_: st.DataObject) -> None:
    place = data_.draw(st.integers(0, len(rows) - 1))
    column = data_.draw(st.integers(0, 2))
    changed = [list(row) for row in rows]
    largest = max(abs(float(row[2] or 0)) for row in rows)
    # A sum holds a millionth of the whole: a change must be above that.
    others: list[answers.Value] = [
        int(rows[place][0] or 0) + 1,
        f"{rows[place][1]}x",
        float(rows[place][2] or 0) + 1 + largest,
    ]
    changed[place][column] = others[column]
    wrong = [tuple(row) for row in changed]
    assert answers.difference(wrong, rows)
    assert answers.against_summary(wrong, answers.summary(rows))


def test_values_in_wrong_rows_are_found() -> None:
    right: list[answers.Row] = [("a", 1.0), ("b", 2.0), ("c", 3.0)]
    wrong: list[answers.Row] = [("a", 3.0), ("b", 2.0), ("c", 1.0)]
    assert "column 2" in answers.against_summary(wrong, answers.summary(right))


def test_rounding_and_padding_are_no_difference() -> None:
    right = answers.plain([("a  ", 100.0, dt.date(1995, 1, 1)), ("b", 3.0, None)])
    close = answers.plain([("a", 100.0 * (1 + 1e-9), "1995-01-01"), ("b", 3.0, None)])
    assert not answers.difference(close, right)
    assert not answers.against_summary(close, answers.summary(right))


def test_a_missing_row_and_a_wrong_order_are_found() -> None:
    assert "1 rows instead of 2" in answers.difference([(1,)], [(1,), (2,)])
    good: list[answers.Row] = [("A", "F"), ("N", "F"), ("N", "O")]
    assert not answers.misordered(1, good)
    for places in itertools.permutations(range(3)):
        if list(places) != [0, 1, 2]:
            assert answers.misordered(1, [good[place] for place in places])


def test_every_small_scale_has_an_answer_to_every_query() -> None:
    for scale in (0.01, 0.1, 1.0):
        assert list(answers.stored(scale)) == [query.name(number) for number in query.NUMBERS]
    assert answers.stored(1.0)["q01"]["rows"] == 4
    assert not answers.stored(2.0)


def test_targets_that_differ_are_told_from_those_that_do_not() -> None:
    source = random.Random(7)  # noqa: S311
    first = {f"q{n:02}": [source.lognormvariate(0, 0.02) for _ in range(5)] for n in range(22)}
    same = {name: [source.lognormvariate(0, 0.02) for _ in range(5)] for name in first}
    slower = {name: [2 * one for one in times] for name, times in same.items()}
    equal, different = contrast.contrast(first, same), contrast.contrast(first, slower)
    assert equal is not None
    assert different is not None
    assert [line.words for line in equal.queries if "no difference" not in line.words] == []
    assert all(line.words.startswith("slower") for line in different.queries)
    assert different.geometric_mean_ratio == pytest.approx(2, rel=0.05)
    assert different.mean_speedup == pytest.approx(0.5, rel=0.05)


def test_two_runs_are_not_tested() -> None:
    found = contrast.contrast({"q01": [1.0, 1.1]}, {"q01": [2.0, 2.1]})
    assert found is not None
    assert found.queries[0].p is None
    assert "not tested" in found.queries[0].words
    assert contrast.contrast({"q01": [1.0]}, {"q02": [1.0]}) is None


def test_dialects_write_dates_and_limits_their_own_way() -> None:
    assert DUCKDB.date(dt.date(1995, 3, 1)) == "date '1995-03-01'"
    assert DIALECTS["sqlite"].date("1995-03-01") == "'1995-03-01'"
    assert (DIALECTS["sqlserver"].top(5), DIALECTS["sqlserver"].limit(5)) == ("top 5", "")


def test_duckdbs_own_word_for_a_signal_is_an_interrupt() -> None:
    """SIGTERM in the middle of a load ended with a traceback of `RuntimeError: Query interrupted`."""
    with pytest.raises(KeyboardInterrupt), embedded._interruptible():
        raise RuntimeError("Query interrupted")
    with pytest.raises(RuntimeError, match="out of range"), embedded._interruptible():
        raise RuntimeError("out of range")
