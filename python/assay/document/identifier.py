"""Names that become names of files: one type, which no name passes that could lead out of a folder."""

from __future__ import annotations

import re
from typing import Self

from assay.error import BAD_JOB, AssayError

_LONGEST = 200
# No slash, nothing hidden, nothing that a terminal or a shell takes for a command or a flag.
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+=,@%~-]*")


class IdentifierError(AssayError):
    """A name that cannot be the name of a file."""


class Identifier(str):
    """A name of letters, digits and `_ . + = , @ % ~ -` that begins with a letter, a digit or `_`."""

    __slots__ = ()

    @classmethod
    def parse(cls, text: object, what: str = "name") -> Self:
        """Checks a name that a document gave.

        Raises:
            IdentifierError: where it cannot be the name of a file, or is no text.
        """
        if not isinstance(text, str) or len(text) > _LONGEST or not _PLAIN.fullmatch(text):
            message = f"the {what} {str(text)[:80]!r} cannot be the name of a file"
            hint = f"use up to {_LONGEST} letters, digits and _ . + = , @ % ~ -, beginning with a letter or digit"
            raise IdentifierError(message, hint=hint, code=BAD_JOB)
        return cls(text)
