"""Studies that are of no I/O, by the same command: sets of engine runs, and tiers of memory below a pool."""

from __future__ import annotations

from pathlib import Path

from assay import home
from assay.cli.measure.order import Order
from assay.document import limits
from assay.error import BAD_JOB, AssayError
from assay.study import folder

KINDS = ("engine", "tiers")
"""Folders beneath `studies`, each of a kind."""


def kind_of(name: str) -> str:
    """`engine` or `tiers`; empty where it is a study of I/O or none at all."""
    if Path(name).suffix != ".toml":
        return next((kind for kind in KINDS if name and (home.studies() / kind / f"{name}.toml").is_file()), "")
    try:
        run = limits.toml(Path(name).read_text(encoding="utf-8"), name).get("run")
    except (OSError, ValueError, AssayError):
        # Whoever reads it as a study of I/O says what is wrong with it.
        return ""
    return "engine" if isinstance(run, list) else "tiers" if isinstance(run, dict) and "placements" in run else ""


def measure(kind: str, order: Order) -> int:
    """Runs such a study; returns the exit code."""
    known = {"on", "settings", "out", "dry_run"} if kind == "engine" else {"seed", "out"}
    _refuse_others(kind, order, known)
    directory = order.out or folder.default(Path(order.study).stem)
    if kind == "tiers":
        from assay.cli.engine import tiering

        return tiering.run_study(order.study, directory, order.seed, order.json)
    from assay.cli.engine import matrix

    if order.dry_run:
        return matrix.show(order.study, order.settings, order.json)
    return matrix.run_study(order.study, Path(order.on[0]), None, order.settings, directory, order.json)


def _refuse_others(kind: str, order: Order, known: set[str]) -> None:
    usual = Order(order.study, ["."])
    names = (
        "on",
        "settings",
        "profile",
        "repeats",
        "seed",
        "dry_run",
        "serials",
        "host",
        "yes_destroy",
        "counting",
        "pins",
    )
    given = [name for name in names if name not in known and getattr(order, name) != getattr(usual, name)]
    if len(order.on) > 1:
        given.append("on (more than one)")
    if given:
        message = f"{order.study} is a study of the kind `{kind}`, which does not know {', '.join(given)}"
        raise AssayError(message, hint=f"`assay engine {_command(kind)} --help` shows what it knows", code=BAD_JOB)


def _command(kind: str) -> str:
    return "tiers" if kind == "tiers" else "study"
