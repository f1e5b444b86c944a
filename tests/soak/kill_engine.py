"""Kills the engine's process under load, again and again: `python tests/soak/kill_engine.py FOLDER [--times 1000]`.

Each life works on the ledger of the one before, and begins by looking whether everything that was acknowledged is
there and nothing in part. It is killed at a moment by chance, also while it recovers. Ends at the first life that lost
something, with the seed, and leaves the ledger as it is.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from engine import ledgers


def live(assayer: Path, keep: Path, chance: random.Random) -> str:
    """One life; what was wrong with it, if anything."""
    process = ledgers.start(assayer, ledgers.job(keep, 3600))
    time.sleep(chance.expovariate(1 / 0.3))
    ended = process.poll()
    process.send_signal(signal.SIGKILL)
    said = process.communicate()[0]
    return "" if ended is None or "in use" in said else said


def main() -> int:
    """Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--times", type=int, default=1000)
    parser.add_argument("--look-every", type=int, default=10)
    parser.add_argument("--seed", type=int, default=time.time_ns() % (1 << 32))
    given = parser.parse_args()
    assayer = Path(__file__).resolve().parents[2] / "target" / "release" / "assayer"
    keep, before = given.folder / "soak-ledger", 0
    chance = random.Random(given.seed)  # noqa: S311 - nothing secret hangs on it
    # One that is killed while it is being made is no database yet.
    ledgers.look(keep)
    for life in range(1, given.times + 1):
        wrong = live(assayer, keep, chance)
        if not wrong and life % given.look_every == 0:
            record = ledgers.look(keep)
            failed = [check for check in record["checks"] if not check["passed"]]
            wrong = json.dumps(failed) if failed else ""
            before = ledgers.acknowledged(keep)
            print(f"{life} lives, {before} transactions acknowledged, nothing lost", flush=True)
        if wrong:
            print(f"life {life} of seed {given.seed}: {wrong}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
