"""What `assay compare` does."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.binary import Binary
from assay.cli import output
from assay.cli.measure.devices import check_devices
from assay.cli.results.gating import NONE, Papers
from assay.compare import cases, conditions, folder, judgement, paired, questions, selftest, side, table, words
from assay.compare.comparison import Comparison, correction_said
from assay.compare.comparison import compare as judge
from assay.compare.document import document
from assay.compare.error import CompareError
from assay.compare.gate import Gate, gate, share
from assay.compare.judgement import Rules
from assay.compare.paired import Sides
from assay.compare.selftest import SelfTest
from assay.error import DONE, INTERRUPTED, AssayError, did_you_mean
from assay.fleet import folder as fleet
from assay.packages import PackagesError
from assay.results import collector
from assay.stats import signed_rank
from assay.study import folder as study_folder
from assay.study import run
from assay.study.consent import Consent
from assay.study.observer import watching
from assay.study.request import Prepared
from assay.study.settings import Value, parse_settings
from assay.target.target import Target, parse_all


@dataclass(frozen=True)
class AskedSides:
    """How to judge, and what to write."""

    metrics: tuple[str, ...] = ()
    margin: str = "2%"
    correction: str = "holm"
    drift: str = ""
    fail_if_slower: str = ""
    undecided_fails: bool = False
    as_is: bool = False
    page: bool = True
    out: Path | None = None
    json: bool = False
    papers: Papers = NONE

    @property
    def bound(self) -> float | None:
        """The loss that fails."""
        return share(self.fail_if_slower, "--fail-if-slower") if self.fail_if_slower else None

    def rules(self) -> Rules:
        """Rules of the judgement; what was typed wrongly is said before anything runs."""
        if self.correction not in ("holm", "bh"):
            hint = did_you_mean(self.correction, ("holm", "bh"))
            raise CompareError(f"`--correction {self.correction}` is not known", hint)
        drift = share(self.drift, "--drift-at-most") if self.drift else 0.0
        margin = share(self.margin, "--margin")
        method = "holm" if self.correction == "holm" else "bh"
        return Rules(margin=margin, method=method, drift=drift, bound=self.bound)  # type: ignore[arg-type]


@dataclass(frozen=True)
class ComparisonFlags:
    """What to run."""

    study: str = ""
    on: tuple[str, ...] = ()
    a: tuple[str, ...] = ()
    b: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    profile: str | None = None
    pairs: int = paired.PAIRS
    seed: int = 1
    dry_run: bool = False
    serials: tuple[str, ...] = ()
    yes_destroy: bool = False


def compare(
    texts: tuple[str, ...],
    inside: Path | None,
    order: ComparisonFlags,
    resume: Path | None,
    aa: bool,
    asked: AskedSides,
) -> int:
    """Runs what is to be run, judges and shows; returns the exit code."""
    rules = asked.rules()
    if resume is not None:
        return _resumed(resume, Consent(order.serials, order.yes_destroy), asked, rules)
    if order.study:
        if texts:
            hint = "give two folders, or --study with --on A --on B, or with --a and --b"
            raise CompareError("--study runs both sides itself and takes no folders", hint)
        return _run(order, aa, asked, rules)
    return _of_folders(texts, inside, asked, rules)


@collector.done_at_exit()
def _of_folders(texts: Sequence[str], inside: Path | None, asked: AskedSides, rules: Rules) -> int:
    return _judged(*_sides(texts, inside), asked, rules)


def against(baseline: Path, directory: Path, asked: AskedSides) -> int:
    """Holds a run against an earlier one; returns the exit code."""
    sides = [side.read(name, str(one), None) for name, one in zip(paired.SIDES, (baseline, directory), strict=True)]
    return _judged(sides[0], sides[1], False, False, asked, asked.rules())


def _sides(texts: Sequence[str], inside: Path | None) -> tuple[side.Side, side.Side, bool, bool]:
    """Both sides, whether their order was drawn by lot, and whether pairs are still to come."""
    if len(texts) == 1 and folder.is_paired(Path(texts[0])):
        return _of_pairs(Path(texts[0]))
    if len(texts) != 2:
        hint = "assay compare A B (folders or cells), or assay compare --study STUDY --on A --on B"
        raise CompareError("a comparison has two sides", hint)
    fleets = [fleet.is_fleet(Path(text)) for text in texts]
    if all(fleets):
        from assay.fleet import sides

        a, b = sides.both(Path(texts[0]), Path(texts[1]))
        return a, b, False, False
    if any(fleets):
        hint = "name two runs of a fleet, or a host's folder of one: DIR/hosts/NAME"
        raise CompareError(f"{texts[fleets.index(True)]} is a run of a fleet, and the other side is none", hint)
    a, b = (_side(name, text, inside) for name, text in zip(paired.SIDES, texts, strict=True))
    return a, b, a.directory.resolve() == b.directory.resolve(), False


def _side(name: str, text: str, inside: Path | None) -> side.Side:
    """A side as it was typed; of a passport the runs that it holds of the questions."""
    from assay.passport import read

    if not read.is_passport(Path(text)):
        return side.read(name, text, inside)
    found = read.read(Path(text))
    if not found.signed:
        raise CompareError(f"the signature of {text} does not hold", f"look at it: assay passport verify {text}")
    asked = read.as_folder(found.passport, Path(text))
    return side.of_folder(name, text, asked, lambda cell: questions.FACTOR in cell.factors)


def _of_pairs(directory: Path) -> tuple[side.Side, side.Side, bool, bool]:
    a, b = folder.sides(directory, folder.head(directory))
    return a, b, True, folder.unfinished(a, b) > 0


def _run(order: ComparisonFlags, aa: bool, asked: AskedSides, rules: Rules) -> int:
    sides = _wanted(order, aa)
    binary = Binary.find()
    prepared = paired.plan(sides, binary)
    if not aa and not order.dry_run:
        _enough(prepared, order.pairs, asked, rules)
    if order.dry_run:
        return show_plan(prepared, asked.json)
    check_devices(prepared)
    directory = asked.out or study_folder.default(prepared.name)
    folder.begin(directory, folder.head_of(sides))
    show_sides(sides, directory)
    summary = run.start(prepared, directory, binary, watching(asked.json), ["assay", *sys.argv[1:]])
    return _after(summary, asked, rules)


def _enough(prepared: Prepared, pairs: int, asked: AskedSides, rules: Rules) -> None:
    """Refuses a number of pairs that could decide nothing even if all agreed, before anything runs."""
    classes = sum(len(cell.job["classes"]) for cell in prepared.plan.cells if cell.refusal is None)
    if classes == 0:
        return
    # Throughput, median, tail and CPU, unless metrics were named.
    refuse_few(pairs, max(1, classes // (2 * pairs) * (len(asked.metrics) or 4)), rules)


def refuse_few(pairs: int, among: int, rules: Rules) -> None:
    """Refuses a number of pairs with which no comparison among so many can pass the correction."""
    fewest = max(judgement.FEWEST, signed_rank.pairs_for(rules.level / among))
    if pairs < fewest:
        hint = f"give --pairs {fewest} at least, or fewer comparisons: --metric ops_rate, or --set FACTOR=VALUE"
        raise CompareError(f"{pairs} pairs cannot decide any of {among} comparisons made together", hint)


def show_plan(prepared: Prepared, as_json: bool) -> int:
    """Prints the plan of the pairs; returns the exit code."""
    if as_json:
        output.emit({"study": prepared.name, **prepared.plan.document()})
        return DONE
    from assay.cli.measure.plan import show

    show(prepared)
    return DONE


def _wanted(order: ComparisonFlags, aa: bool) -> Sides:
    own = parse_settings(order.a), parse_settings(order.b)
    targets = tuple(parse_all(order.on or (".",), order.serials, order.yes_destroy))
    plain = [target for target in targets if not target.role]
    if aa and (own[0] or own[1] or len(plain) > 1):
        raise CompareError("--aa runs one side against itself", "give one target and no --a or --b")
    both, common = _targets(targets, plain), parse_settings(order.settings)
    sides = Sides(order.study, both, common, own, order.profile, order.pairs, order.seed)
    if not aa and sides.targets[0] == sides.targets[1] and own[0] == own[1]:
        hint = (
            "name two targets (--on A --on B), or a setting of each (--a KEY=VALUE --b KEY=VALUE); --aa if it is meant"
        )
        raise CompareError("both sides are the same", hint)
    _check_own(own)
    return sides


def _check_own(own: tuple[dict[str, Value], dict[str, Value]]) -> None:
    only = set(own[0]) ^ set(own[1])
    if only and own[0] and own[1]:
        key = min(only)
        raise CompareError(f"`{key}` is set on one side only", f"give --a {key}=... and --b {key}=...")
    if "repeats" in own[0] or "repeats" in own[1]:
        raise CompareError("`repeats` cannot differ between the sides", "say how many pairs with --pairs")


def _targets(targets: tuple[Target, ...], plain: list[Target]) -> tuple[tuple[Target, ...], tuple[Target, ...]]:
    if len(plain) < 2:
        return targets, targets
    if len(plain) > 2:
        raise CompareError(f"{len(plain)} targets were named, and a comparison has two sides", "give --on twice")
    a, b = (tuple(target for target in targets if target.role or target == one) for one in plain)
    return a, b


def show_sides(sides: Sides, directory: Path) -> None:
    """Says what is compared, and where the results go."""
    output.tell(f"A: {sides.label(0)}; B: {sides.label(1)}")
    output.tell(f"{sides.pairs} pairs, order drawn by lot with seed {sides.seed}; results in {directory}")


def _resumed(directory: Path, allowed: Consent, asked: AskedSides, rules: Rules) -> int:
    folder.head(directory)
    if again := folder.mend(directory):
        output.tell(f"{again} run{'s are' if again > 1 else ' is'} repeated, so that pairs stay side by side")
    summary = run.resume(directory, Binary.find(), watching(asked.json), allowed, "assay compare")
    return _after(summary, asked, rules)


def _after(summary: run.Summary, asked: AskedSides, rules: Rules) -> int:
    """Judges what was run. Cells that could not be measured are said; what was interrupted is not judged."""
    if not summary.ending.interrupted and not any((summary.directory / "records").glob("*.json")):
        from assay.cli.measure.summary import show

        show(summary, None, [])
        return summary.exit_code
    for entry in summary.not_measured:
        output.tell(output.sentences(f"not measured: {entry['study']}: {entry['reason']}", entry["fix"]))
    if summary.ending.interrupted:
        output.tell(
            f"nothing is judged before all pairs are there; continue: assay compare --resume {summary.directory}"
        )
        if asked.json:
            output.emit(summary.document())
        return INTERRUPTED
    return _judged(*_of_pairs(summary.directory), asked, rules) or summary.exit_code


def _judged(a: side.Side, b: side.Side, by_lot: bool, unfinished: bool, asked: AskedSides, rules: Rules) -> int:
    metrics = asked.metrics or (questions.metrics if questions.answers(a) and questions.answers(b) else ())
    found = judge(a, b, rules, metrics=metrics, by_lot=by_lot, unfinished=unfinished and not asked.as_is)
    gated = gate(found, rules.bound) if rules.bound is not None else None
    tests = selftest.tests(found.lines) if _against_itself(found) else []
    page = _page(found, gated, tests, asked) if asked.page else None
    if asked.papers.wanted:
        lead = [table.sentence(found, (found.a.label, found.b.label)), *([gated.sentence] if gated else [])]
        asked.papers.write("assay compare", lead, cases.of(found, gated, undecided_fails=asked.undecided_fails))
    if asked.json:
        own = [one.document() for one in tests]
        output.emit(
            document(found) | {"gate": gated.document() if gated else None, "against_itself": own, "page": page}
        )
    else:
        with output.to_reader():
            _show(found, gated, tests, page)
    return gated.exit_code(undecided_fails=asked.undecided_fails) if gated else DONE


def _against_itself(found: Comparison) -> bool:
    directory = found.a.directory
    return directory == found.b.directory and folder.is_paired(directory) and folder.head(directory).same


def _page(found: Comparison, gated: Gate | None, tests: Sequence[SelfTest], asked: AskedSides) -> str | None:
    """Beside the pairs, or where --out says."""
    paired_run = found.a.directory == found.b.directory and folder.is_paired(found.a.directory)
    return write_page(found, found.b.directory if paired_run else asked.out or Path(), gated, tests)


def write_page(
    found: Comparison, beside: Path, gated: Gate | None = None, tests: Sequence[SelfTest] = ()
) -> str | None:
    """Writes compare.html; what was judged is told even where the page cannot be written."""
    try:
        from assay.compare.view import page

        beside.mkdir(parents=True, exist_ok=True)
        return str(page.write(beside / "compare.html", found, gated, tests))
    except PackagesError as error:
        output.tell(f"there is no page: {error} ({error.hint})")
    except (AssayError, OSError) as error:
        output.tell(f"the page could not be written: {error}")
    return None


def show_table(found: Comparison, names: tuple[str, str] = ("A", "B")) -> None:
    """The table: one row a figure."""
    rows = [(entry.title, entry.a, entry.b, entry.ratio, entry.outcome) for entry in table.entries(found)]
    output.columns(("", *names, "B as good as A", ""), rows, right=(1, 2, 3))


def _show(found: Comparison, gated: Gate | None, tests: Sequence[SelfTest], page: str | None) -> None:
    output.say(f"A: {found.a.label}")
    output.say(f"B: {found.b.label}")
    output.say("")
    output.say(table.sentence(found, ("A", "B")))
    output.say("")
    show_table(found)
    output.say("")
    output.say(table.trust(found))
    for line in found.lines:
        output.say(f"\n{line.name}\n  {words.sentence(line, found)}")
    output.say("")
    output.say(f"{correction_said(found)}.")
    for design in dict.fromkeys(line.design.said for line in found.lines):
        output.say(f"order: {design}")
    differing, counted = conditions.summed_up(found.environment)
    for text in (*(one.said for one in differing), *(f"{one.said} (--json lists them)" for one in counted)):
        output.say(f"environment: {text}")
    for text in (*found.left_out, *found.problems):
        output.say(f"note: {text}")
    for one in tests:
        output.say("")
        for text in selftest.sentences(one):
            output.say(text)
    if gated is not None:
        output.say(gated.sentence)
    if page:
        output.say(f"page: {page}")
