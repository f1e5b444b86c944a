"""Words for people: names of paths, dimensions, metrics and verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from assay.record import PathSpec
from assay.results import paths
from assay.units import show

# Words that are names of programs and calls, and stay small at the beginning of a sentence.
_NAMES = {*paths.KINDS, "pwrite", "fdatasync", "fsync", "msync", "assay", "assayer", "perf", "fio"}
_OPTIONS = {"iopoll": "polled", "sqpoll": "kernel submits"}
_REACH = {"vfio": "through VFIO", "no_iommu": "through VFIO without an IOMMU", "uio": "through UIO"}


_CALLS = {"write": "pwrite", "mix": "pread and pwrite"}


def path(spec: PathSpec, operation: str = "read") -> str:
    """A path with the options that set it apart: `io_uring direct, polled`. Of `pread` the call that was made."""
    kind = str(spec.get("kind") or "?")
    known = paths.named(kind)
    words = _CALLS.get(operation, kind) if kind == "pread" else known.title
    if known.cached:
        words += " direct" if spec.get("direct") else " buffered"
    extras = [_OPTIONS.get(str(spec.get("poll")), ""), "registered" if spec.get("fixed") else ""]
    extras.append("fenced" if spec.get("fenced") else "")
    reach = str(spec.get("reach") or "auto")
    extras.append(_REACH.get(reach, ""))
    sleep_us = spec.get("poll_sleep_us") or 0
    extras.append(f"{sleep_us} us between polls" if sleep_us else "")
    advice = str(spec.get("advice") or "normal")
    extras.append(f"advice {advice}" if advice != "normal" else "")
    extras = [word for word in extras if word]
    return ", ".join([words, *extras])


def path_value(text: str) -> str:
    """A path named by a factor (`io_uring+direct+sqpoll`), in the same words."""
    kind, *options = text.split("+")
    if kind not in paths.KINDS:
        return text
    spec: dict[str, Any] = {"kind": kind, "direct": "direct" in options, "fixed": "fixed" in options}
    spec["fenced"] = "fenced" in options
    spec["poll"] = next((option for option in options if option in _OPTIONS), "none")
    spec["reach"] = next((option for option in options if option in _REACH), "auto")
    rest = [option for option in options if option not in {"direct", "fixed", "fenced", *_OPTIONS, *_REACH}]
    return ", ".join([path(cast("PathSpec", spec)), *rest])


def sizes(value: Any) -> str:
    """A class's size or mix of sizes."""
    if isinstance(value, list):
        parts = (f"{show.block(float(part['bytes']))} ({part['weight']})" for part in value if isinstance(part, dict))
        return "mix of " + ", ".join(parts)
    return show.block(float(value)) if isinstance(value, (int, float)) else str(value)


def operation(value: Mapping[str, Any]) -> str:
    """Read, write, or a mix."""
    kind = str(value.get("kind") or "?")
    return f"{value.get('write_percent')} % writes" if kind == "mix" else f"{kind}s"


def pattern(value: Mapping[str, Any]) -> str:
    """Order of offsets in words."""
    kind = str(value.get("kind") or "?")
    words = {"uniform": "random", "hot-spot": "hot spot"}
    return f"zipf {value.get('theta')}" if kind == "zipf" else words.get(kind, kind)


def arrivals(value: Mapping[str, Any], think: Mapping[str, Any] | None = None) -> str:
    """When operations are due."""
    kind = str(value.get("kind") or "closed")
    if think:
        every = int(think.get("every") or 1)
        after = "each operation" if every == 1 else f"{every} operations"
        return f"closed loop, pause of {show.time(float(think.get('pause_s') or 0) * 1e9)} after {after}"
    if kind == "closed":
        return "closed loop"
    per = " per thread" if value.get("scope") == "thread" else ""
    return f"{kind} arrivals, {show.count(float(value.get('rate_per_s') or 0))} ops/s{per}"


def durability(value: Mapping[str, Any]) -> str:
    """What makes writes durable."""
    kind = str(value.get("kind") or "none")
    if kind == "none":
        return "not made durable"
    name = {"o_dsync": "O_DSYNC", "rwf_dsync": "RWF_DSYNC"}.get(kind, kind)
    every = int(value.get("every") or 1)
    return name if every == 1 else f"{name} every {every} writes"


_DIMENSIONS = {
    "size": "operation size",
    "size_bytes": "operation size",
    "page_bytes": "page size",
    "page": "page size",
    "entry_bytes": "entry size",
    "bytes": "bytes",
    "depth": "queue depth",
    "asked_depth": "operations in flight",
    "threads": "threads",
    "write_percent": "share of writes",
    "path": "path",
    "class": "class",
    "beside": "alone or together",
    "flush_every": "writes per flush",
    "on": "target",
    "cache_state": "page cache",
    "at_s": "time",
    "every": "writes per flush",
    "working_set_bytes": "working set",
}


def dimension(name: str) -> str:
    """A factor as an axis title."""
    return _DIMENSIONS.get(name, name.removesuffix("_bytes").replace("_", " ").replace(".", " "))


def value(name: str, raw: Any) -> str:
    """A value of a factor, with its unit."""
    if isinstance(raw, bool):
        return "yes" if raw else "no"
    if isinstance(raw, (int, float)):
        return _numeric(name, float(raw))
    text = clean(", ".join(str(part) for part in raw) if isinstance(raw, list) else str(raw))
    return path_value(text) if name == "path" else text


def sentence(text: str) -> str:
    """A sentence begins with a capital, unless it begins with a name, and ends with a stop."""
    text = text.strip()
    first = text.split(" ", 1)[0]
    plain = first.isalpha() and first not in _NAMES
    text = text[:1].upper() + text[1:] if plain else text
    return text if not text or text[-1] in ".!?:" else text + "."


def clean(text: str) -> str:
    """A name without control characters and line separators, which expressions of charts cannot hold."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def is_size(name: str) -> bool:
    """Whether a factor counts bytes of a block, page or working set."""
    return name.endswith("bytes") or name in {"size", "page", "page_size", "entry_size", "pool"}


def _numeric(name: str, raw: float) -> str:
    if is_size(name):
        return show.block(raw)
    if name.endswith("percent"):
        return f"{raw:g} %"
    return f"{raw:g}" if raw < 10_000 else show.count(raw)


# The page's template shows it.
PROVENANCE = {
    "measured": "observed on this machine, on the hardware named",
    "emulated": "real code on stand-in hardware",
    "modelled": "computed by a twin",
    "published": "printed in a publication",
    "datasheet": "promised by a vendor",
    "assumed": "taken for granted; no source",
}

STATUS_MARK = {"valid": "\u2713", "suspect": "?", "invalid": "\u2715", "not measured": "\u2013"}
STATUS_RANK = {"valid": 0, "suspect": 1, "invalid": 2}

METHODS = {
    "loop": "timed or counted by the measured loop",
    "hardware-counter": "hardware performance counter",
    "software-event": "software event of the kernel",
    "rusage": "getrusage",
    "rusage-times-tsc": "CPU seconds times the clock of the time stamp counter",
    "kernel-accounting": "the kernel's accounting",
    "derived": "arithmetic on other figures",
}


COUNTED = {
    "in-window": "in the judged window",
    "own-window": "in a window of their own after the judged one, which ran without counters",
    "accounts": "by the kernel's accounts of the threads; no hardware counter ran",
}
"""When hardware counters ran."""


def worst(statuses: list[str]) -> str:
    """The gravest of several verdicts; `valid` for none."""
    return max(statuses, key=lambda status: STATUS_RANK.get(status, 2), default="valid")
