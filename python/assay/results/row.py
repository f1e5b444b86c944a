"""One class of one record, flat: what tables show and figures draw."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, cast

from assay.record import Class, ClassResult, Distribution, IntervalPoint, Record, Target
from assay.results import labels, paths
from assay.results.folder import Cell
from assay.results.interval import Interval, over_intervals, over_intervals_above

_CPU = (
    "cycles_per_op",
    "cycles_per_byte",
    "instructions_per_op",
    "tlb_misses_per_op",
    "context_switches_per_op",
    "system_calls_per_op",
    "page_faults_per_op",
    "user_s",
    "kernel_s",
    "helper_s",
    "wait_s",
)
_SHARES = {"p50": 50.0, "p90": 90.0, "p99": 99.0, "p999": 99.9, "p9999": 99.99}
_DISTRIBUTIONS = ("service", "response", "read_service", "write_service", "flush", "lateness")
# Parts of the names of figures of which less is better.
_COSTS = ("per_op", "per_byte", "per_transaction", "amplification")
# Other names that a study may use for the same column.
_ALIASES = {
    "bandwidth_bytes_per_s": "bandwidth",
    "bytes_per_s": "bandwidth",
    "ops_per_s": "ops_rate",
    "ops_rate_per_s": "ops_rate",
    "ops_rate_ops_per_s": "ops_rate",
    "iops": "ops_rate",
}
_UNITS = {"bandwidth": "bytes/s", "ops_rate": "ops/s", "cycles_per_byte": "cycles/byte", "cycles_per_op": "cycles/op"}
_TITLES = {
    "bandwidth": "bandwidth",
    "ops_rate": "operations per second",
    "cycles_per_byte": "CPU cycles per byte",
    "cycles_per_op": "CPU cycles per operation",
    "tlb_misses_per_op": "data TLB misses per operation",
    "system_calls_per_op": "system calls per operation",
    "context_switches_per_op": "context switches per operation",
    "achieved_depth": "operations in flight",
}


@cache
def canonical(metric: str) -> str:
    """One name for a metric, whatever a study calls it."""
    name = _ALIASES.get(metric, metric).removeprefix("cpu_")
    if name in _ALIASES:
        return _ALIASES[name]
    stem = name.removesuffix("_ns")
    if stem in _SHARES or stem in {"mean", "min", "max"}:
        return f"service_{stem}"
    return stem


@cache
def unit(metric: str) -> str:
    """Unit of a metric."""
    name = canonical(metric)
    if name in _UNITS:
        return _UNITS[name]
    if _is_latency(name):
        return "ns"
    if name.endswith("_per_s"):
        return f"{name.removesuffix('_per_s').removeprefix('load_')}/s"
    return (
        "bytes" if name.endswith("_bytes") else "s" if name.endswith("_s") else "1/op" if "per_op" in name else "count"
    )


def metric_title(metric: str) -> str:
    """A metric as an axis title."""
    name = canonical(metric)
    head, _, tail = name.rpartition("_")
    if _is_latency(name):
        noun = {"service": "latency", "response": "response time", "flush": "flush latency"}.get(
            head, head + " latency"
        )
        return f"{percentile_name(tail)} {noun}".replace("_", " ")
    if name.endswith("_per_s"):
        return f"{name.removesuffix('_per_s').replace('_', ' ')} per second"
    return _TITLES.get(name, name.replace("_", " "))


def percentile_name(stem: str) -> str:
    """`p99.9` for `p999`."""
    share = _SHARES.get(stem)
    return f"p{share:g}" if share else stem


def floor(metric: str) -> str:
    """The figure of the same run that a percentile above the median cannot lie below; empty for everything else."""
    head, _, tail = canonical(metric).rpartition("_")
    return f"{head}_p50" if head in _DISTRIBUTIONS and _SHARES.get(tail, 0.0) > _SHARES["p50"] else ""


def is_cost(metric: str) -> bool:
    """Whether less is better."""
    name = canonical(metric)
    if name.endswith("_per_s"):
        return False
    return _is_latency(name) or any(word in name for word in _COSTS) or name.endswith("_s")


@cache
def _is_latency(name: str) -> bool:
    head, _, tail = name.rpartition("_")
    return head in _DISTRIBUTIONS and (tail in _SHARES or tail in {"mean", "min", "max", "stdev"})


@cache
def _parsed(metric: str) -> tuple[str, str, str]:
    """A metric's canonical name; of a latency also its distribution and what of it, otherwise both are empty."""
    name = canonical(metric)
    head, _, tail = name.rpartition("_")
    return (name, head, tail) if _is_latency(name) else (name, "", "")


@dataclass(frozen=True, eq=False)
class Row:
    """A class's result with what was asked of it."""

    cell: Cell
    record: Record
    result: ClassResult
    asked: Class

    @property
    def name(self) -> str:
        """Name of the class."""
        return labels.clean(str(self.result.get("name") or "?"))

    @property
    def anchor(self) -> str:
        """Where the report shows the record."""
        return f"cell-{self.cell.id}"

    @cached_property
    def status(self) -> str:
        """Verdict on the record."""
        return str((self.record.get("verdict") or {}).get("status") or "invalid")

    @cached_property
    def provenance(self) -> str:
        """Where the figures came from."""
        own = self.result.get("provenance") or (self.result.get("bandwidth") or {}).get("provenance")
        return str(own or "assumed")

    @property
    def of_work(self) -> bool:
        """Whether it is of an index, an engine or a database, and no class of I/O."""
        return "kind" in self.record

    @property
    def figures(self) -> tuple[str, ...]:
        """Names of its figures that have a number."""
        return tuple(name for name in self.result if self.metric(name) is not None)

    @cached_property
    def path_label(self) -> str:
        """Path with options."""
        operation = str((self.asked.get("operation") or {}).get("kind") or "read")
        return labels.path(self.asked.get("path") or {}, operation)

    @cached_property
    def does(self) -> tuple[str, str]:
        """Kinds of its operation and of the pattern of its offsets."""
        return str((self.asked.get("operation") or {}).get("kind")), str((self.asked.get("pattern") or {}).get("kind"))

    @cached_property
    def lone(self) -> bool:
        """Whether the class had a real target for itself."""
        if len(self.record["classes"]) != 1:
            return False
        kinds = {str(target.get("kind")) for target in self.record["job"].get("targets") or ()}
        return paths.named(str((self.asked.get("path") or {}).get("kind"))).moves and not kinds & {"null", "memory"}

    @cached_property
    def direct(self) -> bool:
        """Whether the page cache was out of the way."""
        path = self.asked.get("path") or {}
        return bool(path.get("direct")) or paths.named(str(path.get("kind"))).direct

    @cached_property
    def cache(self) -> str:
        """State of the page cache: `warm`, `cold`, `bypassed`, `as-found`."""
        state = str(self.record["job"].get("cache") or "as-found")
        return "bypassed" if state == "as-found" and self.direct else state

    @cached_property
    def closed(self) -> bool:
        """Whether the next operation starts when one ends: no rate says when, and no pause lies between."""
        return not self.rated and not self.asked.get("think")

    @cached_property
    def rated(self) -> bool:
        """Whether a rate says when operations are due, so that there is a time from the intended start."""
        return str((self.asked.get("arrivals") or {}).get("kind") or "closed") != "closed"

    def distribution(self, which: str) -> Distribution | None:
        """A latency distribution."""
        found = self.result.get(which)
        return cast("Distribution", found) if isinstance(found, dict) else None

    def metric(self, name: str) -> float | None:
        """Value of a metric in its base unit; none where it was not measured."""
        if name not in self._metrics:
            self._metrics[name] = self._metric(*_parsed(name))
        return self._metrics[name]

    @cached_property
    def _metrics(self) -> dict[str, float | None]:
        return {}

    def _metric(self, name: str, head: str, tail: str) -> float | None:
        if head:
            return _plain((self.distribution(head) or {}).get(f"{tail}_ns"))
        holder = self.result.get("cpu") if name in _CPU else self.result
        return _plain((holder or {}).get(name))

    def method(self, name: str) -> str:
        """Instrument that gave a metric; empty where the record does not say."""
        name = canonical(name)
        holder = self.result.get("cpu") if name in _CPU else self.result
        found = (holder or {}).get(name)
        return str(found.get("method") or "") if isinstance(found, dict) else ""

    @property
    def counted_by(self) -> str:
        """When hardware counters ran; empty where the record does not say."""
        counted = (self.result.get("cpu") or {}).get("counted") or {}
        return str(counted.get("by") or "")

    def supported(self, name: str) -> bool:
        """Whether a percentile has at least 100 values beyond it; true for everything else."""
        _, head, tail = _parsed(name)
        if tail not in _SHARES:
            return True
        ceiling = float((self.distribution(head) or {}).get("supported_percentile") or 0.0)
        return _SHARES[tail] <= ceiling + 1e-9

    def at_least(self, name: str) -> bool:
        """Whether a latency is a lower bound: operations that were due and never ended may move it."""
        _, head, tail = _parsed(name)
        bound = (self.distribution(head) or {}).get("at_least") if head and tail != "min" else None
        found = self.metric(name)
        if not isinstance(bound, dict) or found is None:
            return False
        return tail not in _SHARES or found >= float(bound["from_ns"])

    def interval(self, name: str) -> Interval | None:
        """Interval of a metric from the run's own series, where the series has that metric."""
        point = self.metric(name)
        series = [entry for entry in self.result.get("intervals") or () if isinstance(entry, dict)]
        if point is None or not series:
            return None
        values, weights = _series(canonical(name), series)
        under = floor(name)
        least, floors = self.metric(under), _series(under, series)[0]
        if values and floors and least is not None:
            return over_intervals_above(point, values, least, floors, weights)
        return over_intervals(point, values, weights) if values else None

    @property
    def beside(self) -> str:
        """The company that the class had, seen from itself."""
        scenario = self.cell.scenario
        if scenario.startswith("pair:"):
            return "beside " + " ".join(name for name in scenario[5:].split("+") if name != self.name)
        return "all together" if scenario == "all" and len(self.record["classes"]) > 1 else "alone"

    def key(self, name: str) -> Hashable:
        """A factor's value as something that can be a key: rows are put together by it again and again."""
        if name not in self._keys:
            self._keys[name] = hashable(self.dimension(name))
        return self._keys[name]

    @cached_property
    def _keys(self) -> dict[str, Hashable]:
        return {}

    def dimension(self, name: str) -> Any:
        """Value of a factor, or of what the class says where the study has no such factor."""
        if name in self.cell.factors:
            return self.cell.factors[name]
        said = _DIMENSIONS.get(name)
        return said(self) if said is not None else None


# One is asked for at a time, and of every row of a large folder: what nobody asks for is not put into words.
_DIMENSIONS: dict[str, Callable[[Row], Any]] = {
    "class": lambda one: one.name,
    "study": lambda one: one.cell.study,
    "scenario": lambda one: one.cell.scenario,
    "beside": lambda one: one.beside,
    "repeat": lambda one: one.cell.repeat,
    "path": lambda one: one.path_label,
    "size": lambda one: one.asked.get("size"),
    "size_bytes": lambda one: one.asked.get("size"),
    "page_bytes": lambda one: one.asked.get("size"),
    "threads": lambda one: one.asked.get("threads", 1),
    "depth": lambda one: one.asked.get("depth", 1),
    "asked_depth": lambda one: one.result.get("asked_depth"),
    "batch": lambda one: one.asked.get("batch", 1),
    "operation": lambda one: labels.operation(one.asked.get("operation") or {}),
    "pattern": lambda one: labels.pattern(one.asked.get("pattern") or {}),
    "durability": lambda one: labels.durability(one.asked.get("durability") or {}),
    "cache": lambda one: (one.record.get("job") or {}).get("cache", "as-found"),
    "on": lambda one: (one.record["job"].get("labels") or {}).get("on") or _target(one.record),
}


def hashable(value: Any) -> Hashable:
    """A factor's value, or one of its kind that can be a key."""
    if isinstance(value, list):
        return tuple(hashable(part) for part in value)
    if isinstance(value, dict):
        return tuple(sorted((name, hashable(part)) for name, part in value.items()))
    plain: Hashable = value
    return plain


def _target(record: Record) -> str:
    targets = record["job"].get("targets") or ()
    members = [member for target in targets for member in target.get("members") or _label(target)]
    return ", ".join(str(member) for member in members)


def _label(target: Target) -> list[str]:
    twin = target.get("twin")
    return [twin["label"]] if isinstance(twin, dict) else []


def _plain(found: Any) -> float | None:
    raw = found.get("value") if isinstance(found, dict) else found
    return float(raw) if isinstance(raw, (int, float)) and not isinstance(raw, bool) else None


def _series(name: str, series: list[IntervalPoint]) -> tuple[list[float], list[float]]:
    if name in {"bandwidth", "ops_rate"}:
        amounts = [float((e.get("bytes") if name == "bandwidth" else e.get("operations")) or 0) for e in series]
        spans = [float(entry.get("length_s") or 0) for entry in series]
        pairs = zip(amounts, spans, strict=True)
        return [amount / span if span > 0 else 0.0 for amount, span in pairs], spans
    column = {"service_mean": "mean_ns", "service_p50": "p50_ns", "service_p99": "p99_ns"}.get(name)
    if column is None:
        return [], []
    return [_plain(e.get(column)) or 0.0 for e in series], [float(e.get("operations") or 0) for e in series]


def rows(cells: Iterable[Cell]) -> list[Row]:
    """All classes of all cells that left a record. The rows of a cell are made once, whoever asks for them."""
    return [one for cell in cells if cell.record is not None for one in _of(cell, cell.record)]


def _of(cell: Cell, record: Record) -> tuple[Row, ...]:
    made = cell.made.get(Row)
    if made is None:
        asked = {str(one.get("name")): one for one in record["job"].get("classes") or () if isinstance(one, dict)}
        results = (one for one in record["classes"] if isinstance(one, dict))
        made = tuple(Row(cell, record, result, asked.get(str(result.get("name")), {})) for result in results)
        cell.made[Row] = made
    return cast("tuple[Row, ...]", made)
