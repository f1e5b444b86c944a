"""Kills, one after the other, of a process that works on the same store."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from assay.binary import Binary, said
from assay.error import FAILED, NOT_POSSIBLE, AssayError
from assay.untyped import Json

Places = dict[str, Path]

ENGINE = "engine"
_VERSION = 1
_KILL_WITHIN_S = (0.0, 0.3)
_TELL_EVERY_S = 10.0


@dataclass(frozen=True)
class SoakOrder:
    """Which store, how it works, and how often it is killed; `places` are folders by what the job calls them."""

    store: str
    places: dict[str, str]
    durability: str
    logs: int | None
    threads: int
    keys: int
    kills: int
    seed: int

    def job(self, made: Places) -> Json:
        """What the measuring program is told; `made` are folders of Assay's own in those places."""
        found: Json = {
            "version": _VERSION,
            "name": f"turns-{self.store}",
            "store": self.store,
            "journal": str(made["place"] / "acknowledged"),
            "threads": self.threads,
            "keys": self.keys,
            **{role: str(folder) for role, folder in made.items()},
        }
        if self.store == ENGINE:
            found["durability"] = self.durability
        if self.logs is not None:
            found["logs"] = self.logs
        return found


@dataclass
class Rounds:
    """The kills of one store, and what was found after the last."""

    order: SoakOrder
    made: Places
    tell: Callable[[str], None]
    kills: int = 0
    finding: Json = field(default_factory=dict)

    def go(self) -> bool:
        """Whether everything that was acknowledged was there after every kill."""
        moments = random.Random(self.order.seed)  # noqa: S311  Moments that can be repeated.
        job, told = self.order.job(self.made), time.monotonic()
        while self.kills < self.order.kills:
            self.kills += 1
            self.finding = _kill(Binary.find(), job, self.made["place"], moments.uniform(*_KILL_WITHIN_S))
            if any(one["lost"] or one["corrupt"] for one in self.finding["datasets"]):
                return False
            if time.monotonic() - told >= _TELL_EVERY_S:
                told = time.monotonic()
                self.tell(f"{self.kills} kills, {self.finding['turns']} turns acknowledged, nothing lost so far")
        return True


def _kill(binary: Binary, job: Json, folder: Path, after_s: float) -> Json:
    """Starts the work, kills it some time after every thread has begun, and looks."""
    log, at_work, code = folder / "messages", False, 0
    with log.open("wb") as messages:
        process = binary.start(job, messages, ("soak", "work", "-"))
        try:
            at_work = any(event["event"] == "interval" for event in process.events())
            time.sleep(after_s if at_work else 0)
        finally:
            process.kill()
            code = process.wait()
    if not at_work:
        raise _refused(log.read_text(errors="replace"), code)
    found: Json = binary.document("soak", "check", "-", given=job, accepted=(0, 1))
    return found


def _refused(messages: str, code: int) -> AssayError:
    reason, hint = said(messages)
    return AssayError(
        reason or "the work ended by itself", hint=hint, code=code if 0 < code <= NOT_POSSIBLE else FAILED
    )
