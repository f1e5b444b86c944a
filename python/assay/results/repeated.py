"""Records of one folder repeat the twin that they were played on, which is most of their text: it is parsed once.

What is shared is only read. Where a text has anything else in a twin's place, it is parsed as it stands.
"""

from __future__ import annotations

import json
import re
import secrets
from dataclasses import dataclass, field
from typing import Any

_TWIN = re.compile(r'"twin":\s*\{')
_DECODER = json.JSONDecoder()
# Each is looked for in each text.
_KNOWN_AT_MOST = 8


@dataclass
class RepeatedTwins:
    """Twins that were parsed, by their key and text."""

    _known: dict[str, Any] = field(default_factory=dict)
    _stand_in: str = field(default_factory=lambda: secrets.token_hex(16))

    def parsed(self, text: str) -> Any:
        """What `json.loads` gives; raises what it raises."""
        short = text
        twins: list[tuple[int, Any]] = []
        for known, twin in self._known.items():
            count = short.count(known)
            if count:
                short = short.replace(known, f'"twin":"{self._stand_in}{len(twins)}"')
                twins.append((count, twin))
        found = json.loads(short)
        if twins and not self._put_back(found, twins):
            found = json.loads(text)
        if not twins and len(self._known) < _KNOWN_AT_MOST:
            self._learn(found, text)
        return found

    def _put_back(self, found: Any, twins: list[tuple[int, Any]]) -> bool:
        """Whether each twin was where a target has its own."""
        missing = sum(count for count, _ in twins)
        for target in _targets(found):
            name = target.get("twin")
            if isinstance(name, str) and name.startswith(self._stand_in):
                target["twin"] = twins[int(name[len(self._stand_in) :])][1]
                missing -= 1
        return missing == 0

    def _learn(self, found: Any, text: str) -> None:
        """The first twin of a text, as it is written there."""
        at = _TWIN.search(text)
        if at and _targets(found):
            twin, end = _DECODER.raw_decode(text, at.end() - 1)
            self._known[text[at.start() : end]] = twin


def _targets(found: Any) -> list[dict[str, Any]]:
    job = found.get("job") if isinstance(found, dict) else None
    targets = job.get("targets") if isinstance(job, dict) else None
    return [target for target in targets if isinstance(target, dict)] if isinstance(targets, list) else []
