"""Suites and checks, without a guest."""

from __future__ import annotations

import pytest
from assay_lab import check
from assay_lab.error import LabError


def test_every_check_has_a_name_of_its_own_and_says_what_it_asserts() -> None:
    for suite in check.names():
        checks = check.of_suite(suite)
        assert checks, f"the suite {suite} holds no check"
        names = [one.name for one in checks]
        assert len(names) == len(set(names)), f"two checks of {suite} have one name: {names}"
        assert all(one.about.endswith(".") for one in checks), f"{suite}: a check without a sentence"


def test_suites_and_single_checks_are_chosen_by_name() -> None:
    chosen = check.choose(["boot", "boot/program"])
    assert [one.name for one in chosen] == ["hardware", "program", "outputs"]
    assert [one.name for one in check.choose(["boot/program"])] == ["program"]
    assert {one.name for one in check.choose([])} >= {"hardware", "program"}
    assert all(one.ci for one in check.choose(["ci"]))


@pytest.mark.parametrize(("word", "said"), [("bot", "`boot`"), ("boot/progam", "`program`")])
def test_an_unknown_name_is_refused_with_the_closest_known_one(word: str, said: str) -> None:
    with pytest.raises(LabError) as caught:
        check.choose([word])
    assert said in caught.value.hint
    assert caught.value.code == 2
