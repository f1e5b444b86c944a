"""Functions and files stay small enough to read in one sitting."""

import ast
from collections.abc import Iterator

from tidy import rust
from tidy.files import matching, place, text

FUNCTION_LINES = 70
FILE_LINES = 500


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


def test_counting_sees_a_long_function_behind_strings_and_comments() -> None:
    body = "\n".join(
        "    let _ = ('{', \"}\", r#\"}\"}\"#, '\\'', '\\u{7d}', b'}'); /* } /* } */ */ // }" for _ in range(71)
    )
    source = f"fn short<'a>(x: [u8; 2]) -> &'a str;\nimpl A {{ fn long(&self) {{\n{body}\n}} fn after() {{ }} }}"
    assert [(span.name, span.lines) for span in rust.functions(source)] == [("long", 73), ("after", 1)]
    assert len(too_long(rust.functions(source), "x.rs")) == 1
    assert len(too_long(python_functions("def long():\n" + "    pass\n" * 70), "x.py")) == 1
    assert not too_long(python_functions("def fits():\n" + "    pass\n" * 69), "x.py")
