"""`python -m mutants.whole [SECONDS [ROOM...]]` in tests/: mutants of every room; docs/mutants.md says what came."""

from __future__ import annotations

import os
import platform
import random
import sys
import time
import tomllib
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from . import rust
from .mutate import mutants
from .rooms import CRATES, ROOMS, ROOT, Crate, Room
from .session import KILLED, NOT_RUN, SURVIVED, TIMED_OUT, Session

PAGE = ROOT / "docs" / "mutants.md"
BEGIN, END = "<!-- mutants -->", "<!-- end of the mutants -->"
_ARGUED = Path(__file__).with_name("argued.toml")
_SEED = 1
_HEAD = "| room | language | on | mutants | run | killed | survived |\n| --- | --- | --- | --- | --- | --- | --- |"
_NEVER = "not run | | | | |"


@dataclass(frozen=True)
class Survivor:
    """A mutant that no test noticed."""

    key: str
    how: str
    why: str
    """Why that is as it should be; empty where nobody has said so."""


@dataclass(frozen=True)
class Result:
    """What came of a room: its mutants, those that were run, those that a test noticed."""

    room: str
    language: str
    every: int
    ran: int
    killed: int
    survivors: tuple[Survivor, ...] = ()


def main(words: list[str]) -> int:
    """Rooms share the seconds (3600); 1 where a mutant survived of which nobody has said why it may."""
    seconds, chosen = float(words[0]) if words else 3600.0, words[1:]
    rooms = [room for room in (*ROOMS, *CRATES) if not chosen or room.name in chosen]
    begin, results = time.monotonic(), []
    until = begin + seconds
    for number, room in enumerate(rooms):
        share = max(0.0, until - time.monotonic()) / (len(rooms) - number)
        result = _of_python(room, share) if isinstance(room, Room) else _of_rust(room, share)
        if result is not None:
            print(_told(result), flush=True)
        # The page keeps what it says of a room for which the time did not suffice.
        if result is not None and result.ran:
            results.append(result)
    said = summary(results, time.monotonic() - begin)
    print(said)
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(page(text, said, results), encoding="utf-8")
    return 1 if any(not one.why for result in results for one in result.survivors) else 0


def _of_python(room: Room, seconds: float) -> Result:
    files = room.files()
    every = [mutant for file in files for mutant in mutants((ROOT / file).read_text(encoding="utf-8"), file)]
    drawn = random.Random(_SEED).sample(every, len(every))  # noqa: S311
    session = Session(drawn, files, seconds)
    options = ["-q", "-q", "-s", "--rootdir", str(ROOT), "-c", str(ROOT / "pyproject.toml"), "-m", "not e2e"]
    options += [word for name in room.without for word in ("--deselect", f"tests/{name}")]
    pytest.main([*options, *(str(ROOT / "tests" / name) for name in room.tests)], plugins=[session])
    if not session.passed:
        raise SystemExit(f"no test of {room.name} passes, so none can notice anything: .venv/bin/python -m pytest them")
    seen = session.seen
    survived = [Survivor(one.key, how, _why(one.key)) for one, how in seen.items() if how in (SURVIVED, NOT_RUN)]
    killed = sum(how in (KILLED, TIMED_OUT) for how in seen.values())
    return Result(room.name, "Python", len(every), len(seen), killed, tuple(survived))


def _of_rust(crate: Crate, seconds: float) -> Result | None:
    if not rust.possible():
        print(f"skipped: {crate.name}: cargo-mutants is not installed")
        return None
    found = rust.run(crate, _SEED, seconds)
    survived = tuple(Survivor(rust.key(name), SURVIVED, _why(rust.key(name))) for name in found.missed)
    return Result(crate.name, "Rust", found.all, found.ran, len(found.caught) + len(found.timed_out), survived)


def _why(key: str) -> str:
    """The argument for a mutant, or for all of a function or file, out of `argued.toml`."""
    argued: dict[str, str] = tomllib.loads(_ARGUED.read_text(encoding="utf-8"))["survivors"]
    return next((why for begin, why in argued.items() if key.startswith(begin)), "")


def _told(result: Result) -> str:
    lines = [f"{result.room}: {result.killed} of {result.ran} killed, of {result.every}"]
    lines += [f"  {one.how}: {one.key}{f' ({one.why})' if one.why else ''}" for one in result.survivors]
    return "\n".join(lines)


def summary(results: list[Result], seconds: float) -> str:
    """How many, when, where."""
    ran, killed = sum(one.ran for one in results), sum(one.killed for one in results)
    where = f"Linux {platform.release()}, {os.cpu_count()} CPUs, seed {_SEED}"
    share = f" ({(ran - killed) / ran:.1%})" if ran else ""
    return (
        f"The newest run, on {_today()}, {where}: {ran} mutants in {seconds:.0f} s, of which {killed} were killed and "
        f"{ran - killed}{share} survived."
    )


def page(text: str, said: str, results: list[Result]) -> str:
    """The page with what came of these rooms; of others it keeps what it says."""
    head, _, rest = text.partition(BEGIN)
    old, _, tail = rest.partition(END)
    fresh = {result.room: result for result in results}
    names = [room.name for room in (*ROOMS, *CRATES)]
    rows = [
        row(fresh[name]) if name in fresh else _kept(old, f"| {name} |", f"| {name} | {_NEVER} |") for name in names
    ]
    left = [listed(fresh[name]) if name in fresh else _kept(old, f"- {name}: ", "") for name in names]
    table = "\n".join([_HEAD, *rows])
    return (
        f"{head}{BEGIN}\n\n{said}\n\n{table}\n\n{chr(10).join(filter(None, left)) or 'None survived.'}\n\n{END}{tail}"
    )


def row(result: Result) -> str:
    """A line of the table."""
    survived = result.ran - result.killed
    share = f"{survived} ({survived / result.ran:.1%})" if result.ran else "-"
    cells = (result.room, result.language, _today(), result.every, result.ran, result.killed, share)
    return f"| {' | '.join(map(str, cells))} |"


def listed(result: Result) -> str:
    """A line for each that survived, with the reason why it may."""
    found = sorted(result.survivors, key=lambda one: one.key)
    return "\n".join(f"- {result.room}: `{one.key.replace('`', '')}`: {_because(one)}." for one in found)


def _because(one: Survivor) -> str:
    return one.why or ("no test runs it" if one.how == NOT_RUN else "nobody has said yet why it may")


def _kept(old: str, begin: str, otherwise: str) -> str:
    return "\n".join(line for line in old.splitlines() if line.startswith(begin)) or otherwise


def _today() -> str:
    return f"{datetime.now(UTC):%Y-%m-%d}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
