"""What the commands of a fleet do: connect as was asked, run or look, and say it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from assay.cli import confirm, output
from assay.error import BAD_JOB, AssayError
from assay.fleet import bend, odd, remote, ssh, words
from assay.fleet import doctor as doctors
from assay.fleet import folder as folders
from assay.fleet import hosts as files
from assay.fleet import local as locals_
from assay.fleet import run as runs
from assay.fleet.call import Fleet, connected, pair_of_run
from assay.fleet.error import FleetError
from assay.fleet.folder import FleetFolder
from assay.fleet.remote import Remote
from assay.fleet.settings import WORKERS_TIMEOUT_S
from assay.fleet.ssh import COMMAND
from assay.results.files import read_json
from assay.study import folder


@dataclass(frozen=True)
class Where:
    """Where the fleet is: one of the four, and what goes with it."""

    local: int
    hosts: Path | None
    scheduler: str
    keys: Path | None
    ssh: str = ""
    listen: str = ""
    remote: str = COMMAND
    yes: bool = False
    wait_s: float = WORKERS_TIMEOUT_S

    def check(self) -> None:
        """Refuses none of them, and more than one."""
        given = [name for name in ("local", "hosts", "scheduler", "ssh") if getattr(self, name)]
        if len(given) != 1:
            hint = "give one of --local N, --hosts HOSTS.toml, --ssh A,B, --scheduler ADDRESS; docs/fleet.md shows them"
            seen = " and ".join(f"--{name}" for name in given)
            raise FleetError(f"which fleet? {seen} were given" if given else "which fleet?", hint)
        if self.listen and not (self.ssh or self.hosts):
            raise FleetError("--listen belongs to --ssh", "leave it out")

    def agree(self, question: str) -> None:
        """Asks before something is sent to a host."""
        confirm.confirm(question, yes=self.yes, hint="give --yes if that is meant", declined="install assay there")


@dataclass(frozen=True)
class FleetFlags:
    """What was typed of the run."""

    study: str
    on: list[str]
    settings: list[str]
    out: Path | None
    profile: str | None
    repeats: int | None
    seed: int
    lead_s: float
    resume: Path | None
    yes: bool
    json: bool
    bend: bool = True


@dataclass(frozen=True)
class Reached:
    """A fleet, targets by host as its file has them, and what is to be said of it."""

    fleet: Fleet
    on: Mapping[str, list[str]] = field(default_factory=dict)
    note: str = ""


def measure(where: Where, asked: FleetFlags) -> int:
    """Runs or goes on; returns the exit code."""
    where.check()
    _check(asked)
    run = str(read_json(asked.resume / folders.FILE)["run"]) if asked.resume else runs.new_run()
    names = [str(host["name"]) for host in read_json(asked.resume / folders.FILE)["hosts"]] if asked.resume else []
    with reached(where, run, names) as place:
        if place.note:
            output.tell(place.note)
        if port := place.fleet.pages():
            output.tell(words.pages(port))
        if asked.resume:
            found = runs.resume(asked.resume, place.fleet, asked.lead_s, output.tell)
        else:
            found = runs.start(_order(asked, place), place.fleet, asked.lead_s, place.note, output.tell)
    return _conclude(found, asked.json)


def _check(asked: FleetFlags) -> None:
    if asked.resume:
        if asked.study or asked.on or asked.settings or asked.out or asked.profile or asked.repeats:
            hint = "give --resume with the fleet alone; the plans of that folder say the rest"
            raise AssayError("--resume continues a run as it was planned", hint=hint, code=BAD_JOB)
    elif not asked.study:
        raise AssayError("which study?", hint="`assay list` shows them", code=BAD_JOB)


def _order(asked: FleetFlags, reached: Reached) -> runs.FleetJob:
    return runs.FleetJob(
        study=asked.study,
        directory=asked.out or folder.default(f"fleet-{Path(asked.study).stem}"),
        on=tuple(asked.on or ["."]),
        on_host=dict(reached.on),
        settings=tuple(asked.settings),
        profile=asked.profile,
        repeats=asked.repeats,
        seed=asked.seed,
        much=asked.yes,
        command=("assay", *sys.argv[1:]),
        bend=asked.bend,
    )


@contextmanager
def reached(where: Where, run: str, names: list[str]) -> Iterator[Reached]:
    """The fleet as it was asked for."""
    if where.local:
        with locals_.started(where.local) as here:
            if names and set(names) != set(here.names):
                hint = f"give --local {len(names)}, as it was begun"
                raise FleetError(f"the run has the hosts {', '.join(names)}", hint)
            with connected(here.address, pair_of_run(here.keys), run, here.names) as fleet:
                fleet.at_once = locals_.at_once()
                yield Reached(fleet, note=here.note)
        return
    if where.ssh:
        places = tuple(ssh.place(one.strip(), where.remote) for one in where.ssh.split(","))
        with remote.started(Remote(places, keys=where.keys, listen=where.listen), where.agree) as begun:
            hosts = names or [one.name for one in places]
            with connected(begun.address, pair_of_run(begun.keys), run, hosts) as fleet:
                yield Reached(fleet)
        return
    if where.hosts is not None:
        told = files.read(where.hosts)
        told.check(where.hosts)
        with (
            _of_file(told, where) as (address, keys),
            connected(address, pair_of_run(keys), run, names or list(told.on), where.wait_s) as fleet,
        ):
            yield Reached(fleet, {host: on for host, on in told.on.items() if on})
        return
    with connected(where.scheduler, pair_of_run(where.keys), run, names, where.wait_s) as fleet:
        yield Reached(fleet)


@contextmanager
def _of_file(told: files.Fleet, where: Where) -> Iterator[tuple[str, Path | None]]:
    """Where the scheduler of a file listens, and the keys, with workers on the hosts that it has started by ssh."""
    keys = where.keys or told.keys
    if not told.places:
        yield told.scheduler, keys
        return
    asked = Remote(told.places, told.scheduler, keys, where.listen or told.listen)
    with remote.started(asked, where.agree) as begun:
        yield begun.address, begun.keys


def _conclude(found: FleetFolder, as_json: bool) -> int:
    """What is said at the end: who is missing, then the sums."""
    document, code = found.document, runs.exit_code(found)
    first = words.first(list(found.hosts), document["lost"], document["totals"])
    if as_json:
        output.emit(document | {"directory": str(found.directory), "exit_code": code, "first": first})
        return code
    output.say(first)
    for total in document["totals"]:
        for line in words.cell(total):
            output.say(line)
    for line in odd.sentences(document["odd"]):
        output.say(line)
    if told := bend.sentence(document.get("bend", {})):
        output.say(told)
    share = document["worker_cpu_share_at_most"]
    output.say(f"the workers' own Python took up to {share:.2%} of one CPU while cells ran")
    for problem in document["problems"]:
        output.say(f"problem: {problem}")
    output.say(f"results: {found.directory} (a result folder for each host below hosts)")
    if code:
        output.tell(f"continue: assay fleet run --resume {found.directory}, with the same fleet")
    return code


def examine(where: Where, on: list[str], as_json: bool) -> int:
    """Looks at all hosts; returns the exit code."""
    where.check()
    with reached(where, runs.new_run(), []) as place:
        targets = {host: place.on.get(host) or on for host in place.fleet.hosts}
        found = doctors.examine(place.fleet, targets)
    if as_json:
        output.emit(found)
    else:
        for line in doctors.lines(found):
            output.say(line)
    return doctors.exit_code(found)
