"""Every defect that tests/README.md lists has its test, by the name that stands there."""

import re

from tidy.files import ROOT, text

ROW = re.compile(r"^\| .+ \| `(?P<test>[a-z0-9_]+)`.* in `(?P<file>[^`]+)`.* \|$", re.MULTILINE)


def test_every_listed_regression_has_its_test() -> None:
    rows = ROW.findall(text(ROOT / "tests" / "README.md"))
    assert len(rows) >= 12
    missing = [f"{name} in {file}" for name, file in rows if not defined(name, text(ROOT / "tests" / file))]
    assert not missing


def defined(name: str, source: str) -> bool:
    return re.search(rf"\b(?:def test_|fn ){name}\(", source) is not None
