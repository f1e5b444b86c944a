"""Flags that several commands share: declared once as a dataclass, and added to each command."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

Command = Callable[..., None]


def sharing(kind: Callable[..., Any]) -> Callable[[Command], Command]:
    """Adds the fields of a dataclass as flags behind a command's own; the command gets them together as `flags`."""

    def added(command: Command) -> Command:
        shared = inspect.signature(kind, eval_str=True).parameters
        own = inspect.signature(command, eval_str=True).parameters

        def called(**given: Any) -> None:
            flags = kind(**{name: given.pop(name) for name in shared})
            command(**given, flags=flags)

        listed = [one for name, one in own.items() if name != "flags"] + list(shared.values())
        keyword = inspect.Parameter.KEYWORD_ONLY
        called.__signature__ = inspect.Signature([one.replace(kind=keyword) for one in listed])  # type: ignore[attr-defined]
        called.__annotations__ = {one.name: one.annotation for one in listed}
        called.__name__, called.__doc__ = command.__name__, command.__doc__
        return called

    return added
