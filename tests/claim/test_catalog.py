"""The catalog of claims is whole, and says of every published figure what is done with it."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from assay.claim.model import known, load, parse
from assay.claim.question import points, streams_of
from assay.claim.reproduce import needed
from assay.claim.take import compare, evaluate
from assay.claim.unit import base_of
from assay.claim.value import ClaimValue
from assay.error import AssayError
from assay.target import names

PUBLISHED = Path(__file__).resolve().parents[2].parent / "shared" / "claims.csv"


@pytest.mark.parametrize("name", known())
def test_every_expression_can_be_computed(name: str) -> None:
    study = load(name)
    sweeps = {run: len(next(iter(found.sweep.values()))) if found.sweep else 1 for run, found in study.runs.items()}

    def leaf(text: str) -> ClaimValue | list[ClaimValue]:
        count = sweeps[text.split(".", maxsplit=1)[0]]
        return ClaimValue(2.0) if count == 1 else [ClaimValue(2.0)] * count

    for claim in study.claims:
        if claim.take:
            assert evaluate(claim.take, leaf).number > 0
            assert base_of(claim.unit) > 0
    for statement in study.statements:
        for text in statement.holds:
            compare(text, leaf)


@pytest.mark.parametrize("name", known())
def test_every_run_is_needed_and_makes_streams(name: str) -> None:
    study = load(name)
    assert needed(study) == set(study.runs)
    for point in points(study, needed(study)):
        for stream in streams_of(point, names.is_memory(names.target(point.machine.on))):
            assert stream["size_bytes"] > 0


def test_every_published_claim_is_there() -> None:
    if not PUBLISHED.is_file():
        pytest.skip(f"the list of published claims is not at {PUBLISHED.name} beside this checkout")
    with PUBLISHED.open(encoding="utf-8") as lines:
        published = {row["claim"] for row in csv.DictReader(lines)}
    assert published <= {claim.id for name in known() for claim in load(name).claims}


def test_a_study_without_claims_is_named() -> None:
    with pytest.raises(AssayError, match="no claims of a study `dena`") as caught:
        load("dena")
    assert "dana" in caught.value.hint


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("version = ", "no TOML"),
        ("version = 2", "version"),
        (
            (
                'version = 1\nstudy = "x"\ntitle = ""\nsource = ""\nmachines = {}\nclaims = []\n'
                '[runs.a]\nmachine = "none"\npath = "pread"\nstreams = {}'
            ),
            "machine",
        ),
    ],
)
def test_a_broken_file_is_a_sentence(text: str, match: str) -> None:
    with pytest.raises(AssayError, match=match):
        parse(text, "x.toml")
