"""A bench's result: one JSON document, or a table."""

import json
import statistics
import sys
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.table import Table

from assay.untyped import Json

Row = tuple[str, ...]

HEAD = ("what", "Assay", "fio", "ratio", "95 % interval", "spread")
HEADS = {
    "twin": ("twin", "simulated ops/s", "analytic points/s"),
    "scaling": ("work", "amounts", "CPU s", "exponent", "95 % interval", "n log n"),
    "crosscheck": ("class", "Assay", "fio", "ratio", "95 % interval", "found"),
}


def show(name: str, result: Json, as_json: bool) -> None:
    """Prints it."""
    if as_json:
        print(json.dumps(result, indent=2))
        return
    table = Table(box=None, pad_edge=False)
    for head in HEADS.get(name, HEAD):
        table.add_column(head, no_wrap=True)
    for row in _ROWS[name](result):
        table.add_row(*row)
    # A file or a pipe has no width to fit into.
    console = Console() if sys.stdout.isatty() else Console(width=120)
    console.print(table)
    console.print(_foot(name, result), highlight=False)


def _foot(name: str, result: Json) -> str:
    if name == "agree":
        from assay.bench.agreement import words

        return words(result)
    if name == "scaling":
        from assay.bench.works import words as of_works

        return of_works(result)
    return _FOOT[name].format(**result)


def _null(result: Json) -> Iterator[Row]:
    figure = {
        "unit": "ops/s",
        "assay": result["ops_per_s"],
        "fio": result["fio_ops_per_s"],
        **{key: result[key] for key in ("ratio", "ratio_low", "ratio_high", "assay_spread", "fio_spread")},
    }
    yield _row("null, 4 KiB random, one thread", figure)


def _fio(result: Json) -> Iterator[Row]:
    for point in result["points"]:
        words = f"{point['engine']} depth {point['depth']}, {point['cache']}"
        yield _row(words, point["cycles_per_op"])
        yield _row("", point["throughput"])


def _agree(result: Json) -> Iterator[Row]:
    for point in result["points"]:
        for index, (name, figure) in enumerate(point["figures"].items()):
            yield _row(f"{point['cell']}: {name}" if index == 0 else f"  {name}", figure)


def _pmem(result: Json) -> Iterator[Row]:
    for point in result["points"]:
        yield _row(f"{point['pattern']} {point['operation']}, {point['size']} B", point["bandwidth"])


def _twin(result: Json) -> Iterator[Row]:
    for point in result["points"]:
        rates = (point["simulated_ops_per_s"], point["analytic_points_per_s"])
        yield point["twin"], *(_quantity(rate, "/s") for rate in rates)


def _scaling(result: Json) -> Iterator[Row]:
    for work in result["works"]:
        turns: dict[int, list[Json]] = {}
        for point in work["points"]:
            turns.setdefault(point["times"], []).append(point)
        each = [turns[factor] for factor in sorted(turns)]
        amounts = ", ".join(_amount(statistics.median(point["amount"] for point in points)) for points in each)
        seconds = ", ".join(f"{statistics.median(point['cpu_s'] for point in points):.3g}" for points in each)
        known = work["low"] is not None
        interval = f"{work['low']:.2f} to {work['high']:.2f}" if known else ""
        exponent, allowed = ("" if work[key] is None else f"{work[key]:.2f}" for key in ("exponent", "n_log_n"))
        yield f"{work['name']}: {work['unit']}", amounts, seconds, exponent, interval, allowed


def _amount(value: float) -> str:
    for factor, letter in ((1e6, "M"), (1e3, "k")):
        if value >= factor:
            return f"{value / factor:.3g} {letter}"
    return f"{value:.3g}"


def _crosscheck(result: Json) -> Iterator[Row]:
    for name, figures in result["classes"].items():
        for metric, figure in figures.items():
            ours, theirs = (_quantity(figure[who], figure["unit"]) for who in ("assay", "fio"))
            interval = f"{figure['ratio_low']:.3f} to {figure['ratio_high']:.3f}"
            yield f"{name}, {metric}", ours, theirs, f"{figure['ratio']:.3f}", interval, figure["outcome"]


def _row(what: str, figure: Json) -> Row:
    low, high = figure["ratio_low"], figure["ratio_high"]
    interval = "" if low is None else f"{low:.2f} to {high:.2f}"
    ours, theirs = (_quantity(figure[who], figure["unit"]) for who in ("assay", "fio"))
    return (
        what,
        ours,
        theirs,
        f"{figure['ratio']:.2f}",
        interval,
        f"{figure['assay_spread']:.0%}, {figure['fio_spread']:.0%}",
    )


def _quantity(value: float, unit: str) -> str:
    if unit == "ns":
        return f"{value / 1000:.4g} us"
    unit = unit.replace("bytes", "B")
    for factor, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= factor:
            return f"{value / factor:.3g} {letter}{unit}" if unit.endswith("/s") else f"{value:.0f} {unit}"
    return f"{value:.3g} {unit}"


_ROWS: dict[str, Callable[[Json], Iterator[Row]]] = {
    "null": _null,
    "fio": _fio,
    "agree": _agree,
    "pmem": _pmem,
    "crosscheck": _crosscheck,
    "twin": _twin,
    "scaling": _scaling,
}
_FOOT = {
    "null": "{fio_version}; more operations per second are better",
    "fio": "{fio_version}; cycles by {method}: fewer are better; more operations per second are better",
    "crosscheck": "{fio_version}; {repeats} pairs, judged as assay compare judges: equivalent is within {margin:.0%}",
    "twin": "per CPU second of one core; a simulated run counts with start and record",
    "pmem": "{fio_version}; memory plays persistent memory (emulated); more bytes per second are better",
}
