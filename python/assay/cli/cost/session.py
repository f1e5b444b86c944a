"""What the commands of `assay cost` share: the price book of a call, arguments as types, and printing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from assay.cli import output
from assay.error import DONE
from assay.price.answer import Answer
from assay.price.band import check_factor
from assay.price.book import open_book
from assay.price.breakeven import Host, Pair
from assay.price.curve import Curve, of_file, of_records, of_twin
from assay.price.error import PriceError
from assay.price.holding import parse
from assay.price.ledger import Ledger
from assay.price.order import Order
from assay.price.ratio import Load, PricedMachine, missing_utilisation
from assay.price.reading import build, document_of, merged
from assay.price.seen import Seen, seen
from assay.units.parse import parse_bytes, parse_seconds


class CostSession:
    """One call: its book, and how its answer is shown."""

    def __init__(self, quotes: Path | None, as_of: str | None, band: float, as_json: bool) -> None:
        check_factor(band)
        self.as_json = as_json
        self.ledger = Ledger(open_book(quotes, as_of))

    def show(self, answer: Answer) -> int:
        """Prints an answer."""
        with output.to_reader():
            if self.as_json:
                output.emit(answer.document())
            else:
                _print(answer)
        return DONE


def _print(answer: Answer) -> None:
    found = answer.document()
    for line in answer.lines:
        output.say(line)
    print_grid(answer.table)
    if found["prices"]:
        output.say("")
        output.say("Prices:")
        for price in found["prices"]:
            output.say(f"  {price_line(price)}")
    for fact in found["inputs"]:
        where = f"{fact['provenance']}: {fact['source']}" + (f", {fact['date']}" if fact["date"] else "")
        output.say(f"  {fact['name']}: {fact['value']:.10g} ({where})")
    for warning in found["warnings"]:
        output.tell(f"warning: {warning}")


def price_line(price: dict[str, Any]) -> str:
    """A price with everything behind it."""
    own = f" = {price['value']:.6g} {price['currency']} per {price['priced_unit']}"
    same = price["currency"] == "USD" and price["unit"] == price["priced_unit"]
    note = f"; {price['note']}" if "note" in price else ""
    if "exchange" in price:
        rate = price["exchange"]
        note += f"; 1 {rate['currency']} = {rate['usd']} USD, {rate['date']}, {rate['source']}"
    head = f"{price['item']}: {price['usd']:.6g} USD per {price['unit']}{'' if same else own}"
    return f"{head} ({price['kind']} of {price['date']}, {price['origin']}: {price['source']}{note})"


def print_grid(rows: list[list[str]]) -> None:
    """Columns of text, numbers to the right; the last column is not padded."""
    if not rows:
        return
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = [_padded(text, width) for text, width in zip(row, widths, strict=True)]
        output.say("  " + "  ".join(cells).rstrip())


def _padded(text: str, width: int) -> str:
    return text.rjust(width) if text[:1].isdigit() and text.replace(".", "", 1).isdigit() else text.ljust(width)


def workload_of(
    throughput: float | None,
    threads: float | None,
    utilisation: float | None,
    inside: Path | None,
    cell: str | None,
    metric: str,
    classes: list[str] | None,
) -> Load:
    """The load that was given, or a record's."""
    if inside is not None or cell is not None:
        if inside is None or cell is None:
            raise PriceError("a record needs its folder and its cell", "give both: --in DIR --cell ID")
        if (throughput, threads, utilisation) != (None, None, None):
            hint = "leave --throughput, --threads and --utilisation out, or --in and --cell"
            raise PriceError("the load is given twice, by numbers and by a record", hint)
        from assay.price.record import load_of

        return load_of(inside, cell, metric, classes)
    if utilisation is None:
        raise missing_utilisation()
    if throughput is None or threads is None:
        raise PriceError(
            "throughput P and worker threads W are missing", "give --throughput P --threads W, or a record"
        )
    return Load(throughput, "operations/s" if metric == "ops" else "B/s", threads, utilisation).check()


def machine_of(storage: list[str], dram: list[str], cpu: str, threads: float | None) -> PricedMachine:
    """What is paid for."""
    if not storage:
        raise PriceError("no storage is named", "give --storage ITEM*N; `assay cost prices` lists the items")
    if threads is not None and not threads > 0:
        raise PriceError(f"{threads:g} hardware threads cannot be", "give --cpu-threads above zero")
    return PricedMachine([parse(text) for text in storage], [parse(text) for text in dram], cpu, threads)


def seen_of(inside: Path | None, cell: str | None) -> Seen | None:
    """The record that says what a system does, where one is named."""
    if inside is None and cell is None:
        return None
    if inside is None or cell is None:
        raise PriceError("a record needs its folder and its id", "give both: --in DIR --cell ID")
    return seen(inside, cell)


def order_of(file: Path | None, parts: list[str], settings: list[str], measured: dict[str, Any] | None = None) -> Order:
    """An order from its file, parts and settings of the command line; what a record measured lies under them."""
    text = "" if file is None else _text(file)
    document = document_of(text, str(file))
    for setting in settings:
        document = merged(document, document_of(_setting(setting), f"--set {setting}"))
    holdings = [parse(part) for part in parts]
    bought = [{"item": one.item, "count": one.count} for one in holdings]
    listed = document.get("parts", [])
    if bought and isinstance(listed, list):
        document["parts"] = [*listed, *bought]
    if not document.get("parts"):
        raise PriceError("nothing is bought", "name a file of an order, or give --part ITEM*N")
    return build(merged(measured or {}, document), text, str(file or "the order"), Order)


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PriceError(
            f"{file} cannot be read: {error}", "name a file of an order; docs/cost-system.md shows one"
        ) from error


def _setting(text: str) -> str:
    key, equals, value = text.partition("=")
    if not equals or not key.strip() or not value.strip():
        raise PriceError(f"`{text}` is not a setting", "write KEY=VALUE, such as months=36 or work.iops=500000")
    try:
        float(value)
        return f"{key.strip()} = {value.strip()}"
    except ValueError:
        escaped = value.strip().replace("\\", "\\\\").replace('"', '\\"')
        return f'{key.strip()} = "{escaped}"'


def curve_of(file: Path | None, twin: str | None, inside: Path | None, page: str) -> Curve | None:
    """Latency over load from the one place that is named; none where none is."""
    if sum(one is not None for one in (file, twin, inside)) > 1:
        raise PriceError("latency over load is given twice", "give one of --curve, --twin and --in")
    if file is not None:
        return of_file(file)
    if twin is not None:
        return of_twin(twin.removeprefix("twin:"), parse_bytes(page))
    return None if inside is None else of_records(inside, parse_bytes(page))


def pair_of(
    upper: str,
    lower: str,
    page: str,
    iops: float | None,
    curve: Curve | None,
    bound: str | None,
    host: tuple[str | None, float | None, float | None, float],
) -> Pair:
    """Two tiers, with the host where it is named."""
    cpu, cycles, clock, bandwidth = host
    counted = None
    if cpu is not None or cycles is not None or clock is not None:
        if cpu is None or clock is None or (cycles is None and curve is None):
            raise PriceError("the host's cost needs three numbers", "give --cpu ITEM --cycles N --clock HZ together")
        counted = Host(cpu, cycles, clock, usd_per_gb_per_s=bandwidth)
    bound_s = None if bound is None else parse_seconds(bound)
    return Pair(upper, lower, parse_bytes(page), iops, bound_s, curve, counted)
