"""The badge: a passport as a small picture, which stands beside other people's figures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from assay.passport import seal
from assay.passport.document import Passport, PassportFigure
from assay.results import labels
from assay.results.files import write_atomically
from assay.units import show

_WIDTH, _LINE, _LEFT, _VALUE = 520, 19, 16, 300
_SHOWN = (
    ("read.service_p50", "4 KiB read, median"),
    ("read.service_p99", "4 KiB read, p99"),
    ("reads.ops_rate", "4 KiB reads, 32 in flight"),
    ("commit.ops_rate", "durable commits, one thread"),
    ("scan.bandwidth", "scan"),
    ("sustained.bandwidth", "writing without a pause"),
)
_STYLE = (
    "text{font:13px system-ui,'Liberation Sans',Arial,sans-serif;fill:#1b1b1f}.h{font-weight:600;font-size:15px}"
    ".s{fill:#5d5d66;font-size:11.5px}.v{font-weight:600}rect{fill:#fff;stroke:#c9c9d1}"
    "@media(prefers-color-scheme:dark){text{fill:#e9e9ee}.s{fill:#a5a5b0}rect{fill:#17171b;stroke:#44444e}}"
)
_LONGEST = 62


def write(found: Passport, key: str, path: Path) -> None:
    """The badge as a file."""
    text = draw(found, key)
    write_atomically(path, lambda draft: _write(draft, text))


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def draw(found: Passport, key: str) -> str:
    """The badge as SVG: nothing in it comes from anywhere else."""
    lines = list(_lines(found, key))
    height = 2 * _LEFT + _LINE * len(lines) - 4
    body = "".join(_text(line, place) for place, line in enumerate(lines))
    said = quoteattr(labels.clean(f"Assay passport of {found.device.model}"))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" viewBox="0 0 {_WIDTH} {height}" '
        f'role="img" aria-label={said}><style>{_STYLE}</style>'
        f'<rect x=".5" y=".5" width="{_WIDTH - 1}" height="{height - 1}" rx="6"/>{body}</svg>\n'
    )


def _text(line: tuple[str, str, str], place: int) -> str:
    kind, left, right = line
    y = _LEFT + 12 + place * _LINE
    first = f'<text class="{kind}" x="{_LEFT}" y="{y}">{_short(left)}</text>'
    return first + (f'<text class="v" x="{_VALUE}" y="{y}">{_short(right)}</text>' if right else "")


def _short(text: str) -> str:
    text = labels.clean(text)
    return escape(text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "...")


def _lines(found: Passport, key: str) -> Iterator[tuple[str, str, str]]:
    """Class, text on the left, value on the right."""
    device = found.device
    yield "h", device.model, ""
    size = show.size(device.bytes) if device.bytes else ""
    firmware = f"firmware {device.firmware}" if device.firmware else ""
    yield "s", ", ".join(part for part in (size, firmware, found.volume.type) if part), ""
    for name, title in _SHOWN:
        figure = found.figure(name)
        if figure is not None:
            yield "p", title, value(figure)
    verdicts = found.verdicts
    counts = f"{verdicts.valid} runs valid, {verdicts.suspect} suspect, {verdicts.invalid} invalid"
    yield "s", f"{', '.join(provenances(found))}; {counts}", ""
    state = found.state
    yield "s", f"initialised: {state.initialised.answer}; cached: {state.cached.answer}", ""
    yield "s", f"collected: {state.collected.answer}; limits met: {sum(one.met for one in found.limits)}", ""
    yield "s", f"{found.made.at[:10]}{f' by {found.made.by}' if found.made.by else ''}, key {seal.fingerprint(key)}", ""


def provenances(found: Passport) -> list[str]:
    """Of the figures, each once."""
    return list(dict.fromkeys(one.provenance for one in found.figures))


def value(figure: PassportFigure) -> str:
    """A figure with its interval."""
    text = show.figure(figure.value, figure.unit)
    if figure.low is None or figure.high is None or not figure.low <= figure.value <= figure.high:
        return text
    return f"{text} ({show.span(figure.low, figure.high, figure.unit)})"
