"""How fast a job of fio's asks: a rate, a pause between operations, or as deep as a bound on the latency allows."""

from typing import Any

from assay.fio.jobfile import FioError, JobSection, Option, number, size

Table = dict[str, Any]
_PERCENTILES = {50.0: "p50_ns", 99.0: "p99_ns", 99.9: "p999_ns", 100.0: "p999_ns"}


def rate(section: JobSection, operation: str, notes: list[str]) -> Table:
    """A rate, and the law of its arrivals; nothing where the job has none."""
    given = [section.options[name] for name in ("rate_iops", "rate") if name in section.options]
    if not given:
        return {}
    if len(given) > 1:
        raise FioError(f"[{section.name}] rate and rate_iops at once: a class has one rate", "remove one of them")
    if operation == "mix":
        said = "fio limits reads and writes apart"
        raise FioError(f"[{section.name}] {given[0].place} on a mix: {said}", "make a job of each, each with its rate")
    text = _of_direction(section, given[0], operation)
    amount = size(given[0], section.thousand(), text)
    if amount < 1:
        raise FioError(f"[{section.name}] {given[0].place}: this is not a rate above zero", "give a rate, or none")
    notes.append(
        "a rate: fio counts it per job, so it is per thread here; response time counts from the intended start"
    )
    process = section.text("rate_process", "linear")
    if process not in ("linear", "poisson"):
        raise FioError(f"[{section.name}] rate_process={process}: Assay has no such arrivals", "use linear or poisson")
    return {
        "arrivals": "poisson" if process == "poisson" else "fixed",
        "rate": f"{amount}/s" if given[0].name == "rate_iops" else f"{amount}B/s",
        "rate_scope": "thread",
    }


def _of_direction(section: JobSection, option: Option, operation: str) -> str:
    parts = option.value.split(",")
    text = parts[: {"read": 1, "write": 2, "trim": 3}[operation]][-1]
    if not text:
        raise FioError(f"[{section.name}] {option.place}: it gives no rate to {operation}s", "give one")
    return text


def think(section: JobSection, queued: bool, notes: list[str]) -> Table:
    """A pause of each thread after an operation, or after each so many."""
    pause_s = section.microseconds("thinktime")
    if pause_s == 0:
        return {}
    place = section.options["thinktime"].place
    if "rate" in section.options or "rate_iops" in section.options:
        said = "a pause and a rate at once: a rate says when operations are due"
        raise FioError(f"[{section.name}] {place}: {said}", "remove one of them")
    if queued and section.integer("iodepth", 1) > 1:
        said = "with several in flight fio pauses at once for all of them, and Assay's threads pause each for itself"
        raise FioError(f"[{section.name}] {place}: {said}", "set iodepth=1 and numjobs to the number of operations")
    every = section.integer("thinktime_blocks", 1)
    if every < 1:
        raise FioError(f"[{section.name}] thinktime_blocks={every}: it must be at least 1", "give a number from 1 up")
    notes.append("thinktime: the load waits for the device, so that a slower one is asked for less")
    return {"think": _seconds_text(pause_s)} | ({"think_every": every} if every > 1 else {})


def objective(section: JobSection, notes: list[str]) -> Table:
    """The bound on the latency that fio keeps by choosing the depth."""
    bound_s = section.microseconds("latency_target")
    if bound_s == 0:
        return {}
    option = section.options.get("latency_percentile", Option("latency_percentile", "100", 0))
    percent = number(option, option.value)
    if percent not in _PERCENTILES:
        said = "Assay judges by the median, or by 99 or 99.9 of 100"
        raise FioError(f"[{section.name}] {option.place}: {said}", "use 50, 99, 99.9 or 100")
    if percent == 100.0:
        notes.append("latency_target: 999 of 1,000 operations must keep it here, with fio every one")
    return {"objective": {"metric": _PERCENTILES[percent], "bound": _seconds_text(bound_s)}}


def depths(section: JobSection, queued: bool, notes: list[str]) -> list[int]:
    """What is tried in flight to keep a latency: by powers of two up to the job's depth."""
    deepest = section.integer("iodepth", 1)
    if section.microseconds("latency_target") == 0 or not queued or deepest < 2:
        return []
    notes.append(
        "latency_target: fio looks for the depth while it runs; here each depth is a cell of its own, measured for the "
        "whole runtime, and the answer names the deepest that keeps it"
    )
    return [*(1 << power for power in range((deepest - 1).bit_length())), deepest]


def _seconds_text(seconds: float) -> str:
    """As a study writes a duration, exact to the nanosecond."""
    nanoseconds = round(seconds * 1e9)
    unit, factor = next(one for one in (("ms", 10**6), ("us", 1000), ("ns", 1)) if nanoseconds % one[1] == 0)
    return f"{nanoseconds // factor}{unit}"
