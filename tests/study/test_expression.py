"""`${...}` in study files."""

from __future__ import annotations

import contextlib

import pytest
from assay.error import AssayError
from assay.study.expression import ExpressionError, Names, label_of, substitute
from hypothesis import given
from hypothesis import strategies as st

NAMES = Names(
    {"threads": 4, "path": {"name": "fast", "depth": "${threads * 8}"}},
    {"data": "5GiB", "double": "${data * 2}", "loop": "${pool}", "pool": "${loop}"},
)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("${threads}", 4),
        ("${data}", "5GiB"),
        ("${data * threads}", 20 * 2**30),
        ("${double // threads}", 10 * 2**30 // 4),
        ("${min(threads, 2) + 1}", 3),
        ("${path.depth}", 32),
        ("log-${threads}-${path}", "log-4-fast"),
        ("${-threads}", -4),
        ("plain", "plain"),
    ],
)
def test_values(text: str, wanted: object) -> None:
    assert substitute(text, NAMES) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "${thraeds}",
        "${loop}",
        "${threads / 0}",
        "${path.depht}",
        "${threads.depth}",
        "${__import__('os')}",
        "${threads ** 99}",
        "${[1]}",
        "${threads +}",
        "${path + 1}",
        "${data if 1 else 2}",
    ],
)
def test_what_cannot_be_computed_is_refused(text: str) -> None:
    with pytest.raises(AssayError) as caught:
        substitute(text, NAMES)
    assert caught.value.code == 2


def test_an_unknown_name_says_which_is_near() -> None:
    with pytest.raises(ExpressionError) as caught:
        substitute("${thraeds}", NAMES)
    assert "did you mean `threads`" in caught.value.hint


@given(st.text(alphabet="abct{}$+-*/%(). 0123456789_'\"[]", max_size=30))
def test_any_text_gives_a_value_or_a_sentence(text: str) -> None:
    with contextlib.suppress(AssayError):
        substitute("${" + text + "}", NAMES)


def test_labels_of_factors() -> None:
    assert [label_of(value) for value in (4, 4.0, 0.5, True, "x", {"name": "n"})] == ["4", "4", "0.5", "true", "x", "n"]
