"""`assay index cost` and `assay index nodes`: printing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.cli import output
from assay.cli.cost.session import CostSession, print_grid
from assay.error import BAD_JOB, DONE, AssayError
from assay.index.cost import cost
from assay.index.nodes import SIZES, Tree, best, here, is_twin, on_twin
from assay.study.observer import watching
from assay.units.parse import parse_bytes


def show_cost(
    inside: Sequence[Path],
    dram: Sequence[int],
    quotes: Path | None,
    as_of: str | None,
    scale: tuple[float, str],
    json: bool,
) -> int:
    """R of every run of an index in folders. `scale` is the band of prices and the size of the data."""
    band, data = scale
    if any(modules < 0 for modules in dram):
        raise AssayError("there are no fewer than no modules", hint="give --dram 1, 2 or 6", code=BAD_JOB)
    session = CostSession(quotes, as_of, band, json)
    data_bytes = float(parse_bytes(data)) if data else 0.0
    return session.show(cost(session.ledger, inside, dram, band, data_bytes))


def show_nodes(on: Sequence[str], path: str, sizes: Sequence[str], tree: Tree, data: str, json: bool) -> int:
    """Lookup time against node size, place by place."""
    rows = []
    for one in on:
        chosen = sizes or SIZES
        observer = watching(json)
        rows += on_twin(one, chosen, tree) if is_twin(one) else here(one, path, chosen, tree, data, observer)
    if json:
        output.emit({"command": "index nodes", "keys": tree.keys, "rows": rows})
        return DONE
    grid = [["on", "node", "depth", "read ns", "lookup ns", "from", "to", ""]]
    for row in rows:
        figures = [f"{row[name]:.0f}" for name in ("node_bytes", "depth", "read_ns", "lookup_ns", "low_ns", "high_ns")]
        grid.append([row["on"], *figures, row["provenance"]])
    print_grid(grid)
    for one in on:
        output.say(best([row for row in rows if row["on"] == one]))
    return DONE
