"""CPUs and NUMA nodes that threads keep to, as people write them."""

from __future__ import annotations

from assay.error import BAD_JOB, AssayError
from assay.untyped import Json

_NUMBER_BELOW = 1024
_SYNTAX = "write CPUs (0,2-5) or NUMA nodes (node:0,1)"


class PinError(AssayError):
    """A pin that says nothing, or too much."""

    def __init__(self, text: str, problem: str) -> None:
        super().__init__(f"pin `{text}`: {problem}", hint=_SYNTAX, code=BAD_JOB)


def parse_pin(text: str) -> Json | None:
    """`0,2-5` or `node:0,1` as the job states it; none for `none`."""
    if text == "none":
        return None
    head, colon, tail = text.partition(":")
    if colon and head != "node":
        raise PinError(text, f"`{head}` is no kind of place")
    numbers = _numbers(text, tail if colon else head)
    repeated = [number for index, number in enumerate(numbers) if number in numbers[:index]]
    if repeated:
        raise PinError(text, f"{repeated[0]} stands there twice")
    return {"nodes" if colon else "cpus": numbers}


def _numbers(text: str, listed: str) -> list[int]:
    found: list[int] = []
    for part in listed.split(","):
        first, dash, last = part.partition("-")
        if not first.isascii() or not first.isdigit() or (dash and not (last.isascii() and last.isdigit())):
            raise PinError(text, f"`{part}` is no number and no range")
        low, high = int(first), int(last) if dash else int(first)
        if high < low or high >= _NUMBER_BELOW:
            raise PinError(text, f"`{part}` must rise, and stay below {_NUMBER_BELOW}")
        found += range(low, high + 1)
    return found
