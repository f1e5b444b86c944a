"""Where a fleet listens: on this machine alone, or behind certificates. Anything else is refused."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from assay.fleet.error import FleetError


@dataclass(frozen=True)
class Address:
    """`tls://HOST:PORT` or `tcp://HOST:PORT`."""

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether only processes of this machine reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


def parse(text: str, keyed: bool) -> Address:
    """An address, refused where it would be open to others.

    Raises:
        FleetError: where it is no address, or listens beyond this machine without certificates.
    """
    scheme, _, rest = text.partition("://")
    host, _, port = rest.rpartition(":")
    if scheme not in ("tls", "tcp") or not host or not port.isdigit():
        raise FleetError(f"`{text}` is no address of a fleet", "write tls://HOST:PORT, such as tls://192.0.2.1:8786")
    found = Address(scheme, host.strip("[]"), int(port))
    if scheme == "tls" and not keyed:
        raise FleetError(
            f"{found} wants certificates", "name their folder with --keys; `assay fleet keys DIR` makes it"
        )
    if scheme == "tcp" and keyed:
        raise FleetError(f"{found} uses no certificates, and --keys was given", "write tls://, or leave --keys out")
    if scheme == "tcp" and not found.is_loopback:
        message = (
            f"{found} would be open to everybody who reaches it: whoever connects could have this machine measured"
        )
        raise FleetError(
            message, "use tls:// with --keys DIR (`assay fleet keys DIR` makes certificates), or 127.0.0.1"
        )
    return found
