"""JUnit's XML, which CI systems read. Its form is the one that Jenkins' xUnit schema allows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

from assay.results.cases import Case

_CHILD = {"failed": "failure", "error": "error", "skipped": "skipped"}


def write(path: Path, title: str, cases: Sequence[Case]) -> None:
    """Writes one suite for each group of cases. Raises `OSError`."""
    top = ET.Element("testsuites", {"name": title} | _counts(cases))
    for group in dict.fromkeys(case.group for case in cases):
        own = [case for case in cases if case.group == group]
        suite = ET.SubElement(top, "testsuite", {"name": group} | _counts(own))
        for case in own:
            _case(suite, case)
    ET.indent(top)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(ET.tostring(top, encoding="utf-8", xml_declaration=True) + b"\n")


def _counts(cases: Sequence[Case]) -> dict[str, str]:
    states = [case.state for case in cases]
    return {
        "tests": str(len(cases)),
        "failures": str(states.count("failed")),
        "errors": str(states.count("error")),
        "skipped": str(states.count("skipped")),
        "time": f"{sum(case.seconds for case in cases):.3f}",
    }


def _case(suite: ET.Element, case: Case) -> None:
    found = ET.SubElement(suite, "testcase", classname=case.group, name=case.name, time=f"{case.seconds:.3f}")
    # Characters that XML cannot hold would make the whole file unreadable.
    said = "".join(letter if letter.isprintable() or letter in "\n\t" else " " for letter in case.said)
    if case.state in _CHILD:
        ET.SubElement(found, _CHILD[case.state], message=said)
    elif said:
        ET.SubElement(found, "system-out").text = said
