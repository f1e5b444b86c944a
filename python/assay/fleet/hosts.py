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
from assay.fleet.error import FleetError


class HostTable(Table):
    """One host."""

    name: str
    on: list[str] = Field(default_factory=list)


class FleetTable(Table):
    """The file."""

    scheduler: str
    keys: str = ""
    hosts: list[HostTable] = Field(min_length=1)


@dataclass(frozen=True)
class Fleet:
    """Where to connect to, by which keys, and targets by host; no hosts where all that are there belong to it."""

    scheduler: str
    keys: Path | None
    on: dict[str, list[str]]


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
    return Fleet(table.scheduler, path.parent / table.keys if table.keys else None, found)
