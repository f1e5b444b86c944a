"""Hosts on which Assay starts the workers itself, over ssh; a scheduler here where none was named."""

from __future__ import annotations

import contextlib
import platform
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.binary import Binary
from assay.error import NOT_POSSIBLE
from assay.fleet import children, keys, ssh, work
from assay.fleet.error import FleetError
from assay.fleet.ssh import Connection, Destination
from assay.units.parse import format_bytes
from assay.untyped import Json

Agree = Callable[[str], None]
"""Asks whether something is meant; raises where it is not."""
_DAYS = 2


@dataclass(frozen=True)
class Remote:
    """Which hosts, and what was said of the scheduler and the keys; nothing where both are made for this run."""

    places: Sequence[Destination]
    scheduler: str = ""
    keys: Path | None = None
    listen: str = ""

    def check(self) -> None:
        """Refuses what cannot be meant."""
        names = [one.name for one in self.places]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise FleetError(f"two hosts are called {twice}", "name them: NAME=DESTINATION")
        if self.scheduler and self.keys is None:
            raise FleetError("hosts connect to a scheduler by certificates", "name their folder with --keys")
        if self.scheduler and self.listen:
            raise FleetError("--listen is where a scheduler of this run listens, and one was named", "leave it out")


@dataclass(frozen=True)
class Begun:
    """Where the scheduler listens, and by which keys it is spoken to."""

    address: str
    keys: Path


@contextlib.contextmanager
def started(asked: Remote, agree: Agree) -> Iterator[Begun]:
    """Workers on all hosts, meanwhile; they end with their connections."""
    asked.check()
    with contextlib.ExitStack() as running:
        # All at once: each takes a second or more to answer.
        hosts = [running.enter_context(ssh.opened(one)) for one in asked.places]
        found = _alike(hosts, agree)
        place = asked.keys or Path(running.enter_context(tempfile.TemporaryDirectory(prefix="assay-fleet-")))
        _pairs(place, [host.where.name for host in hosts], keys.DAYS if asked.keys else _DAYS)
        where = asked.scheduler
        if not where:
            _, where = running.enter_context(children.scheduler(asked.listen or _caller(found), place))
        for host in hosts:
            host.tell(_order(host.where.name, where, place, str(found[host.where.name]["called"])))
        for host in hosts:
            host.answer()
        try:
            yield Begun(where, place)
        finally:
            # All at once; what follows waits for each.
            for host in hosts:
                host.end()


def _alike(hosts: Sequence[Connection], agree: Agree) -> dict[str, Json]:
    """What hosts say of themselves, when all have the same program; sent to those that lack it, if that is meant."""
    found = {host.where.name: host.answer() for host in hosts}
    ours = work.versions()
    for name, one in found.items():
        for key, what in (("assay", "Assay"), ("dask", "Dask's distributed")):
            if one[key] != ours[key]:
                message = f"{name} has {what} {one[key]}, and this machine {ours[key]}"
                raise FleetError(message, "install the same on all of them", NOT_POSSIBLE)
    if len(seen := {str(one["assayer_sha256"]) for one in found.values()}) == 1 and all(seen):
        return found
    program = Binary.find().path
    digest = work.digest(program)
    differing = [host for host in hosts if found[host.where.name]["assayer_sha256"] != digest]
    _send(differing, found, program, digest, agree)
    return found | {host.where.name: host.answer() for host in differing}


def _send(hosts: Sequence[Connection], found: dict[str, Json], program: Path, digest: str, agree: Agree) -> None:
    """Has them use this machine's program; they keep what they were sent once."""
    lack = [host for host in hosts if digest not in found[host.where.name]["programs"]]
    machine = platform.machine()
    if other := next((host for host in lack if found[host.where.name]["machine"] != machine), None):
        name = other.where.name
        message = f"{name} has another program, and is of another kind: {found[name]['machine']}, this one {machine}"
        raise FleetError(message, "hosts of a fleet measure by the same program", NOT_POSSIBLE)
    size = program.stat().st_size
    if lack:
        names = ", ".join(host.where.name for host in lack)
        agree(
            f"the measuring program of this machine (SHA-256 {digest[:12]}, {format_bytes(size)}) is not on {names}; "
            "it is to be sent, and stays there in the user's state folder"
        )
    for host in hosts:
        if host in lack:
            host.tell({"do": "receive", "sha256": digest, "bytes": size}, program)
        else:
            host.tell({"do": "use", "sha256": digest})


def _caller(found: dict[str, Json]) -> str:
    """The address of this machine as the hosts see it."""
    seen = {str(one["caller"]) for one in found.values()}
    if len(seen) == 1 and (one := seen.pop()):
        return one
    told = ", ".join(f"{name} sees {one['caller'] or 'nothing'}" for name, one in found.items())
    message = f"at which address the hosts reach this machine cannot be told from their connections ({told})"
    raise FleetError(message, "say it: --listen ADDRESS")


def _pairs(place: Path, hosts: Sequence[str], days: int) -> None:
    """Certificates for all; made where they are not there."""
    names = [keys.SCHEDULER, keys.RUN, *hosts]
    if not all((place / f"{name}.{end}").is_file() for name in names for end in ("pem", "key")):
        keys.make(place, hosts, days)


def _order(name: str, where: str, place: Path, listen: str) -> Json:
    pair = keys.Pair.of(place, name)
    files = {"authority": pair.authority, "certificate": pair.certificate, "key": pair.key}
    order = {"do": "work", "name": name, "scheduler": where, "listen": listen}
    return order | {part: path.read_text(encoding="ascii") for part, path in files.items()}
