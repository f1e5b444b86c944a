"""`python -m fleet.whole [N [SECONDS [FILE]]]` in tests/: N runs with a kill each (100), whose outcomes FILE keeps.

What is in FILE is not run again, so that pieces of some minutes add up; the totals go to docs/fleet-tried.md.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import platform
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from assay.fleet import keys

from . import forked
from .killing import VICTIMS, Kill, Seen, drawn, run

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "fleet-tried.md"
SEED = 1
BEGIN, END = "<!-- kills -->", "<!-- end of the kills -->"
AT_ONCE = 4
"""Runs beside each other: they wait for most of their time."""


def main(words: list[str]) -> int:
    """Kills as often as the seconds allow; 1 where something was wrong."""
    number = int(words[0]) if words else 100
    budget_s = float(words[1]) if len(words) > 1 else 3600.0
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="assay-fleet-keys-") as place:
        kept = Path(words[2]) if len(words) > 2 else Path(place) / "outcomes"
        keys.make(Path(place), ["a", "b"], 2)
        before, taken_s = _read(kept)
        left = [(index, kill) for index, kill in enumerate(drawn(number, SEED)) if index not in before]
        seen = before | _run(left, Path(place), begin + budget_s, kept)
        seconds = taken_s + time.monotonic() - begin
        with kept.open("a") as opened:
            opened.write(json.dumps({"seconds": time.monotonic() - begin}) + "\n")
    found = [seen[index] for index in sorted(seen)]
    said = summary(found, SEED, seconds)
    print(said)
    text = PAGE.read_text(encoding="utf-8")
    head, _, rest = text.partition(BEGIN)
    PAGE.write_text(f"{head}{BEGIN}\n\n{said}\n\n{table(found)}\n\n{END}{rest.partition(END)[2]}", encoding="utf-8")
    return 1 if any(one.wrong or one.twice for one in found) else 0


def _run(left: list[tuple[int, Kill]], place: Path, until: float, kept: Path) -> dict[int, Seen]:
    """Those that can be begun until then; each is written down as soon as it is over."""
    fresh, found = multiprocessing.get_context("spawn"), dict[int, Seen]()
    with ProcessPoolExecutor(AT_ONCE, fresh, forked.load) as pool, kept.open("a") as opened:
        asked = {pool.submit(_one, kill, place, until): index for index, kill in left}
        for future in as_completed(asked):
            if (seen := future.result()) is not None:
                found[asked[future]] = _told(seen)
                opened.write(json.dumps({"run": asked[future], **asdict(seen)}) + "\n")
                opened.flush()
    return found


def _one(kill: Kill, place: Path, until: float) -> Seen | None:
    return None if time.monotonic() > until else run(kill, place)


def _read(kept: Path) -> tuple[dict[int, Seen], float]:
    """Outcomes of earlier pieces, by the number of the run, and the seconds that these took."""
    found, seconds = dict[int, Seen](), 0.0
    for one in _lines(kept):
        if "run" in one:
            number, kill = one.pop("run"), Kill(**one.pop("kill"))
            found[number] = Seen(kill, **one)
        else:
            seconds += one["seconds"]
    return found, seconds


def _lines(kept: Path) -> Iterator[dict[str, Any]]:
    if kept.is_file():
        yield from map(json.loads, kept.read_text().splitlines())


def _told(seen: Seen) -> Seen:
    if seen.wrong or seen.twice:
        print(f"{seen.kill}: begun twice {seen.twice}; {seen.wrong}", flush=True)
    return seen


def summary(seen: list[Seen], seed: int, seconds: float) -> str:
    """How many, what was begun, and how often twice."""
    alive, begun = sum(one.alive for one in seen), sum(one.begun for one in seen)
    twice, wrong = sum(one.twice for one in seen), sum(bool(one.wrong) for one in seen)
    return (
        f"On {datetime.now(UTC):%Y-%m-%d}, Linux {platform.release()}, {os.cpu_count()} CPUs, seed {seed}: {len(seen)} "
        f"runs of two hosts and three cells in {seconds:.0f} s, a process killed in each, in {alive} while it still "
        f"ran. {begun} starts of cells, {twice} of them begun twice; after `--resume` {len(seen) - wrong} runs were "
        "whole and left nothing behind."
    )


def table(seen: list[Seen]) -> str:
    """By who was killed: runs, runs that still ran then, cells begun twice, and runs that ended as they must."""
    lines = [
        "| killed | runs | while it ran | begun twice | whole after `--resume` |",
        "| --- | --- | --- | --- | --- |",
    ]
    for victim in VICTIMS:
        these = [one for one in seen if one.kill.victim == victim]
        counts = (sum(one.alive for one in these), sum(one.twice for one in these), sum(not one.wrong for one in these))
        lines.append(f"| {victim} | {len(these)} | {' | '.join(map(str, counts))} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
