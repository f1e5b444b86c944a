"""Which host is the odd one: its rates against the median of the others in the same cells, at the same moments.

Wilcoxon's signed-rank test on the logarithms of those ratios, corrected by Holm for all hosts and classes that are
tried together, and only where the median ratio is more than 2 % off. With too few cells nothing is concluded.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence

import numpy as np

from assay.stats import correction, signed_rank
from assay.untyped import Json

LEVEL = 0.05
MARGIN = 0.02
FEWEST_HOSTS = 3
"""Of two that differ, neither is the odd one."""


def of_totals(hosts: Sequence[str], totals: Sequence[Json]) -> Json:
    """Every host and class, and whether it is odd; or how many cells would be needed to tell."""
    ratios = _ratios(totals)
    if len(hosts) < FEWEST_HOSTS or not ratios:
        return {"tested": [], "cells": 0, "cells_needed": 0}
    needed = signed_rank.pairs_for(LEVEL / len(ratios))
    found = [_tested(host, name, values) for (host, name), values in ratios.items()]
    for one, p_value in zip(found, correction.adjusted([one["p"] for one in found]), strict=True):
        one["p"] = p_value
        one["odd"] = bool(p_value <= LEVEL and abs(math.log(one["ratio"])) > math.log1p(MARGIN))
    cells = min(one["cells"] for one in found)
    return {"tested": found, "cells": cells, "cells_needed": needed}


def sentences(found: Json) -> Iterator[str]:
    """What is to be said."""
    odd = [one for one in found["tested"] if one["odd"]]
    for one in sorted(odd, key=lambda one: float(one["ratio"])):
        way = "slower" if one["ratio"] < 1 else "faster"
        share = abs(1 - one["ratio"])
        yield (
            f"odd: {one['host']} is {share:.1%} {way} than the median of the others in {one['class']} "
            f"({one['cells']} cells, corrected p = {one['p']:.2g})"
        )
    if found["tested"] and not odd:
        if found["cells"] < found["cells_needed"]:
            needed = found["cells_needed"]
            yield f"whether a host is odd cannot be told from {found['cells']} cells; {needed} could: --repeats"
        else:
            yield f"no host is shown to be odd ({found['cells']} cells, corrected for the number of hosts)"


def _tested(host: str, name: str, values: Sequence[float]) -> Json:
    p_value = signed_rank.p_value(np.asarray(values))
    return {
        "host": host,
        "class": name,
        "ratio": math.exp(statistics.median(values)),
        "cells": len(values),
        "p": p_value,
    }


def _ratios(totals: Sequence[Json]) -> dict[tuple[str, str], list[float]]:
    """Logarithms of a host's rate over the median of the others, by host and class; a value for each cell."""
    found: dict[tuple[str, str], list[float]] = {}
    for total in totals:
        rates: dict[str, dict[str, float]] = {}
        for host in total["hosts"]:
            for one in host.get("classes", ()) if host["in_total"] else ():
                rates.setdefault(one["class"], {})[host["host"]] = float(one["ops_per_s"])
        for name, by_host in rates.items():
            for host, rate in by_host.items():
                others = [other for key, other in by_host.items() if key != host]
                if len(others) >= FEWEST_HOSTS - 1 and rate > 0 and statistics.median(others) > 0:
                    found.setdefault((host, name), []).append(math.log(rate / statistics.median(others)))
    return found
