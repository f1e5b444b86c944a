"""Calls and words that have no place here, each with what to write in its stead."""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from tidy import rust
from tidy.files import matching, place, text

# Written apart, so that this file does not hold what it forbids.
UNFINISHED = "TO" + "DO|FIX" + "ME|X" + "XX"
SOURCES = ("**/*.rs", "**/*.py", "**/*.sh", "**/*.toml", "assay", "setup/*", ".ci/*", "benches/*")
TEXTS = (*SOURCES, "**/*.md", "**/*.html", "**/*.js", "**/*.css")


@dataclass(frozen=True)
class Ban:
    """A pattern, where it must not be, and what stands in its place."""

    pattern: str
    instead: str
    where: tuple[str, ...]
    but_not: tuple[str, ...] = ()
    code_only: bool = True
    in_tests: bool = True

    def complaints(self, path: Path, source: str) -> list[str]:
        code = rust.code_only(source) if self.code_only and path.suffix == ".rs" else source
        spared = rust.test_lines(source) if not self.in_tests and path.suffix == ".rs" else set()
        found = []
        for match in re.finditer(self.pattern, code):
            line = code.count("\n", 0, match.start()) + 1
            if line not in spared:
                found.append(f"{place(path)}:{line}: {match[0].strip()!r}: {self.instead}")
        return found


TESTS = (
    *("crates/*/tests/**/*.rs", "crates/*/benches/**/*.rs", "crates/*/examples/**/*.rs", "fuzz/**/*.rs"),
    *("crates/*/src/**/tests/**/*.rs", "crates/*/src/**/tests.rs"),
)
THIS = ("tests/tidy/test_words.py", "clippy.toml")
BANS = [
    Ban(
        r"\bsaturating_record\w*",
        "use record and count what lies above the range; this one hides outliers",
        ("**/*.rs", "**/*.py"),
        THIS,
    ),
    Ban(
        r"\bru_maxrss\b",
        "read VmHWM of /proc/self/status; this one is inherited over exec",
        ("**/*.rs", "**/*.py"),
        THIS,
    ),
    Ban(
        r"\bInstant::now\b",
        "the measured loop reads the time stamp counter",
        ("crates/load/src/worker/*.rs", "crates/load/src/generator/*.rs"),
        TESTS,
    ),
    Ban(
        r"\.unwrap\(\)",
        "return an error, or say with expect() why it cannot fail",
        ("crates/**/*.rs",),
        TESTS,
        in_tests=False,
    ),
    Ban(
        r"\be?print(?:ln)?!",
        "only the binary speaks; return what is to be said",
        ("crates/*/src/**/*.rs",),
        ("crates/assayer/**/*.rs", "crates/rivals/src/main.rs", *TESTS),
        in_tests=False,
    ),
    Ban(
        r"\bprocess::exit\b",
        "return the error; the binary's main knows the exit code",
        ("crates/**/*.rs",),
        ("crates/assayer/**/*.rs", *TESTS),
    ),
    Ban(
        r"\b(?:struct|enum|trait|mod|class) "
        r"(?:\w+(?=Crew\b|Hand\b|Told\b|Leave\b))?(?:Crew|Hand|Pen|Told|Announced|Leave|crew|pen)\b",
        "call it by the field's word: ARCHITECTURE.md has the table",
        ("crates/**/*.rs", "python/**/*.py"),
    ),
    Ban(
        r"\btime\.sleep\((?:[1-9]\d*\.[\d]*[1-9]|[2-9]|[1-9]\d+)", "wait for what is awaited", ("tests/**/*.py",), THIS
    ),
    Ban(r"\bshell=True\b", "give the arguments as a list", ("**/*.py",), THIS),
    Ban(r"\b(?:pkill|killall)\b", "end only processes that were started here, by their number", SOURCES, THIS),
    Ban(rf"\b(?:{UNFINISHED})\b", "finish it, or describe it where plans are kept", TEXTS, THIS, code_only=False),
    Ban(
        r"(?<![\w.$}/<{])/(?:work|root|home/[a-z]\w*)/\w",
        "a path of one machine; take it from the environment",
        TEXTS,
        THIS,
        code_only=False,
    ),
    Ban(
        r"(?i)\b(?:pypi\.org|pythonhosted\.org|index\.crates\.io|static\.crates\.io|static\.rust-lang\.org)",
        "each machine says itself where its packages come from",
        (*TEXTS, "**/*.lock"),
        THIS,
        code_only=False,
    ),
]


@pytest.mark.parametrize("ban", BANS, ids=lambda ban: ban.pattern)
def test_banned(ban: Ban) -> None:
    spared = set(matching(*ban.but_not))
    found = [line for path in matching(*ban.where) if path not in spared for line in ban.complaints(path, text(path))]
    assert not found, "\n".join(found)


SAMPLES = [
    "h.saturating_record(v);",
    "usage.ru_maxrss",
    "let t = Instant::now();",
    "value.unwrap()",
    'println!("x")',
    "std::process::exit(1)",
    "pub struct KvCrew<'d> {",
    "time.sleep(30)",
    "run(x, shell=True)",
    "pkill -f fio",
    "// TO" + "DO later",
    'open("/ro' + 'ot/data")',
    "https://pypi" + ".org/simple",
]


@pytest.mark.parametrize(("ban", "sample"), list(zip(BANS, SAMPLES, strict=True)))
def test_every_ban_catches_its_sample(ban: Ban, sample: str) -> None:
    assert ban.complaints(Path("x.rs" if "Instant" in sample else "x.py"), sample)


def test_unwrap_is_for_tests() -> None:
    source = "fn a() { b.unwrap(); }\n#[cfg(test)]\nmod tests {\n fn c() { d.unwrap(); }\n}\n// e.unwrap()\n"
    ban = next(ban for ban in BANS if "unwrap" in ban.pattern)
    assert len(ban.complaints(Path("x.rs"), source)) == 1


def test_sources_are_ascii() -> None:
    found = []
    for path in matching(*SOURCES):
        for number, line in enumerate(text(path).splitlines(), 1):
            if not line.isascii():
                strange = next(letter for letter in line if not letter.isascii())
                found.append(f"{place(path)}:{number}: {strange!r}; write it in ASCII, or as an escape in a string")
    assert not found, "\n".join(found)
