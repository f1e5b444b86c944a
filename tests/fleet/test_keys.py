"""Certificates of a fleet."""

import stat
from pathlib import Path

import pytest
from assay.error import AssayError
from assay.fleet import keys

pytest.importorskip("cryptography")


def test_keys_are_this_users_alone_and_what_is_there_stays(tmp_path: Path) -> None:
    place = tmp_path / "keys"
    made = keys.make(place, ["a", "b"], 30)
    assert {path.name for path in made} == {
        f"{n}.{e}" for n in ("ca", "scheduler", "run", "a", "b") for e in ("pem", "key")
    }
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in made)
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    before = (place / "ca.key").read_bytes()
    assert {path.name for path in keys.make(place, ["a", "c"], 30)} == {"c.pem", "c.key"}
    assert (place / "ca.key").read_bytes() == before


def test_a_pair_is_signed_by_the_authority_and_by_no_other(tmp_path: Path) -> None:
    from cryptography import x509
    from cryptography.exceptions import InvalidSignature

    for name in ("one", "two"):
        keys.make(tmp_path / name, ["a"], 30)

    def read(*parts: str) -> x509.Certificate:
        return x509.load_pem_x509_certificate(tmp_path.joinpath(*parts).read_bytes())

    read("one", "a.pem").verify_directly_issued_by(read("one", "ca.pem"))
    with pytest.raises(InvalidSignature):
        read("one", "a.pem").verify_directly_issued_by(read("two", "ca.pem"))


def test_a_key_that_others_may_read_is_refused(tmp_path: Path) -> None:
    keys.make(tmp_path, ["a"], 30)
    (tmp_path / "a.key").chmod(0o644)
    with pytest.raises(AssayError, match="others may read"):
        keys.Pair.of(tmp_path, "a")
    with pytest.raises(AssayError, match="is not there"):
        keys.Pair.of(tmp_path, "b")
    with pytest.raises(AssayError, match="cannot be the name"):
        keys.Pair.of(tmp_path, "../a")
    with pytest.raises(AssayError, match="files of the fleet itself"):
        keys.make(tmp_path, ["ca"], 30)
