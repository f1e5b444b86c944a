"""What a cell of a contest is asked for: who meets whom in what, and whose turn it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assay.bench.contest import SYNCHRONOUS, Contest, Size, can_meet, named
from assay.bench.lines import ENGINE
from assay.error import BAD_JOB, AssayError, did_you_mean
from assay.study.work import declared
from assay.study.work.index import number
from assay.units.parse import parse_seconds

KIND = "contest"
OURS, RIVAL = "ours", "rival"
NONE = "none"
_WARMUP_S = 1.0


@dataclass(frozen=True)
class Meeting:
    """One of ours beside one rival; `side` says whose turn it is."""

    contest: Contest
    ours: str
    rival: str
    side: str
    size: Size

    @property
    def sides(self) -> tuple[str, str]:
        """Both."""
        return self.ours, self.rival

    @property
    def name(self) -> str:
        """What both turns have in common."""
        return f"{self.contest.name}: {self.ours} beside {self.rival}, {self.size.threads} threads"


def asked(
    contest: str = "cold-lookups",
    ours: str = "ssd-btree",
    rival: str = "",
    side: str = OURS,
    keys: str = "1e6",
    threads: int = 2,
    duration: str = "3s",
    warehouses: int = 2,
    durability: str = "none",
    keys_seed: int = 1,
) -> Meeting:
    """What a command or a study's `[work]` asks for; `assay rivals bench --help` says what each means."""
    for what, word, known in (("side", side, (OURS, RIVAL)), ("durability", durability, tuple(SYNCHRONOUS))):
        if word not in known:
            raise AssayError(f"there is no {what} `{word}`", hint=did_you_mean(word, known), code=BAD_JOB)
    (one,) = named([contest])
    if not can_meet(one, ours, rival):
        raise AssayError(f"{rival or 'nobody'} does not meet {ours} in {contest}", hint="name another", code=BAD_JOB)
    _require_alike(ours, rival, durability)
    size = Size(number(keys, "--keys"), threads, parse_seconds(duration), _WARMUP_S, warehouses, durability, keys_seed)
    return Meeting(one, ours, rival, side, size)


def _require_alike(ours: str, rival: str, durability: str) -> None:
    """Refuses to hold an engine with a log against a program that writes none."""
    if ours == ENGINE and durability != NONE:
        hint = "say --durability none: neither side then writes a log"
        raise AssayError(f"{rival} has no log that a commit waits for", hint=hint, code=BAD_JOB)


def meeting_of(job: Mapping[str, Any]) -> Meeting:
    """What a cell's job asks for."""
    return asked(**declared.options(KIND, asked, job["asked"]))
