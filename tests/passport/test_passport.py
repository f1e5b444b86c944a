"""A passport says what was measured, whoever changes it is found out, and two can be compared."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from assay.passport import plausible, read, seal
from assay.passport.document import PassportFigure
from assay.untyped import Json
from commands import assay
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from passport.conftest import taken

Change = Callable[[Callable[[Json], None]], Path]


def verified(path: Path, *more: str) -> tuple[int, Json]:
    done = assay("passport", "verify", str(path), *more, "--json")
    found: Json = json.loads(done.stdout)
    return done.returncode, found["passports"][0] if "passports" in found else found


def signed_again(path: Path, how: Callable[[Json], None], key: Path) -> Path:
    """A liar with a key: the figures are changed and signed."""
    body = json.loads(path.read_text())["passport"]
    how(body)
    path = key.with_name("lie.passport")
    path.write_text(json.dumps(seal.signed(body, seal.own_key(key))))
    return path


def test_a_passport_holds_what_it_promises(modelled: Path, root: Path) -> None:
    document = json.loads(modelled.read_text())
    Draft202012Validator(json.loads((root / "schema" / "passport.schema.json").read_text())).validate(document)
    found = read.read(modelled)
    assert found.good
    body = found.passport
    assert body.made.by == "A tester"
    assert "970 EVO Plus" in body.device.model
    assert {one.provenance for one in body.figures} == {"modelled"}
    known = {one.id for one in body.figures}
    assert {"read.service_p50", "reads.ops_rate", "commit.ops_rate", "scan.bandwidth", "mix.ops_rate"} <= known
    assert "sustained.bandwidth" in known
    assert body.state.initialised.answer == "yes"
    assert body.state.cached.answer == "no"
    assert sum((body.verdicts.valid, body.verdicts.suspect, body.verdicts.invalid)) == len(body.runs)


def test_nothing_in_it_names_the_machine(modelled: Path) -> None:
    text = modelled.read_text()
    names = ("mount_point", '"host"', '"serial"', '"path": "/', str(modelled.parent))
    assert not [name for name in names if name in text]


def test_the_badge_is_a_picture_that_says_it_is_modelled(modelled: Path) -> None:
    picture = ET.parse(modelled.with_suffix(".svg")).getroot()  # noqa: S314  Made by the test.
    said = " ".join(picture.itertext())
    assert "Samsung 970 EVO Plus" in said
    assert "modelled" in said
    assert read.read(modelled).fingerprint in said


def test_the_key_is_kept_for_its_owner_alone(tmp_path: Path) -> None:
    place = tmp_path / "deep" / "own.key"
    first = seal.own_key(place)
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert seal.own_key(place).private_bytes_raw() == first.private_bytes_raw()
    place.chmod(0o640)
    with pytest.raises(seal.SealError, match="others may read"):
        seal.own_key(place)
    place.chmod(0o600)
    place.write_text("no key")
    with pytest.raises(seal.SealError, match="holds no key"):
        seal.own_key(place)


@pytest.mark.parametrize(
    "how",
    [
        lambda one: one["passport"]["figures"][0].update(value=one["passport"]["figures"][0]["value"] * 0.999),
        lambda one: one["passport"]["device"].update(firmware="newer"),
        lambda one: one["passport"]["runs"].pop(),
        lambda one: one["passport"]["verdicts"].update(suspect=0, findings=[]),
        lambda one: one.update(signature=seal.signed(one["passport"], Ed25519PrivateKey.generate())["signature"]),
        lambda one: one.update(key="AAAA"),
        lambda one: one.update(signature=""),
    ],
)
def test_whoever_changes_it_is_found_out(changed: Change, how: Callable[[Json], None]) -> None:
    code, found = verified(changed(how))
    assert code == 1
    assert not found["signature"]


def test_every_digit_of_the_file_counts(modelled: Path, tmp_path: Path) -> None:
    text = modelled.read_text()
    place = text.index('"mean_ns"') + len('"mean_ns": ')
    other = "7" if text[place] != "7" else "3"
    path = tmp_path / "digit.passport"
    path.write_text(text[:place] + other + text[place + 1 :])
    assert verified(path)[0] == 1


def test_a_lie_that_is_signed_does_not_follow_from_its_runs(modelled: Path, tmp_path: Path) -> None:
    def better(body: Json) -> None:
        body["figures"][0]["value"] /= 2

    code, found = verified(signed_again(modelled, better, tmp_path / "liar.key"))
    assert code == 1
    assert found["signature"]
    assert "its runs give" in found["problems"][0]


def test_figures_that_contradict_each_other_are_not_plausible(modelled: Path, tmp_path: Path) -> None:
    def faster(body: Json) -> None:
        for run in body["runs"]:
            for one in run["record"]["classes"]:
                one["ops_rate"]["value"] *= 10
        for figure in body["figures"]:
            if figure["id"].endswith("ops_rate"):
                figure.update({key: figure[key] and figure[key] * 10 for key in ("value", "low", "high")})

    path = signed_again(modelled, faster, tmp_path / "liar.key")
    assert verified(path)[0] == 0
    code, found = verified(path, "--plausible")
    assert code == 1
    assert any("are not" in problem for problem in found["problems"])
    assert any("another device" in problem for problem in found["problems"])


def test_the_twin_is_found_by_the_model_and_holds_its_own_passport(modelled: Path) -> None:
    code, found = verified(modelled, "--plausible")
    assert code == 0, found
    assert found["twin"] == "970evoplus"
    assert len(found["beside_twin"]) >= 3
    code, found = verified(modelled, "--twin", "disk-7200")
    assert code == 1
    assert "another device" in " ".join(found["problems"])


def test_another_signer_is_told(modelled: Path) -> None:
    own = read.read(modelled)
    assert verified(modelled, "--key", own.fingerprint)[0] == 0
    assert verified(modelled, "--key", own.sealed.key)[0] == 0
    assert verified(modelled, "--key", "0000-0000-0000-0000")[0] == 1


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "{}", '{"passport": {}, "key": "", "signature": ""}'),
        *("[" * 100_000, '{"a": NaN}', '{"a":1,"a":2}', "\x00"),
    ],
)
def test_what_is_no_passport_is_refused_with_a_sentence(text: str, tmp_path: Path) -> None:
    path = tmp_path / "odd.passport"
    path.write_text(text)
    code, found = verified(path)
    assert code == 2
    assert found["error"]["message"]


def test_runs_that_are_no_records_are_a_problem_and_no_crash(modelled: Path, tmp_path: Path) -> None:
    odds: list[Json] = [{}, {"classes": 3, "job": []}, {"run": None, "job": {}, "classes": [{}], "verdict": []}]
    for odd in odds:

        def odder(body: Json, record: Json = odd) -> None:
            body["runs"][0]["record"] = record

        assert verified(signed_again(modelled, odder, tmp_path / "liar.key"), "--plausible")[0] == 1


def test_two_passports_are_compared_by_the_rules_of_compare(modelled: Path, assayer: Path, tmp_path: Path) -> None:
    other = tmp_path / "disk.passport"
    taken("twin:disk-7200", other)
    done = assay("compare", str(modelled), str(other), "--no-page", "--json")
    assert done.returncode == 0, done.stderr
    lines = json.loads(done.stdout)["comparisons"]
    assert {line["cell"] for line in lines} >= {"ask 32 reads at once", "ask scan"}
    # No test speaks of what twins give: their bands do.
    assert {line["reason"] for line in lines} <= {"bands-apart", "bands-within-margin", "bands-overlap"}
    assert all(
        line["outcome"] == "different" for line in lines if line["metric"] == "ops_rate" and "reads" in line["cell"]
    )
    assert all(line["better"] == "A" for line in lines if line["metric"] == "ops_rate")


def test_a_changed_passport_is_not_compared(modelled: Path, changed: Change) -> None:
    path = changed(lambda one: one["passport"]["made"].update(by="somebody else"))
    done = assay("compare", str(modelled), str(path), "--no-page")
    assert done.returncode == 2
    assert "does not hold" in done.stderr


def test_a_folder_is_measured_for_real(assayer: Path, tmp_path: Path) -> None:
    place = tmp_path / "data"
    place.mkdir()
    out = tmp_path / "real.passport"
    found = taken(str(place), out, "--volume", "a disk of the test")
    assert found["passport"]["volume"] == {"type": "a disk of the test", "origin": "said"}
    assert {one["provenance"] for one in found["passport"]["figures"]} <= {"measured", "emulated"}
    assert verified(out)[0] == 0
    assert list(place.iterdir()) == []


def test_what_cannot_be_written_is_said_before_it_measures(tmp_path: Path) -> None:
    done = assay("passport", "--on", str(tmp_path), "--out", str(tmp_path / "x.json"))
    assert done.returncode == 2
    assert ".passport" in done.stderr
    done = assay("passport", "--on", str(tmp_path), "--out", str(tmp_path / "no" / "x.passport"))
    assert done.returncode == 2
    assert "does not exist" in done.stderr


def test_a_figure_beside_a_twin_knows_its_band() -> None:
    plain: Json = {"runs": 1, "less_is_better": True, "verdict": "valid", "provenance": "measured"}
    figure = PassportFigure(id="read.service_p50", title="t", unit="ns", value=50_000, low=None, high=None, **plain)
    inside, outside = (plausible.BesideTwin(figure, *band) for band in ((60e3, 40e3, 80e3), (10e3, 9e3, 11e3)))
    assert inside.inside
    assert not outside.inside
    assert outside.ratio == 5
