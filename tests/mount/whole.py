"""`python -m mount.whole [SEEDS [SECONDS]]` in tests/: so many cuts of each (8); the table is docs/mount-cuts.md's."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from mount.cutting import Left, Victim, cut
from mount.victims import VICTIMS

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "mount-cuts.md"
BEGIN, END = "<!-- cuts -->", "<!-- end of the cuts -->"


def main(words: list[str]) -> int:
    """Cuts as often as the seconds allow; 1 where something is not as it must be."""
    seeds = int(words[0]) if words else 8
    until, begin = time.monotonic() + (float(words[1]) if len(words) > 1 else 3600.0), time.monotonic()
    rows, wrong = [], 0
    for victim in VICTIMS.values():
        durable, loose = tried(victim, seeds, until)
        bad = [f"{victim.name}, seed {seed}: {left}" for seed, left in durable if not left.whole]
        if loose and all(left.whole for _, left in loose):
            bad.append(f"{victim.name} without flushes lost nothing")
        wrong += len(bad)
        print(*bad, sep="\n", end="\n" if bad else "", flush=True)
        rows.append(row(victim, durable, loose))
        print(rows[-1], flush=True)
    keep(rows, seeds, time.monotonic() - begin)
    return 1 if wrong else 0


Seen = list[tuple[int, Left]]


def tried(victim: Victim, seeds: int, until: float) -> tuple[Seen, Seen]:
    """Cuts while it flushes, and while it does not; nothing where it cannot be tried here."""
    if victim.reason():
        return [], []
    with tempfile.TemporaryDirectory(prefix="cuts-") as room:
        modes = [[(seed, durable) for seed in range(1, seeds + 1)] for durable in (True, False)[: 1 + victim.loose]]
        seen: list[Seen] = [[], []]
        for seed, durable in (one for pair in zip(*modes, strict=True) for one in pair):
            if time.monotonic() < until:
                seen[not durable].append((seed, cut(victim, Path(room), seed, durable=durable)))
        return seen[0], seen[1]


def row(victim: Victim, durable: Seen, loose: Seen) -> str:
    """A line of the table."""
    if victim.reason():
        return f"| {victim.name} | not tried: {victim.reason()} | | |"
    words = [
        f"{len(durable)}",
        f"{sum(left.missing for _, left in durable)} of {sum(left.acknowledged for _, left in durable)}",
        "cannot be left out" if not victim.loose else f"{sum(not left.whole for _, left in loose)} of {len(loose)}",
    ]
    return f"| {victim.name} | {' | '.join(words)} |"


def keep(rows: list[str], seeds: int, seconds: float) -> None:
    """Writes the table where it is read."""
    where = f"Linux {platform.release()}, {os.cpu_count()} CPUs, seeds 1 to {seeds}"
    head = [f"On {datetime.now(UTC):%Y-%m-%d}, {where}, {seconds:.0f} s:", ""]
    head += ["| database | cuts | missing of what was acknowledged | cuts that lost something without flushes |"]
    table = [*head, "| --- | --- | --- | --- |", *rows]
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    text = "\n".join(table)
    PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{rest.partition(END)[2]}", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
