"""Records of one folder repeat the twin that they were played on, which is most of their text: it is parsed once.

What is shared is only read. Where a text has anything else in a twin's place, it is parsed as it stands.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

_TWIN = re.compile(rb'"twin":\s*\{')
_DECODER = json.JSONDecoder()
# Each is looked for in each text.
_KNOWN_AT_MOST = 8


@dataclass
class RepeatedTwins:
    """Twins that were parsed, by their key and text.

    Texts stay bytes until their twins are taken out: most of a text is never decoded.
    """

    _known: dict[bytes, Any] = field(default_factory=dict)
    _stand_in: str = field(default_factory=lambda: secrets.token_hex(16))

    def parsed(self, text: bytes, loads: Callable[[str], Any] | None = None) -> Any:
        """What `loads` (that of `json`) gives of UTF-8; raises what it raises."""
        loads = loads or json.loads
        short, twins = self._taken_out(text)
        found = loads(short.decode())
        if twins and not self._put_back(found, twins):
            found = loads(text.decode())
        if not twins and len(self._known) < _KNOWN_AT_MOST:
            self._learn(found, text)
        return found

    def _taken_out(self, text: bytes) -> tuple[bytes, list[Any]]:
        """The text with a name in place of each known twin, and those twins by the number in their names.

        A twin is compared where its key stands: a search for tens of kilobytes takes longer than all else here.
        """
        parts: list[bytes] = []
        twins: list[Any] = []
        copied, at = 0, _TWIN.search(text)
        while at:
            known = next((known for known in self._known if text.startswith(known, at.start())), None)
            if known is not None:
                parts += [text[copied : at.start()], f'"twin":"{self._stand_in}{len(twins)}"'.encode()]
                twins.append(self._known[known])
                copied = at.start() + len(known)
            at = _TWIN.search(text, max(copied, at.end()))
        return b"".join((*parts, text[copied:])), twins

    def _put_back(self, found: Any, twins: list[Any]) -> bool:
        """Whether each twin was where a target has its own."""
        missing = len(twins)
        for target in _targets(found):
            name = target.get("twin")
            if isinstance(name, str) and name.startswith(self._stand_in):
                target["twin"] = twins[int(name[len(self._stand_in) :])]
                missing -= 1
        return missing == 0

    def _learn(self, found: Any, text: bytes) -> None:
        """The first twin of a text, as it is written there."""
        at = _TWIN.search(text)
        if at and _targets(found):
            opened = at.end() - 1
            rest = text[opened:].decode()
            twin, end = _DECODER.raw_decode(rest)
            self._known[text[at.start() : opened] + rest[:end].encode()] = twin


def _targets(found: Any) -> list[dict[str, Any]]:
    job = found.get("job") if isinstance(found, dict) else None
    targets = job.get("targets") if isinstance(job, dict) else None
    return [target for target in targets if isinstance(target, dict)] if isinstance(targets, list) else []
