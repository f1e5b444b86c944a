"""Figures of databases out of work records: queries by target, transactions, wtperf's ratios.

Each returns an Altair chart, or nothing where the records have nothing of the kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from assay.report import theme

Json = dict[str, Any]
Chart = Any
_BAR, _GAP = 13, 10
_PERCENTILES = {"p50": "p50_ns", "p90": "p90_ns", "p99": "p99_ns", "p99.9": "p999_ns"}


def queries(records: Sequence[Json]) -> Chart | None:
    """Time of every query as bars, a colour per target, a panel per protocol; whiskers from the fastest run to the
    slowest, or over the band of what was predicted."""
    data = [row for record in _of(records, "tpch") for part in record["parts"] for row in _query(record, part)]
    if not data:
        return None
    names, targets = _distinct(data, "query"), _distinct(data, "target")
    base = alt.Chart(_data(data)).encode(
        y=alt.Y("query:N", sort=names, title=None, axis=alt.Axis(labelColor=theme.INK)),
        yOffset=alt.YOffset("target:N", sort=targets),
    )
    tooltip = [alt.Tooltip(f"{name}:N") for name in ("query", "target", "protocol", "said", "class", "node", "against")]
    bars = base.mark_bar(cornerRadiusEnd=2).encode(
        x=alt.X("time_s:Q", title="Time to the last row, s"), color=_colour(targets), tooltip=tooltip
    )
    ends = base.mark_rule(stroke=theme.INK, opacity=0.7).encode(x="low_s:Q", x2="high_s:Q")
    height = len(names) * (_BAR * len(targets) + _GAP)
    layered = alt.layer(bars, ends).properties(height=height, width=360)
    return layered.facet(column=alt.Column("protocol:N", title=None)).resolve_scale(x="independent")


def _query(record: Json, part: Json) -> list[Json]:
    figures, facts = part["figures"], part.get("facts") or {}
    if "time_s" not in figures:
        return []
    seconds = figures["time_s"]
    band = seconds.get("band") or {}
    parameters = record["workload"]["parameters"]
    return [
        {
            "query": part["name"],
            "target": _target(record),
            "protocol": str(parameters.get("protocol", "")),
            "time_s": seconds["value"],
            "low_s": band.get("low", figures.get("lowest_s", seconds)["value"]),
            "high_s": band.get("high", figures.get("highest_s", seconds)["value"]),
            "said": f"{seconds['value']:.3g} s ({seconds['provenance']})",
            "class": facts.get("class", ""),
            "node": facts.get("dominant_node", ""),
            "against": facts.get("against_first", ""),
        }
    ]


def throughput(records: Sequence[Json]) -> Chart | None:
    """Transactions per second of TPC-C as bars, one per record."""
    data = []
    for record in _of(records, "tpcc"):
        figure = record["figures"].get("transactions_per_s") or record["figures"].get("ops_per_s")
        if figure is not None:
            said = f"{figure['value']:.4g}/s ({figure['provenance']}, {record['verdict']['status']})"
            data.append({"run": _run(record), "target": _target(record), "rate": figure["value"], "said": said})
    if not data:
        return None
    names, targets = _distinct(data, "run"), _distinct(data, "target")
    return (
        alt.Chart(_data(data))
        .mark_bar(cornerRadiusEnd=2)
        .encode(
            y=alt.Y("run:N", sort=names, title=None),
            x=alt.X("rate:Q", title="Transactions per second"),
            color=_colour(targets),
            tooltip=[alt.Tooltip("run:N"), alt.Tooltip("said:N")],
        )
        .properties(height=len(names) * (_BAR + _GAP), width=420)
    )


def latency(records: Sequence[Json]) -> Chart | None:
    """Percentiles of each transaction of TPC-C, from the intended start where there is one."""
    data = [row for record in _of(records, "tpcc") for part in record["parts"] for row in _percentiles(record, part)]
    if not data:
        return None
    targets = _distinct(data, "run")
    return (
        alt.Chart(_data(data))
        .mark_line(point=True)
        .encode(
            x=alt.X("percentile:N", sort=list(_PERCENTILES), title="Percentile", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("ms:Q", title="Latency, ms", scale=alt.Scale(type="log")),
            color=_colour(targets, "run"),
            tooltip=[alt.Tooltip(f"{name}:N") for name in ("run", "transaction", "percentile", "ms", "counted")],
        )
        .properties(height=170, width=170)
        .facet(facet=alt.Facet("transaction:N", title=None), columns=3)
    )


def _percentiles(record: Json, part: Json) -> list[Json]:
    found = part.get("response") or part.get("service")
    if not found or not found["count"]:
        return []
    counted = "from the intended start" if part.get("response") else "from the actual start"
    return [
        {
            "run": _run(record),
            "transaction": part["name"],
            "percentile": name,
            "ms": max(found[key], 1) / 1e6,
            "counted": counted,
        }
        for name, key in _PERCENTILES.items()
    ]


def ratios(records: Sequence[Json]) -> Chart | None:
    """wtperf: rate of each kind of operation against the first target, a row per workload and page cache."""
    data = [row for record in records for part in record["parts"] for row in _ratio(record, part)]
    if not data:
        return None
    names, targets = _distinct(data, "workload"), _distinct(data, "target")
    base = alt.Chart(_data(data)).encode(y=alt.Y("workload:N", sort=names, title=None))
    points = base.mark_point(size=80, filled=True).encode(
        x=alt.X("ratio:Q", title="Rate, of the first target's", scale=alt.Scale(type="log")),
        color=_colour(targets),
        tooltip=[alt.Tooltip("workload:N"), alt.Tooltip("target:N"), alt.Tooltip("said:N")],
    )
    equal = alt.Chart(_data([{"one": 1}])).mark_rule(strokeDash=[4, 3], stroke=theme.INK).encode(x="one:Q")
    return alt.layer(equal, points).properties(height=max(60, len(names) * (_BAR + _GAP)), width=420)


def _ratio(record: Json, part: Json) -> list[Json]:
    figure = part["figures"].get("of_first_ratio")
    name = record["workload"]["name"]
    if figure is None or not name.startswith("wtperf-"):
        return []
    cache = record["workload"]["parameters"].get("page_cache", "")
    row = {"workload": f"{name.removeprefix('wtperf-')} {part['name']}, page cache {cache}", "target": _target(record)}
    return [{**row, "ratio": figure["value"], "said": (part.get("facts") or {}).get("against_first", "")}]


def charts(records: Sequence[Json]) -> dict[str, Chart]:
    """Every figure that the records give, by a title for people."""
    made = {
        "TPC-H-like: time of each query, by target": queries(records),
        "TPC-C-like: transactions per second": throughput(records),
        "TPC-C-like: latency of each transaction": latency(records),
        "wtperf: rates against the first target": ratios(records),
    }
    return {title: chart for title, chart in made.items() if chart is not None}


def _of(records: Sequence[Json], workload: str) -> list[Json]:
    return [record for record in records if record["kind"] == "database" and record["workload"]["name"] == workload]


def _target(record: Json) -> str:
    return next((str(one["target"]) for one in record["targets"] if one["role"] == "data"), "")


def _run(record: Json) -> str:
    return f"{record['subject']['name']} on {_target(record)}"


def _distinct(data: Sequence[Json], name: str) -> list[str]:
    return list(dict.fromkeys(str(row[name]) for row in data))


def _data(rows: Sequence[Json]) -> Any:
    make: Any = alt.Data  # Its types end here.
    return make(values=list(rows))


def _colour(names: Sequence[str], field: str = "target") -> alt.Color:
    colours = [theme.colour(place % len(theme.LIGHT)) for place in range(len(names))]
    scale = alt.Scale(domain=list(names), range=colours)
    return alt.Color(f"{field}:N", scale=scale, title=None, legend=alt.Legend(orient="top") if len(names) > 1 else None)
