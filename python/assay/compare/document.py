"""A comparison as `--json` prints it."""

from __future__ import annotations

from assay.compare import words
from assay.compare.comparison import Comparison
from assay.untyped import Json


def document(found: Comparison) -> Json:
    """As `--json` prints it."""
    return {
        "version": 1,
        "a": {"label": found.a.label, "directory": str(found.a.directory)},
        "b": {"label": found.b.label, "directory": str(found.b.directory)},
        "margin": found.rules.margin,
        "level": found.rules.level,
        "correction": {"method": found.rules.method, "comparisons": found.tested},
        "drift_at_most": found.rules.drift or None,
        "outcomes": {name: found.count(name) for name in ("different", "equivalent", "undecided")},
        "comparisons": [line.document(words.sentence(line, found)) for line in found.lines],
        "environment": [one.document() for one in found.environment],
        "left_out": list(found.left_out),
        "problems": found.problems,
    }
