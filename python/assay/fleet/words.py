"""A fleet's outcome in sentences. Hosts that are missing come first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assay.units.parse import format_ns, format_rate
from assay.untyped import Json


def first(hosts: Sequence[str], lost: Sequence[Json], totals: Sequence[Json]) -> str:
    """The sentence that stands before all figures."""
    if lost:
        who = "; ".join(f"{one['host']} ({one['during']}: {one['seen']})" for one in lost)
        was = "was" if len(lost) == 1 else "were"
        rest = len(hosts) - len(lost)
        return f"{len(lost)} of {len(hosts)} hosts {was} lost: {who}. What follows is of the other {rest} from then on."
    absent = {host for total in totals for host in total["not_in_total"]}
    if absent:
        names = ", ".join(host for host in hosts if host in absent)
        said = f"Not every host was there for all of every cell: {names}."
        return f"{said} Each cell says why, and its sum is without them."
    return f"All {len(hosts)} hosts were there for the whole of every cell."


def pages(port: int) -> str:
    """Where Dask's live pages are seen."""
    return (
        f"live: http://127.0.0.1:{port}/status on the scheduler's machine; from another one after "
        f"ssh -N -L {port}:127.0.0.1:{port} to it"
    )


def cell(total: Json) -> Iterator[str]:
    """A cell: who is in its sums, and the sums."""
    count, whole = len(total["hosts"]), len(total["in_total"])
    coincide = total["coincide"]
    together = "" if coincide is None else f", windows coincide to {100 * coincide:.1f} %"
    yield f"{total['name']}: {whole} of {count} hosts{together}"
    for host, reason in total["not_in_total"].items():
        yield f"  without {host}: {reason}"
    # Folders of earlier versions do not say it.
    for host, error_s in total.get("vague", {}).items():
        yield f"  {host}'s window is known to within {1000 * error_s:.0f} ms only: its answers take long"
    for one in total["classes"]:
        yield f"  {one['class']}: {_sums(one)}"
    doubted = [f"{one['host']} {one['verdict']}" for one in total["hosts"] if one.get("verdict", "valid") != "valid"]
    if doubted:
        yield f"  to be doubted: {', '.join(doubted)}"


def hosts(total: Json) -> Iterator[str]:
    """A line for each host."""
    for one in total["hosts"]:
        rates = "; ".join(f"{found['class']} {found['ops_per_s']:.0f}/s" for found in one.get("classes", ()))
        opened = f"opened {1000 * one['opened_s']:+.1f} ms" if "opened_s" in one else ""
        state = "" if one["in_total"] else f"not in the total: {one['reason']}"
        yield f"    {one['host']}: " + ", ".join(part for part in (rates, opened, state) if part)


def _sums(one: Json) -> str:
    low, high, count = one["slowest_ops_per_s"], one["fastest_ops_per_s"], len(one["hosts"])
    mean = one["ops_per_s"] / count
    spread = f", spread {(high - low) / mean:.1%} of the mean" if count > 1 and mean > 0 else ""
    words = f"{one['ops_per_s']:.0f}/s and {format_rate(one['bytes_per_s'])} together"
    words += f"; slowest {one['slowest']} {low:.0f}/s{spread}"
    merged = one["response"] or one["service"]
    if merged:
        what = "response" if one["response"] else "latency"
        words += f"; {what} of all operations p50 {format_ns(merged['p50_ns'])}, p99 {format_ns(merged['p99_ns'])}"
    return words
