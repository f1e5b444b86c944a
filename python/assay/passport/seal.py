"""The owner's key, and signatures: Ed25519 over canonical JSON."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from assay import home
from assay.error import BAD_JOB, AssayError

NAME = "passport.key"
_OTHERS = 0o077


class SealError(AssayError):
    """A key that cannot be made or must not be used."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message, hint=hint, code=BAD_JOB)


def canonical(document: Any) -> bytes:
    """The one text of a document: keys sorted, no blanks, ASCII."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return text.encode("ascii")


def own_key(path: Path | None = None) -> Ed25519PrivateKey:
    """The key in that file, which is made where it is not there; by default the one in the state folder of the user.

    Raises:
        SealError: where others may read it, or it is no key.
    """
    place = path or _place()
    try:
        return _made(place)
    except FileExistsError:
        return _read(place)
    except OSError as error:
        raise SealError(f"{place} cannot be made: {error.strerror}", "name another place with --key") from error


def _place() -> Path:
    folder = home.state()
    if folder is None:
        raise SealError("there is no home folder to keep a key in", "name a file with --key")
    return folder / NAME


def _made(place: Path) -> Ed25519PrivateKey:
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    key = Ed25519PrivateKey.generate()
    text = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    # The mode is there from the first moment, and nothing that lies there is written over.
    descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(text)
        os.fsync(file.fileno())
    return key


def _read(place: Path) -> Ed25519PrivateKey:
    try:
        with place.open("rb") as file:
            facts = os.fstat(file.fileno())
            text = file.read(1 << 16)
    except OSError as error:
        raise SealError(f"{place} cannot be read: {error.strerror}", "name another key with --key") from error
    if facts.st_mode & _OTHERS or facts.st_uid != os.geteuid():
        raise SealError(f"others may read the key {place}, or it is theirs", f"make it yours: chmod 600 {place}")
    try:
        key = serialization.load_pem_private_key(text, password=None)
    except (ValueError, TypeError) as error:
        raise SealError(f"{place} holds no key", "name another one with --key") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise SealError(f"the key in {place} is no Ed25519 key", "name another one with --key")
    return key


def signed(document: Any, key: Ed25519PrivateKey) -> dict[str, Any]:
    """The document with the public key and the signature."""
    raw = key.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    return {"passport": document, "key": _text(raw), "signature": _text(key.sign(canonical(document)))}


def holds(document: Any, key: str, signature: str) -> bool:
    """Whether the signature is that of the document by that key."""
    try:
        public = Ed25519PublicKey.from_public_bytes(base64.b64decode(key, validate=True))
        public.verify(base64.b64decode(signature, validate=True), canonical(document))
    except (ValueError, InvalidSignature):
        return False
    return True


def fingerprint(key: str) -> str:
    """What people compare of a public key: `3f2a-90bc-...`, 16 digits of its SHA-256."""
    try:
        raw = base64.b64decode(key, validate=True)
    except ValueError:
        raw = key.encode("utf-8")
    digits = hashlib.sha256(raw).hexdigest()[:16]
    return "-".join(digits[at : at + 4] for at in range(0, 16, 4))


def _text(raw: bytes) -> str:
    return base64.b64encode(raw).decode("ascii")
