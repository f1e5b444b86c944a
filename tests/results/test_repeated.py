"""Records that repeat a twin are read as any other, whatever else lies in its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from assay.document.limits import DocumentError
from assay.results import files
from assay.results.repeated import RepeatedTwins
from hypothesis import given
from hypothesis import strategies as st

TWIN = {"name": "p4610", "twin": {"inner": [1, 2.5, None]}, "note": 'says "twin": {'}


def record(*twins: Any, note: str = "") -> dict[str, Any]:
    return {"job": {"targets": [{"id": str(at), "twin": twin} for at, twin in enumerate(twins)]}, "note": note}


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
def test_a_twin_that_repeats_is_parsed_once(separators: tuple[str, str]) -> None:
    twins = RepeatedTwins()
    texts = [json.dumps(record(TWIN, TWIN, note=str(at)), separators=separators).encode() for at in range(3)]
    read = [twins.parsed(text) for text in texts]
    assert read == [json.loads(text) for text in texts]
    assert read[1]["job"]["targets"][0]["twin"] is read[2]["job"]["targets"][1]["twin"]


def test_what_only_looks_like_a_repeated_twin_stays_what_it_is() -> None:
    twins = RepeatedTwins()
    first = json.dumps(record(TWIN)).encode()
    assert twins.parsed(first) == json.loads(first)
    odd = [
        {"job": {"targets": []}, "elsewhere": {"twin": TWIN}},
        {"job": {"targets": [{"twin": TWIN}]}, "elsewhere": {"twin": TWIN}},
        {"job": None, "twin": TWIN},
        record({**TWIN, "name": "p4800x"}),
        record(None, "a text", TWIN),
        [TWIN, {"twin": TWIN}],
    ]
    for one in odd:
        text = json.dumps(one).encode()
        assert twins.parsed(text) == json.loads(text)


@given(
    st.lists(
        st.recursive(
            st.none() | st.integers() | st.text(),
            lambda inner: st.dictionaries(
                st.sampled_from(["twin", "job", "targets", "x"]), inner | st.lists(inner, max_size=2), max_size=3
            ),
        ),
        max_size=6,
    )
)
def test_any_documents_in_any_order_are_read_as_they_are(documents: list[Any]) -> None:
    twins = RepeatedTwins()
    for one in [record(TWIN), *documents, *(record(one) for one in documents)]:
        text = json.dumps(one).encode()
        assert twins.parsed(text) == json.loads(text)


def test_letters_beyond_ascii_cut_no_twin_short() -> None:
    twins = RepeatedTwins()
    for note in ("\u00b5s", "Gr\u00f6\u00dfe", ""):
        text = json.dumps(record({"name": "\u00d8 " + "\u00e9" * 9}, note=note), ensure_ascii=False).encode()
        assert twins.parsed(text) == json.loads(text)


def test_a_text_that_is_cut_is_refused_as_ever() -> None:
    twins = RepeatedTwins()
    text = json.dumps(record(TWIN)).encode()
    assert twins.parsed(text)
    with pytest.raises(ValueError, match=r"Expecting|Unterminated|delimiter"):
        twins.parsed(text[:-9])


def test_a_number_that_is_none_is_refused_wherever_a_reader_asks_for_it(tmp_path: Path) -> None:
    twins, path = RepeatedTwins(), tmp_path / "one.json"
    path.write_text(json.dumps(record(TWIN)), encoding="utf-8")
    assert files.read_json(path, twins) == files.read_json(path) == record(TWIN)
    path.write_text(json.dumps(record(TWIN, note="x")).replace('"x"', "NaN"), encoding="utf-8")
    with pytest.raises(DocumentError, match="NaN"):
        files.read_json(path, twins)
