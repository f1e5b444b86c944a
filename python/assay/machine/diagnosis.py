"""Looks at the machine before anything is measured, and says what would bend a measurement."""

import json
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from assay.machine import checks
from assay.machine.facts import MachineFacts, gather
from assay.machine.finding import Finding, Level

VERSION = 1
EXIT_NOT_POSSIBLE_HERE = 4
_COLOURS = {Level.OK: "green", Level.NOTE: "cyan", Level.WARN: "yellow", Level.BLOCKER: "bold red"}


def examine(facts: MachineFacts) -> list[Finding]:
    """All findings, gravest first. A check that cannot cope with what it read says so; the others go on."""
    findings: list[Finding] = []
    for check in checks.ALL:
        try:
            findings += list(check(facts))
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            topic = check.__name__.replace("_", " ")
            findings.append(Finding(Level.NOTE, topic, f"unknown: the kernel's answer was not understood ({error})"))
    return sorted(findings, key=lambda finding: -finding.level.rank)


def worst(findings: list[Finding]) -> Level:
    """The gravest level; ok where nothing was found."""
    return max((finding.level for finding in findings), key=lambda level: level.rank, default=Level.OK)


def doctor(targets: list[str], as_json: bool) -> int:
    """Examines this machine and `targets`; prints what was found; returns the exit code (4 where something blocks)."""
    findings = examine(gather([str(Path(target).absolute()) for target in targets or ["."]]))
    if as_json:
        print(json.dumps(document(findings), indent=2))
    else:
        show(findings, Console())
    return EXIT_NOT_POSSIBLE_HERE if worst(findings) is Level.BLOCKER else 0


def document(findings: list[Finding]) -> dict[str, object]:
    """The findings as one JSON document."""
    return {
        "version": VERSION,
        "level": str(worst(findings)),
        "findings": [finding.document() for finding in findings],
    }


def show(findings: list[Finding], console: Console) -> None:
    """The findings for people: a table on a terminal, plain lines elsewhere."""
    if console.is_terminal:
        console.print(_table(findings))
    else:
        for finding in findings:
            print(f"{finding.level:8} {finding.topic}: {_words(finding).plain}")
    counts = {level: sum(finding.level is level for finding in findings) for level in reversed(Level)}
    console.print("\n" + ", ".join(f"{count} {level}" for level, count in counts.items()), highlight=False)


def _table(findings: list[Finding]) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for finding in findings:
        table.add_row(Text(finding.level, style=_COLOURS[finding.level]), finding.topic, _words(finding))
    return table


def _words(finding: Finding) -> Text:
    text = Text(finding.seen)
    if finding.target:
        text.append(f"  [{finding.target}]", style="dim")
    if finding.level is not Level.OK:
        for label, words in (("why:  ", finding.why), ("mend: ", finding.fix)):
            if words:
                text.append(f"\n    {label}", style="dim").append(words)
    return text
