"""One thing that the doctor saw."""

from dataclasses import asdict, dataclass
from enum import StrEnum


class Level(StrEnum):
    """How much a finding matters, least first."""

    OK = "ok"
    NOTE = "note"
    WARN = "warn"
    BLOCKER = "blocker"

    @property
    def rank(self) -> int:
        return list(Level).index(self)


@dataclass(frozen=True)
class Finding:
    """What was seen, why it matters to a measurement, and the command or step that mends it."""

    level: Level
    topic: str
    seen: str
    why: str = ""
    fix: str = ""
    target: str = ""

    def document(self) -> dict[str, str]:
        """As JSON shows it."""
        return {key: str(value) for key, value in asdict(self).items()}


def unknown(topic: str, reason: str, why: str, target: str = "") -> Finding:
    """What could not be read is said, with the reason."""
    return Finding(Level.NOTE, topic, f"unknown: {reason}", why, target=target)
