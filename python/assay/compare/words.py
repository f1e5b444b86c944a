"""Outcomes in sentences."""

from __future__ import annotations

import math

from assay.compare import bands, judgement
from assay.compare.comparison import Comparison
from assay.compare.line import Line
from assay.results import row
from assay.stats import need, signed_rank


def change(ratio: float) -> str:
    """A ratio as a change: `+3.1 %`, `-0.4 %`; as a multiple where it is large: `4.2 times`."""
    if ratio >= 3:
        return f"{ratio:.3g} times"
    if ratio <= 1 / 3:
        return f"1/{1 / ratio:.3g} of it"
    percent = 100 * (ratio - 1)
    digits = 1 if abs(percent) >= 0.095 else 2
    text = f"{percent:+.{digits}f} %"
    return text.replace("-", "+") if text == "-0.00 %" else text


def span(line: Line) -> str:
    """The interval; of too few pairs the lowest and the highest, and of models what their bands leave open."""
    if line.reason in bands.DECIDING:
        low, high = bands.of(line) or (1.0, 1.0)
        return f"{change(low)} to {change(high)}"
    if len(line.pairs) < judgement.FEWEST:
        values = line.log_ratios
        return f"from {log_percent(min(values))} to {log_percent(max(values))}" if values else ""
    if line.bounds is None:
        return ""
    low, high = line.bounds
    if low >= 1 and high >= 3:
        return f"{low:.3g} to {high:.3g} times"
    if high <= 1 and low <= 1 / 3:
        return f"1/{1 / low:.3g} to 1/{1 / high:.3g} of it"
    return f"{change(low)} to {change(high)}"


def percent(share: float) -> str:
    """A share: `2 %`."""
    return f"{100 * share:g} %"


def p_said(value: float) -> str:
    """A probability: `p = 0.012`, `p < 0.0001`."""
    return "p < 0.0001" if value < 1e-4 else f"p = {value:.2g}"


def sentence(line: Line, comparison: Comparison) -> str:
    """The outcome of a comparison in one or two sentences."""
    says = {
        "beyond-chance": _different,
        "within-margin": _equivalent,
        "scatter": _scatter,
        "few-pairs": _few,
        "no-pairs": _none,
        "unfinished": _unfinished,
        "provenance": _provenance,
        bands.APART: _bands_apart,
        bands.WITHIN: _bands_within,
        bands.OVERLAP: _bands_overlap,
        "not-interleaved": _apart,
        "fixed-order": _apart,
    }
    return says[line.reason](line, comparison) + _lost(line)


def _seen(line: Line) -> str:
    return f"{row.metric_title(line.metric)} {change(line.ratio or 1.0)} in B ({span(line)})"


def _pairs(count: int) -> str:
    return "1 pair" if count == 1 else f"{count} pairs"


def _different(line: Line, _comparison: Comparison) -> str:
    probability = p_said(line.judgement.p_different) if line.judgement else ""
    return f"Different, {line.better} is better: {_seen(line)}; {_pairs(len(line.pairs))}, corrected {probability}."


def _equivalent(line: Line, comparison: Comparison) -> str:
    margin = percent(comparison.rules.margin)
    text = f"Equivalent: {_seen(line)}, and the whole interval lies within {margin}."
    if line.judgement and line.judgement.p_different <= comparison.rules.level:
        text += " A difference is there, and it is smaller than what was said to matter."
    return text


def _scatter(line: Line, _comparison: Comparison) -> str:
    return f"Undecided: {_seen(line)} in {_pairs(len(line.pairs))}. {_wanted(line)}"


def _wanted(line: Line) -> str:
    """How many fresh pairs would decide; never more of the same, which would be a second look."""
    if line.evidence is None:
        return ""
    count = line.evidence.needed
    if count >= need.MOST:
        return f"At this scatter more than {need.MOST} pairs would be needed."
    return f"At this scatter about {count} fresh pairs would decide it; adding to these and looking again would not."


def _few(line: Line, comparison: Comparison) -> str:
    level = comparison.rules.level / max(1, comparison.tested)
    fewest = max(judgement.FEWEST, signed_rank.pairs_for(level))
    seen = f"{_seen(line)} in {_pairs(len(line.pairs))}" if line.bounds else f"{_pairs(len(line.pairs))}{_lone(line)}"
    among = f" among {comparison.tested} comparisons" if comparison.tested > 1 and fewest > judgement.FEWEST else ""
    more = ""
    if line.evidence and len(line.pairs) >= judgement.FEWEST:
        more = f"; at this scatter about {line.evidence.needed} would decide"
    return (
        f"Undecided: {seen}. Too few: {fewest} pairs at least can reach {percent(comparison.rules.level)}{among}{more}."
    )


def _lone(line: Line) -> str:
    return f", {row.metric_title(line.metric)} {change(line.ratio)} in B" if line.ratio is not None else ""


def _none(_line: Line, _comparison: Comparison) -> str:
    return "Undecided: no pair is left to compare."


def _unfinished(line: Line, _comparison: Comparison) -> str:
    return (
        f"Undecided: {_pairs(len(line.pairs))} so far, and their number was settled before the first: to look now and "
        "go on would be a second chance for a false alarm. Continue with --resume, or judge what there is with --as-is."
    )


def _provenance(line: Line, _comparison: Comparison) -> str:
    a, b = line.provenance
    who = f"both sides are {a}" if a == b else f"A is {a} and B is {b}"
    why = "what a model computes does not scatter as runs do, so no test can tell its error from a difference"
    return f"Undecided by test: {row.metric_title(line.metric)} {change(line.ratio or 1.0)} in B, but {who}; {why}."


def _bands_apart(line: Line, _comparison: Comparison) -> str:
    return f"Different as {line.provenance[0]}, {line.better} is better: {_open(line)}."


def _bands_within(line: Line, comparison: Comparison) -> str:
    return f"Equivalent as {line.provenance[0]}: {_open(line)}, all of it within {percent(comparison.rules.margin)}."


def _bands_overlap(line: Line, _comparison: Comparison) -> str:
    return f"Undecided: both sides are {line.provenance[0]}, and their bands overlap: {_open(line)}."


def _open(line: Line) -> str:
    """A change with what the bands of both sides leave open."""
    return f"{row.metric_title(line.metric)} {change(line.ratio or 1.0)} in B, where the bands allow {span(line)}"


def _apart(line: Line, _comparison: Comparison) -> str:
    how = line.design.said
    what = "an effect of the order" if line.reason == "fixed-order" else "drift of the machine"
    beyond = line.evidence is not None and not line.evidence.interval.holds(0.0)
    scatter = "more than the scatter explains" if beyond else "no more than the scatter explains"
    remedy = "run both as pairs (assay compare --study), or say what may have drifted (--drift-at-most 10%)"
    return f"Undecided: {_seen(line)}, {scatter}; but {how}, so {what} cannot be told from a difference: {remedy}."


def _lost(line: Line) -> str:
    """Pairs that do not count: a difference in itself where they are lost by one side."""
    parts = []
    if line.dropped:
        first = line.dropped[0]
        sides = {one.side for one in line.dropped}
        blame = (
            f", all through {first.side}, which is a difference too" if len(sides) == 1 and sides != {"both"} else ""
        )
        parts.append(f"{_pairs(len(line.dropped))} left out{blame} ({first.reason.rstrip('.')})")
    alone = sum(line.alone.values())
    if alone:
        parts.append(f"{alone} run{'s' if alone > 1 else ''} without a partner")
    if line.suspect:
        codes = ", ".join(f"{code} in {count}" for code, count in sorted(line.suspect.items()))
        parts.append(f"suspect records: {codes}")
    if line.evidence is not None and line.evidence.block > 1:
        parts.append(f"neighbouring pairs are alike, so they count in blocks of {line.evidence.block}")
    if line.evidence is not None and line.provenance[0] == "emulated":
        parts.append("emulated on stand-in hardware")
    return "".join(f" {part[:1].upper()}{part[1:]}." for part in parts)


def log_percent(value: float) -> str:
    """A logarithm of a ratio as a change."""
    return change(math.exp(value))
