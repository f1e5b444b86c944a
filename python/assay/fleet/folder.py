"""The result folder of a fleet: fleet.json, and below `hosts` an ordinary result folder for each host."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from assay.document.identifier import Identifier
from assay.error import BAD_JOB, AssayError
from assay.fleet.total import Seat, of_cell
from assay.record import Record
from assay.results import store
from assay.results.files import ResultError, make_folder, read_json, require_ours, write_json
from assay.results.journal import CellJournal, last_states
from assay.study import noisy, plan
from assay.study.cell import Cell
from assay.study.plan import Plan
from assay.untyped import Json

VERSION = 1
FILE = "fleet.json"


@dataclass
class HostFolder:
    """What one host was asked, and what it left."""

    host: str
    directory: Path
    plan: Plan
    journal: CellJournal

    def cell(self, name: str) -> Cell:
        """A cell of its plan."""
        return next(cell for cell in self.plan.cells if cell.id == name)

    def state(self, cell: str) -> Json:
        """The last that the journal says of a cell."""
        return last_states(self.journal.entries).get(cell, {})

    def record(self, cell: str) -> Record | None:
        """A cell's record."""
        path = self.directory / "records" / f"{cell}.json"
        return read_json(path) if path.is_file() else None

    def store(self, cell: str, found: Json) -> None:
        """What a host left of a cell: its record first, then the journal, so that the journal never lies."""
        if found["record"] is not None:
            write_json(self.directory / "records" / f"{cell}.json", found["record"])
        words = {key: found.get(key, "") for key in ("reason", "fix")}
        self.journal.add(cell, found["state"], **words, exit_code=int(found.get("exit_code", 0)))

    def seat(self, cell: str) -> Seat:
        """What it brought, as totals want it."""
        last = self.state(cell)
        return Seat(self.host, str(last.get("state", "waiting")), str(last.get("reason", "")), self.record(cell))

    def finish(self) -> list[str]:
        """Judges repeats and makes tables, as every run does; what went wrong."""
        problems = []
        for step in (lambda: noisy.judge(self.plan.cells, self.directory / "records"), self._tables):
            try:
                step()
            except AssayError as error:
                problems.append(f"{self.host}: {error.message}")
        return problems

    def _tables(self) -> None:
        store.load(self.directory)


@dataclass
class FleetFolder:
    """The folder as a whole."""

    directory: Path
    document: Json
    hosts: dict[str, HostFolder] = field(default_factory=dict)

    @property
    def run(self) -> str:
        """Its identity."""
        return str(self.document["run"])

    @property
    def cells(self) -> list[Cell]:
        """Cells in the order in which they run."""
        return next(iter(self.hosts.values())).plan.cells

    def write(self) -> None:
        """fleet.json as it is now."""
        write_json(self.directory / FILE, self.document)

    def totals(self) -> list[Json]:
        """Every cell that was begun, over all hosts."""
        return [self.total(cell) for cell in self.cells if any(host.state(cell.id) for host in self.hosts.values())]

    def total(self, cell: Cell) -> Json:
        """A cell over all hosts."""
        seats = [host.seat(cell.id) for host in self.hosts.values()]
        return {"cell": cell.id, "name": cell.job["name"], **of_cell(seats)}

    def close(self) -> None:
        """Lets others write."""
        for host in self.hosts.values():
            host.journal.close()


def is_fleet(directory: Path) -> bool:
    """Whether a folder is that of a fleet."""
    return (directory / FILE).is_file()


def create(directory: Path, document: Json, plans: dict[str, Json]) -> FleetFolder:
    """Makes the folder; plans as hosts made them, by host."""
    if (directory / FILE).exists() or (directory / "plan.json").exists():
        hint = f"continue it with --resume {directory}, or choose another folder with --out"
        raise ResultError(f"{directory} holds a run already", hint=hint, code=BAD_JOB)
    make_folder(directory)
    for host, found in plans.items():
        place = make_folder(_place(directory, host))
        make_folder(place / "records")
        write_json(place / "study.json", found["study"])
        write_json(place / "plan.json", found["plan"])
    made = FleetFolder(directory, document | {"version": VERSION})
    made.write()
    return _opened(made, list(plans))


def reopen(directory: Path) -> FleetFolder:
    """A folder that is to be continued."""
    require_ours(directory, FILE)
    document = read_json(directory / FILE)
    try:
        if document["version"] != VERSION:
            message = f"{directory / FILE} has version {document['version']}, this program reads version {VERSION}"
            raise ResultError(message, hint="continue it with the assay that began it")
        hosts = [str(host["name"]) for host in document["hosts"]]
        Identifier.parse(document["run"], "name of a run")
        int(document["attempts"])
    except (KeyError, TypeError, ValueError) as error:
        raise ResultError(f"{directory / FILE} is none: {error} is missing", hint="start anew") from error
    for host in hosts:
        require_ours(_place(directory, host), "plan.json", "journal.ndjson")
    return _opened(FleetFolder(directory, document), hosts)


def _place(directory: Path, host: str) -> Path:
    return directory / "hosts" / Identifier.parse(host, "name of a host")


def _opened(made: FleetFolder, hosts: Sequence[str]) -> FleetFolder:
    for host in hosts:
        place = _place(made.directory, host)
        planned = plan.load(place / "plan.json")
        made.hosts[host] = HostFolder(host, place, planned, CellJournal(place / "journal.ndjson"))
    return made
