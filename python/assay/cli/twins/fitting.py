"""`assay fit --on` and `--from`: measures, fits, and says how far the twin is off."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from assay.binary import Binary
from assay.cli import executors, output
from assay.cli.executors import ExecutorWish
from assay.cli.measure.devices import check_devices
from assay.cli.measure.order import RunFlags, show_plan, wish
from assay.error import BAD_JOB, DONE, FAILED, INTERRUPTED, AssayError
from assay.results.files import explain
from assay.study import folder, run
from assay.study.consent import Consent
from assay.study.observer import watching
from assay.study.request import Prepared, prepare
from assay.study.run import Summary
from assay.target.host import HostWish
from assay.target.target import parse_all
from assay.twin.fit_result import FitResult, fit_folder
from assay.untyped import Json


@dataclass(frozen=True)
class FitOrder:
    """What was typed."""

    on: str = ""
    results: Path | None = None
    resume: Path | None = None
    source: Path | None = None
    out: Path | None = None
    name: str = ""
    seconds_per_point: float | None = None
    host: str = ""
    serials: list[str] = field(default_factory=list)
    yes_destroy: bool = False
    settings: list[str] = field(default_factory=list)
    seed: int = 1
    uncertified: bool = False
    dry_run: bool = False
    json: bool = False
    executor: ExecutorWish = field(default_factory=ExecutorWish)
    """Who computes, once all is measured."""


def fit_device(order: FitOrder) -> int:
    """Measures unless a folder was given, fits, writes; returns the exit code."""
    _check_out(order)
    binary = Binary.find()
    if order.source is not None:
        return _conclude(order, order.source, binary)
    if order.resume is not None:
        allowed = Consent(order.serials, order.yes_destroy)
        summary = run.resume(order.resume, binary, watching(order.json), allowed, "assay fit")
        return _after(order, summary, binary)
    prepared = prepare(wish(_measuring(order)), binary)
    if order.dry_run:
        return show_plan(prepared, order.json)
    if prepared.name != READS:
        check_devices(prepared)
    _show_plan(prepared)
    directory = order.results or folder.default("fit")
    observer = watching(order.json)
    return _after(order, run.start(prepared, directory, binary, observer, ["assay", "fit", "--on", order.on]), binary)


ALL, READS = "fit", "fit-reads"
# As the studies declare it; a device may be smaller.
DATA_BYTES = 2 << 30


def _measuring(order: FitOrder) -> RunFlags:
    """The study: all of it, or what only reads where the target must stay as it is."""
    target = parse_all([order.on], order.serials, order.yes_destroy, HostWish(order.host))[0]
    if target.kind not in ("folder", "file", "block-device", "twin") or "memory" in target.stands_for:
        hint = "name a folder on the device, a file, a block device, or a twin of a drive"
        raise AssayError(f"`{order.on}` is a {target.kind}, and no drive", hint=hint, code=BAD_JOB)
    whole = target.kind in ("folder", "twin") or order.yes_destroy
    settings = list(order.settings)
    if order.seconds_per_point is not None:
        settings.append(f"measure={order.seconds_per_point}s")
    if target.kind == "block-device" and not any(text.startswith("data=") for text in settings):
        settings.append(f"data={min(DATA_BYTES, target.total_bytes())}")
    return RunFlags(
        study=ALL if whole else READS,
        on=[order.on],
        settings=settings,
        seed=order.seed,
        serials=order.serials,
        yes_destroy=order.yes_destroy,
        host=order.host,
    )


def _show_plan(prepared: Prepared) -> None:
    from assay.units.parse import format_bytes, format_seconds

    plan = prepared.plan
    output.tell(
        f"{len(plan.cells)} cells in about {format_seconds(plan.seconds)}; "
        f"at most {format_bytes(plan.bytes_written)} are written, "
        f"{format_bytes(sum(plan.bytes_needed.values()))} of room are needed and given back"
    )


def _after(order: FitOrder, summary: Summary, binary: Binary) -> int:
    if summary.exit_code == INTERRUPTED:
        hint = f"what was measured is kept; go on with: assay fit --resume {summary.directory}"
        raise AssayError("the fit was interrupted before every point was measured", hint=hint, code=INTERRUPTED)
    for problem in summary.problems:
        output.tell(f"problem: {problem}")
    for missing in summary.not_measured:
        output.tell(f"not measured ({len(missing['cells'])}): {output.sentences(missing['reason'], missing['fix'])}")
    output.tell(f"results: {summary.directory}")
    return _conclude(order, summary.directory, binary)


def _conclude(order: FitOrder, directory: Path, binary: Binary) -> int:
    if not (directory / "records").is_dir():
        hint = "name a folder that `assay fit --on` wrote, or a grid as a .csv file"
        raise AssayError(f"{directory} is no folder of results", hint=hint, code=BAD_JOB)
    with executors.executor(order.executor) as by:
        result = fit_folder(directory, order.name, binary, by)
    wanted = result.verdict.certified or order.uncertified
    files = _write(order, result) if wanted else None
    if order.json:
        output.emit(result.document() | {"files": files, "results": str(directory)})
    else:
        _show(result, files)
    return DONE if result.verdict.certified else FAILED


def _check_out(order: FitOrder) -> None:
    """Files of others stay: found out before four minutes are spent."""
    if order.out is not None and order.out.suffix != ".toml":
        raise AssayError(f"{order.out} is no name of a twin file", hint="end it with .toml", code=BAD_JOB)
    if order.out is not None and not order.out.absolute().parent.is_dir():
        folder_ = order.out.absolute().parent
        raise AssayError(f"{folder_} does not exist", hint="make it first, or choose another --out", code=BAD_JOB)


def _write(order: FitOrder, result: FitResult) -> Json:
    twin = order.out or Path(f"{result.twin['name']}.toml")
    host = twin.with_name(f"{twin.stem}-host.toml")
    try:
        twin.write_text(result.twin_toml(), encoding="utf-8")
        host.write_text(result.host_toml(), encoding="utf-8")
    except OSError as error:
        raise explain(error, twin) from error
    return {"twin": str(twin), "host": str(host)}


def _show(result: FitResult, files: Json | None) -> None:
    for kind in result.kinds():
        held = kind["held_out"]
        unseen = "nothing held out"
        if held["points"]:
            unseen = f"held out {held['points']}: median {held['median']:.1%}, worst {held['worst']:.1%}"
        output.say(f"{kind['kind']:17} {unseen}; repeats spread up to {kind['worst_spread']:.1%}")
    held, fitted = result.verdict.held_out, result.verdict.fitted
    output.say(f"fitted points     {len(fitted.values)}: median error {fitted.at(0.5):.1%}, worst {fitted.at(1):.1%}")
    output.say(
        f"held-out points   {len(held.values)}: median error {held.at(0.5):.1%}, "
        f"90th percentile {held.at(0.9):.1%}, worst {held.at(1):.1%}"
    )
    if result.sustained is not None:
        output.say(f"sustained writes  {result.sustained.told()}")
    if result.verdict.certified:
        output.say("Certified.")
    for reason in result.verdict.reasons:
        output.say(f"Not certified: {reason}.")
    if files is None:
        output.say("No file was written; --uncertified writes one with a band as wide as the worst that was seen.")
        return
    twin, host = _typed(files["twin"]), _typed(files["host"])
    output.say(f"{files['twin']} and {files['host']} are written. Ask them:")
    output.say(f"  assay predict --on twin:{twin} --host {host}")


def _typed(path: str) -> str:
    """A path so that it is not taken for a name."""
    return path if "/" in path else f"./{path}"
