"""A study on a fleet: every cell on every host at the same moment, and a folder that is valid at every one."""

from __future__ import annotations

import secrets
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay import home
from assay.error import DONE, FAILED, INTERRUPTED, NOT_POSSIBLE, AssayError
from assay.fleet import bend, clock, folder, odd, words
from assay.fleet.call import Fleet, Lost
from assay.fleet.error import FleetError
from assay.fleet.folder import FleetFolder
from assay.fleet.once import Start
from assay.study import scratch
from assay.study import source as studies
from assay.study.cell import Cell
from assay.study.consent import MUCH
from assay.units.parse import format_bytes
from assay.untyped import Json

Tell = Callable[[str], None]


@dataclass(frozen=True)
class FleetJob:
    """What is to be run, and on what; `on` of a host goes before that of all."""

    study: str
    directory: Path
    on: tuple[str, ...] = ()
    on_host: dict[str, list[str]] = field(default_factory=dict)
    settings: tuple[str, ...] = ()
    profile: str | None = None
    repeats: int | None = None
    seed: int = 1
    much: bool = False
    """More than 50 GiB may be written on a host."""
    command: tuple[str, ...] = ()
    bend: bool = True
    """Whether it is shown that workers do not bend what is measured."""


def new_run() -> str:
    """The identity of a run."""
    return secrets.token_hex(6)


def start(order: FleetJob, fleet: Fleet, lead_s: float, note: str, tell: Tell) -> FleetFolder:
    """Plans on every host, and runs into a new folder."""
    looks = _alike(fleet)
    plans = _plans(order, fleet)
    _apart(looks, plans)
    _agreed(order, plans)
    document = {
        "run": fleet.run,
        "study": next(iter(plans.values()))["name"],
        "command": list(order.command),
        "attempts": 1,
        "note": note,
        "hosts": [{"name": host, "on": _on(order, host), **looks[host]} for host in plans],
    }
    if order.bend:
        document["bend"] = _bend(order, fleet, looks)
        tell(bend.sentence(document["bend"]))
    found = folder.create(order.directory, document, plans)
    return _run(found, fleet, lead_s, tell)


def _bend(order: FleetJob, fleet: Fleet, looks: dict[str, Json]) -> dict[str, Json]:
    asked = {"pairs": bend.PAIRS, "seed": order.seed, "run": fleet.run}
    return bend.judged(fleet.ask("bend", {host: asked | {"host": host} for host in bend.one_a_machine(looks)}))


def resume(directory: Path, fleet: Fleet, lead_s: float, tell: Tell) -> FleetFolder:
    """Takes what finished cells left on their hosts, and runs what is not whole: such a cell on all hosts anew."""
    found = folder.reopen(directory)
    try:
        if missing := [host for host in found.hosts if host not in fleet.workers]:
            raise FleetError(f"not there: {', '.join(missing)}", "start their workers; a fleet goes on whole", FAILED)
        _alike(fleet)
        taken = _take(found, fleet)
        if taken:
            tell(f"{taken} records were on their hosts already")
        found.document["attempts"] += 1
        found.write()
    except BaseException:
        found.close()
        raise
    return _run(found, fleet, lead_s, tell)


def exit_code(found: FleetFolder) -> int:
    """3 where a host was lost or somebody interrupted, 1 where a cell failed, 4 where nothing was possible."""
    if found.document.get("lost") or found.document.get("interrupted"):
        return INTERRUPTED
    states = [host.state(cell.id).get("state") for host in found.hosts.values() for cell in found.cells]
    if "failed" in states or found.document.get("problems"):
        return FAILED
    return DONE if "finished" in states else NOT_POSSIBLE


def _alike(fleet: Fleet) -> dict[str, Json]:
    """What hosts say of themselves; refused where they would not measure by the same program."""
    looks = fleet.ask("look", {host: {} for host in fleet.there})
    differing = {host: found["assayer_sha256"][:12] for host, found in looks.items()}
    if len(set(differing.values())) > 1:
        told = ", ".join(f"{host} {digest}" for host, digest in differing.items())
        message = f"the hosts have different measuring programs (SHA-256: {told}), and their figures would not compare"
        raise FleetError(
            message, "install the same assay on all of them; `assay fleet doctor` shows them", NOT_POSSIBLE
        )
    return looks


def _apart(looks: dict[str, Json], plans: dict[str, Json]) -> None:
    """Refuses workers of one machine that would measure in the same folder: each would see the other."""
    taken: dict[tuple[str, str], str] = {}
    for host, found in plans.items():
        cells = [Cell.from_document(cell) for cell in found["plan"]["cells"]]
        for place in scratch.folders_of_cells(cells):
            key = (str(looks[host]["boot"]), place)
            if (other := taken.setdefault(key, host)) != host:
                message = f"{other} and {host} are on one machine, and would both measure in {place}"
                raise FleetError(message, "give each a folder of its own: --on 'DIR/{host}'")


def _agreed(order: FleetJob, plans: dict[str, Json]) -> None:
    """Refuses to write much on somebody's drives unless that was said."""
    for host, found in plans.items():
        size = int(found["plan"]["totals"]["bytes_written"])
        if size > MUCH and not order.much:
            hint = "give --yes if that is meant; --profile quick or --set makes it smaller"
            raise FleetError(f"this run writes up to {format_bytes(size)} on {host}", hint)


def _on(order: FleetJob, host: str) -> list[str]:
    """Targets of a host; `{host}` in the name of a target is the host's own."""
    return [one.replace("{host}", host) for one in (order.on_host.get(host) or order.on)]


def _plans(order: FleetJob, fleet: Fleet) -> dict[str, Json]:
    path = studies.find(order.study)
    text = path.read_text(encoding="utf-8") if path.parent != home.studies() else ""
    asked = {
        "study": order.study,
        "text": text,
        "settings": list(order.settings),
        "profile": order.profile,
        "repeats": order.repeats,
        "seed": order.seed,
        "run": fleet.run,
        "command": list(order.command),
    }
    plans = fleet.ask("plan", {host: asked | {"host": host, "on": _on(order, host)} for host in fleet.there})
    shapes = {host: _shape(found["plan"]) for host, found in plans.items()}
    first = next(iter(shapes))
    if other := next((host for host, shape in shapes.items() if shape != shapes[first]), None):
        message = f"{other} would run other cells than {first}, and a fleet runs the same everywhere"
        raise FleetError(message, "give each host as many targets, of the same kinds, and fix sizes with --set")
    return plans


def _shape(document: Json) -> list[Json]:
    """What must be alike: which cells, in which order, with which loads; where they lie is the host's own matter."""
    return [
        {key: cell[key] for key in ("id", "scenario", "repeat", "order")}
        | {key: cell["job"][key] for key in ("classes", "window", "cache")}
        | {"datasets": [{key: one[key] for key in ("name", "bytes", "files")} for one in cell["job"]["datasets"]]}
        for cell in document["cells"]
    ]


def _take(found: FleetFolder, fleet: Fleet) -> int:
    """Records that are on hosts and not here."""
    attempts = int(found.document["attempts"])
    left = {
        host: [cell.id for cell in one.plan.cells if one.record(cell.id) is None] for host, one in found.hosts.items()
    }
    tries = {
        host: [(cell, attempt) for cell in cells for attempt in range(attempts, 0, -1)] for host, cells in left.items()
    }
    asked = {
        host: {"starts": [_start(fleet.run, host, cell, attempt) for cell, attempt in pairs]}
        for host, pairs in tries.items()
    }
    taken = 0
    for host, answers in fleet.ask("kept", asked).items():
        for (cell, _), answer in zip(tries[host], answers, strict=True):
            if answer is not None and found.hosts[host].record(cell) is None:
                found.hosts[host].store(cell, answer)
                taken += 1
    return taken


def _start(run: str, host: str, cell: str, attempt: int) -> Json:
    return {"run": run, "host": host, "cell": cell, "attempt": attempt}


def _run(found: FleetFolder, fleet: Fleet, lead_s: float, tell: Tell) -> FleetFolder:
    """All cells that are not whole yet, then what follows the last."""
    runner = _Runner(found, fleet, lead_s, tell)
    try:
        with _interrupts(fleet) as interrupted:
            for cell in found.cells:
                if interrupted or not fleet.there:
                    break
                if not runner.is_whole(cell):
                    runner.run(cell)
        found.document["interrupted"] = bool(interrupted)
        runner.conclude()
    finally:
        found.close()
    return found


@contextmanager
def _interrupts(fleet: Fleet) -> Iterator[list[int]]:
    """One interrupt has all hosts finish what they measure and keep it; a second one ends at once."""
    seen: list[int] = []

    def caught(number: int, _frame: Any) -> None:
        seen.append(number)
        if len(seen) > 1:
            raise KeyboardInterrupt
        fleet.stop()

    before = {number: signal.signal(number, caught) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield seen
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@dataclass
class _Runner:
    """Runs single cells on all hosts."""

    found: FleetFolder
    fleet: Fleet
    lead_s: float
    tell: Tell
    longest_cpu_share: float = 0.0
    opens: dict[str, float] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)

    @property
    def attempt(self) -> int:
        return int(self.found.document["attempts"])

    def is_whole(self, cell: Cell) -> bool:
        """Whether every host has finished it in the same attempt, or refuses it."""
        seats = [(host.cell(cell.id).refusal, host.seat(cell.id)) for host in self.found.hosts.values()]
        attempts = {seat.attempt for refusal, seat in seats if refusal is None}
        done = all(seat.state == "finished" for refusal, seat in seats if refusal is None)
        return done and len(attempts) <= 1 and all(seat.state == "refused" for refusal, seat in seats if refusal)

    def run(self, cell: Cell) -> None:
        """A cell on every host that is there; each record is stored before the journal says so."""
        able = [host for host in self.fleet.there if not self._refused(host, cell)]
        able = self._prepared(able, cell)
        offsets = self.fleet.offsets()
        able = [host for host in able if host in offsets]
        if able:
            self._together(able, cell, offsets)
        for host in self.fleet.lost.values():
            if self.found.hosts[host.host].state(cell.id).get("state") in (None, "started"):
                reason = f"The host was lost ({host.during}: {host.seen})."
                self._ended(host.host, cell, "interrupted", reason, "Continue with --resume.", INTERRUPTED)
        self._say(cell)

    def _refused(self, host: str, cell: Cell) -> bool:
        refusal = self.found.hosts[host].cell(cell.id).refusal
        if refusal is not None:
            self._ended(host, cell, "refused", refusal.reason, refusal.fix, NOT_POSSIBLE)
        return refusal is not None

    def _ended(self, host: str, cell: Cell, state: str, reason: str, fix: str, code: int) -> None:
        end = {"state": state, "record": None, "reason": reason, "fix": fix, "exit_code": code}
        self.found.hosts[host].store(cell.id, end)

    def _prepared(self, hosts: Sequence[str], cell: Cell) -> list[str]:
        """Hosts whose data is there; made on all at once, before the moment of the start is set."""
        jobs = {host: self.found.hosts[host].cell(cell.id).job for host in hosts}
        stored = {host: job for host, job in jobs.items() if any(one["kind"] == "folder" for one in job["targets"])}
        futures, _ = self.fleet.each(
            list(stored), lambda host: self.fleet.submit(host, "prepare", {"job": stored[host]})
        )
        failed = set()
        for host, future in futures.items():
            answer = self.fleet.answer(host, future, f"preparing {cell.id}")
            if isinstance(answer, AssayError):
                self._ended(host, cell, "failed", answer.message, answer.hint, answer.code)
                failed.add(host)
        return [host for host in hosts if host not in failed and host not in self.fleet.lost]

    def _together(self, hosts: Sequence[str], cell: Cell, offsets: dict[str, clock.Offset]) -> None:
        """The same moment for all, each by its own clock."""
        self._clocks(offsets)
        lead_s = self.lead_s + float(cell.job.get("cool_down_s", 0.0))
        begin_ns = max(one.scheduler_ns for one in offsets.values()) + int(lead_s * 1e9)
        # Clocks were compared just now: by this process's clock all windows open at about this moment.
        self.opens[cell.id] = time.monotonic() + lead_s + float(cell.job["window"]["warmup_s"])
        # Twins play in a time of their own, each when it is its turn.
        together = not any(target["kind"] == "twin" for target in cell.job["targets"])
        futures, ended = self.fleet.each(
            hosts,
            lambda host: self._begin(host, cell, offsets[host], begin_ns),
            together=together,
            lead_s=lead_s,
        )
        for host, future in futures.items():
            answer = self.fleet.answer(host, future, f"running {cell.id}", ended[host])
            if isinstance(answer, AssayError):
                self._ended(host, cell, "failed", answer.message, answer.hint, answer.code)
            elif answer is not None:
                self._keep(host, cell, answer["answer"])

    def _begin(self, host: str, cell: Cell, offset: clock.Offset, begin_ns: int) -> Any:
        start = Start(self.fleet.run, host, cell.id, self.attempt)
        self.found.hosts[host].journal.add(cell.id, "started")
        asked = {
            "start": _start(self.fleet.run, host, cell.id, self.attempt),
            "job": self._job(host, cell, offset, begin_ns),
        }
        return self.fleet.submit(host, "run", asked, key=start.key)

    def _keep(self, host: str, cell: Cell, found: Json) -> None:
        self.found.hosts[host].store(cell.id, found)
        if found["record"] is not None:
            share = found["worker_cpu_s"] / max(found["record"]["run"]["wall_s"], 1e-9)
            self.longest_cpu_share = max(self.longest_cpu_share, share)

    def _job(self, host: str, cell: Cell, offset: clock.Offset, begin_ns: int) -> Json:
        job = self.found.hosts[host].cell(cell.id).job
        labels = job["labels"] | {
            "host": host,
            "fleet": self.fleet.run,
            "fleet.attempt": str(self.attempt),
            "fleet.start_ns": str(begin_ns),
            "fleet.ahead_ns": str(offset.ahead_ns),
            "fleet.error_ns": str(offset.error_ns),
        }
        if any(target["kind"] == "twin" for target in job["targets"]):
            return job | {"labels": labels}
        return job | {"labels": labels, "start_monotonic_ns": offset.there(begin_ns)}

    def _clocks(self, offsets: dict[str, clock.Offset]) -> None:
        self.found.document["clocks"] = {host: offset.document() for host, offset in offsets.items()}
        for host, offset in offsets.items():
            if (told := clock.told(host, offset)) and host not in self.notes:
                self.notes[host] = None
                self.found.document.setdefault("notes", []).append(told)
                self.tell(told)

    def _say(self, cell: Cell) -> None:
        total = self.found.total(cell)
        for line in (*words.cell(total), *words.hosts(total)):
            self.tell(line)
        self._lost()
        self.found.write()

    def _lost(self) -> None:
        self.found.document["lost"] = [self._loss(one) for one in self.fleet.lost.values()]

    def _loss(self, one: Lost) -> Json:
        """As fleet.json has it; `at_s` counts from when windows were to open, where it was lost while a cell ran."""
        found: Json = {"host": one.host, "during": one.during, "seen": one.seen}
        cell = one.during.removeprefix("running ")
        if one.at is not None and cell in self.opens:
            found |= {"cell": cell, "at_s": round(one.at - self.opens[cell], 3)}
        return found

    def conclude(self) -> None:
        """Data and notes are removed on the hosts; repeats are judged, tables made, totals written."""
        problems = self._finished()
        for host in self.found.hosts.values():
            problems += host.finish()
        self._lost()
        totals = self.found.totals()
        self.found.document |= {
            "problems": problems,
            "totals": totals,
            "odd": odd.of_totals(list(self.found.hosts), totals),
            "worker_cpu_share_at_most": round(self.longest_cpu_share, 4),
        }
        self.found.write()

    def _finished(self) -> list[str]:
        asked = {}
        for host in self.fleet.there:
            cells = self.found.hosts[host].plan.cells
            starts = [
                _start(self.fleet.run, host, cell.id, number) for cell in cells for number in range(1, self.attempt + 1)
            ]
            asked[host] = {"starts": starts, "folders": scratch.folders_of_cells(cells)}
        try:
            self.fleet.ask("finish", asked)
        except AssayError as error:
            return [error.message]
        return []
