"""Certificates of a fleet: an authority of its own, and a pair for each host. Who has no pair is not spoken to."""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.document.identifier import Identifier
from assay.fleet.error import FleetError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.x509 import Certificate, Name

AUTHORITY, SCHEDULER, RUN = "ca", "scheduler", "run"
"""Names of files: the authority, whom hosts connect to, and who orders runs."""
DAYS = 365
"""How long certificates are valid where nobody says."""
_OURS = (AUTHORITY, SCHEDULER, RUN)


@dataclass(frozen=True)
class Pair:
    """Who this process is: the authority that it believes, its certificate and its key."""

    authority: Path
    certificate: Path
    key: Path

    @classmethod
    def of(cls, folder: Path, name: str) -> Pair:
        """The pair of a host in a folder of keys.

        Raises:
            FleetError: where a file is not there, or others may read the key.
        """
        name = Identifier.parse(name, "name of a host")
        found = cls(folder / f"{AUTHORITY}.pem", folder / f"{name}.pem", folder / f"{name}.key")
        for path in (found.authority, found.certificate, found.key):
            if not path.is_file():
                hint = f"`assay fleet keys {folder} --host NAME` makes them; each host needs ca.pem, NAME.pem, NAME.key"
                raise FleetError(f"{path} is not there", hint)
        if found.key.stat().st_mode & 0o077:
            raise FleetError(f"others may read {found.key}", f"chmod 600 {found.key}, or make new keys")
        return found

    def security(self) -> Any:
        """As Dask wants it: encrypted in every direction, each side shows its certificate."""
        from distributed.security import Security

        roles = ("client", "scheduler", "worker")
        pairs = {f"tls_{role}_{kind}": str(path) for role in roles for kind, path in self._files()}
        return Security(tls_ca_file=str(self.authority), require_encryption=True, **pairs)

    def greet(self, opened: socket.socket) -> None:
        """A handshake over a connection, as Dask's: certificates of this authority on both sides, whatever the name."""
        context = ssl.create_default_context(ssl.Purpose.SERVER_AUTH, cafile=str(self.authority))
        context.check_hostname = False
        context.load_cert_chain(self.certificate, self.key)
        with context.wrap_socket(opened):
            pass

    def _files(self) -> tuple[tuple[str, Path], ...]:
        return ("cert", self.certificate), ("key", self.key)


def make(folder: Path, hosts: Sequence[str], days: int) -> list[Path]:
    """Makes what is not there yet: the authority, pairs of scheduler and runs, one for each host; what was made."""
    import cryptography  # noqa: F401  Asked for before anything is written.

    names = [Identifier.parse(host, "name of a host") for host in hosts]
    if taken := next((name for name in names if name in _OURS), None):
        raise FleetError(f"a host cannot be called `{taken}`: files of the fleet itself are", "call it otherwise")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder.stat().st_mode & 0o022:
        raise FleetError(f"others may write to {folder}", f"chmod 700 {folder}, or name another folder")
    made = [] if _whole(folder, AUTHORITY) else _authority(folder, days)
    for name in (SCHEDULER, RUN, *names):
        made += [] if _whole(folder, name) else _pair(folder, name, days)
    return made


def _whole(folder: Path, name: str) -> bool:
    return all((folder / f"{name}.{end}").is_file() for end in ("pem", "key"))


def _authority(folder: Path, days: int) -> list[Path]:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes

    key = _new_key()
    subject = _named("assay fleet authority")
    usage = _usage(key_cert_sign=True, crl_sign=True)
    made = _begun(subject, subject, key.public_key(), days)
    made = made.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    made = made.add_extension(usage, critical=True)
    return _written(folder, AUTHORITY, made.sign(key, hashes.SHA256()), key)


def _pair(folder: Path, name: str, days: int) -> list[Path]:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.x509.oid import ExtendedKeyUsageOID

    authority, signer = _read(folder)
    key = _new_key()
    both = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH])
    issued_by = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
    made = _begun(_named(name), authority.subject, key.public_key(), days)
    made = made.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    made = made.add_extension(_usage(digital_signature=True, key_agreement=True), critical=True)
    made = made.add_extension(both, critical=False).add_extension(issued_by, critical=False)
    made = made.add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
    return _written(folder, name, made.sign(signer, hashes.SHA256()), key)


def _begun(subject: Name, issuer: Name, public: Any, days: int) -> Any:
    from cryptography import x509

    now = datetime.now(UTC)
    # An hour of the past: clocks of hosts differ.
    made = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(public)
    made = made.serial_number(x509.random_serial_number())
    made = made.not_valid_before(now - timedelta(hours=1)).not_valid_after(now + timedelta(days=days))
    return made.add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)


def _usage(**allowed: bool) -> Any:
    from cryptography import x509

    every = (
        *("digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement"),
        *("key_cert_sign", "crl_sign", "encipher_only", "decipher_only"),
    )
    return x509.KeyUsage(**{name: allowed.get(name, False) for name in every})


def _named(name: str) -> Name:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _new_key() -> EllipticCurvePrivateKey:
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1())


def _read(folder: Path) -> tuple[Certificate, Any]:
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    certificate = x509.load_pem_x509_certificate((folder / f"{AUTHORITY}.pem").read_bytes())
    return certificate, load_pem_private_key((folder / f"{AUTHORITY}.key").read_bytes(), None)


def _written(folder: Path, name: str, certificate: Certificate, key: EllipticCurvePrivateKey) -> list[Path]:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    files = {f"{name}.key": secret, f"{name}.pem": certificate.public_bytes(Encoding.PEM)}
    for file, content in files.items():
        handle = os.open(folder / file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(handle, "wb") as opened:
            opened.write(content)
    return [folder / file for file in files]
