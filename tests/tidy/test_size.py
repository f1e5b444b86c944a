"""Functions and files stay small enough to read in one sitting."""

import ast
from collections.abc import Iterator

from tidy import rust
from tidy.files import matching, place, text

FUNCTION_LINES = 70
FILE_LINES = 500
#: Without blank lines and comments; docstrings count.
CODE_LINES = 400


def python_functions(source: str) -> Iterator[rust.Span]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield rust.Span(node.name, node.lineno, node.end_lineno or node.lineno)


def too_long(spans: Iterator[rust.Span], where: str) -> list[str]:
    return [
        f"{where}:{span.first}: {span.name} has {span.lines} lines, {FUNCTION_LINES} is the end; split it"
        for span in spans
        if span.lines > FUNCTION_LINES
    ]


def test_functions_stay_short() -> None:
    found = [
        *(line for path in matching("**/*.rs") for line in too_long(rust.functions(text(path)), place(path))),
        *(line for path in matching("**/*.py") for line in too_long(python_functions(text(path)), place(path))),
    ]
    assert not found, "\n".join(found)


def test_files_stay_short() -> None:
    sizes = {place(path): text(path).count("\n") for path in matching("**/*.rs", "**/*.py", "**/*.sh", "assay")}
    found = [f"{name}: {lines} lines, {FILE_LINES} is the end" for name, lines in sizes.items() if lines > FILE_LINES]
    assert not found, "\n".join(found)


def code_lines(name: str, source: str) -> int:
    """Lines of a file that are neither blank nor a comment."""
    lines = (rust.code_only(source) if name.endswith(".rs") else source).split("\n")
    return sum(1 for line in lines if line.strip() and not (name.endswith(".py") and line.lstrip().startswith("#")))


def test_files_hold_no_more_code_than_can_be_kept_in_mind() -> None:
    sizes = {place(path): code_lines(path.name, text(path)) for path in matching("**/*.rs", "**/*.py")}
    found = [
        f"{name}: {lines} lines of code, {CODE_LINES} is the end; split it"
        for name, lines in sizes.items()
        if lines > CODE_LINES
    ]
    assert not found, "\n".join(found)


#: Of code that plays a drive, whoever builds it into his own program can read it all.
PLAYING_LINES = 2000


def test_what_plays_a_twin_stays_small() -> None:
    files = [path for path in matching("crates/libtwin/src/**/*.rs") if "document" not in path.parts]
    assert len(files) > 5
    assert sum(code_lines(path.name, text(path)) for path in files) < PLAYING_LINES


def test_blank_lines_and_comments_are_no_code() -> None:
    assert code_lines("x.rs", "//! About.\n\n/* a\n b */\nfn a() {\n    // why\n}\n") == 2
    assert code_lines("x.py", '"""About."""\n\n# why\nx = 1\n') == 2


def test_counting_sees_a_long_function_behind_strings_and_comments() -> None:
    body = "\n".join(
        "    let _ = ('{', \"}\", r#\"}\"}\"#, '\\'', '\\u{7d}', b'}'); /* } /* } */ */ // }" for _ in range(71)
    )
    source = f"fn short<'a>(x: [u8; 2]) -> &'a str;\nimpl A {{ fn long(&self) {{\n{body}\n}} fn after() {{ }} }}"
    assert [(span.name, span.lines) for span in rust.functions(source)] == [("long", 73), ("after", 1)]
    assert len(too_long(rust.functions(source), "x.rs")) == 1
    assert len(too_long(python_functions("def long():\n" + "    pass\n" * 70), "x.py")) == 1
    assert not too_long(python_functions("def fits():\n" + "    pass\n" * 69), "x.py")
