"""HOSTS.toml: where the scheduler is, and which hosts belong to the fleet, each with what is measured on it."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field, ValidationError

from assay.document import limits
from assay.document.identifier import Identifier
from assay.document.table import Table
from assay.error import BAD_JOB
from assay.fleet import ssh
from assay.fleet.error import FleetError
from assay.fleet.ssh import COMMAND, Destination


class HostTable(Table):
    """One host."""

    name: str
    on: list[str] = Field(default_factory=list)
    ssh: str = ""
    assay: str = COMMAND


class FleetTable(Table):
    """The file."""

    scheduler: str = ""
    keys: str = ""
    listen: str = ""
    hosts: list[HostTable] = Field(min_length=1)


@dataclass(frozen=True)
class Fleet:
    """Where to connect to, by which keys, targets by host, and the hosts on which the worker is to be started.

    No scheduler: one is started for the run, which listens at `listen` or where the hosts see this machine.
    """

    scheduler: str
    keys: Path | None
    listen: str
    on: dict[str, list[str]]
    places: tuple[Destination, ...]

    def check(self, path: Path) -> None:
        """Refuses a fleet that nothing would bring together."""
        named = {one.name for one in self.places}
        if not self.scheduler and (bare := next((host for host in self.on if host not in named), None)):
            hint = "name the scheduler that its worker connects to, or say how it is reached: ssh = ..."
            raise FleetError(f"{path} names no scheduler, and nothing starts a worker on {bare}", hint)


def read(path: Path) -> Fleet:
    """A file of hosts. Its folder of keys is named from where the file lies.

    Raises:
        FleetError: where it cannot be read, or is none.
    """
    try:
        table = FleetTable.model_validate(limits.toml(path.read_text(encoding="utf-8"), str(path)))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise FleetError(f"{path} cannot be read: {error}", "docs/fleet.md shows such a file", BAD_JOB) from error
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in problem["loc"]) or "the file"
        raise FleetError(f"{path}, {where}: {problem['msg']}", "docs/fleet.md shows such a file", BAD_JOB) from error
    found: dict[str, list[str]] = {}
    for host in table.hosts:
        name = Identifier.parse(host.name, "name of a host")
        if name in found:
            raise FleetError(f"{path} names {name} twice", "give each host a name of its own")
        found[name] = host.on
    places = tuple(ssh.place(f"{host.name}={host.ssh}", host.assay) for host in table.hosts if host.ssh)
    keys = path.parent / table.keys if table.keys else None
    return Fleet(table.scheduler, keys, table.listen, found, places)
