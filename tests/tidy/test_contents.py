"""The table of contents of the commands says what the commands say, and has each of them."""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
from assay.cli.app import app
from assay.cli.contents import CONTENTS, Command, Group
from assay.cli.lazy import function
from tidy.files import ROOT, matching, place, text
from typer.main import get_command


def commands() -> Iterator[tuple[str, Command]]:
    for section in CONTENTS:
        for entry in section.entries:
            for one in entry.commands if isinstance(entry, Group) else (entry,):
                yield (f"{entry.name} {one.name}" if isinstance(entry, Group) else one.name), one
            if isinstance(entry, Group) and entry.alone:
                yield entry.name, Command(entry.name, entry.alone, entry.says)


def test_every_line_is_the_first_line_of_its_command() -> None:
    wrong = [name for name, one in commands() if (function(one).__doc__ or "").partition("\n")[0] != one.says]
    assert not wrong, f"say in cli/contents.py what these say of themselves: {wrong}"


def test_every_command_stands_in_a_file_of_its_own() -> None:
    files = [one.file for _, one in commands()]
    assert len(files) == len(set(files))


def test_every_section_has_an_example_that_names_one_of_its_commands() -> None:
    for section in CONTENTS:
        program, word, *_ = section.example.split()
        assert program == "assay"
        assert word in {entry.name for entry in section.entries}, section.title


def test_help_is_printed_without_loading_a_command() -> None:
    code = (
        "import sys; from assay.cli.main import main; main(['--help']);"
        "print([name for name in sys.modules if name.startswith('assay.') and name.count('.') > 2], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "For example: assay quick" in done.stdout
    assert done.stderr.strip() == "[]"


@pytest.mark.parametrize("columns", ["40", "60", "80", "200"])
def test_the_overview_is_the_help_of_the_program(columns: str) -> None:
    """It is printed without typer, in the words and lines that typer prints."""
    environment = os.environ | {"COLUMNS": columns}
    quick = [sys.executable, "-I", "-m", "assay", "--help"]
    whole = [sys.executable, "-I", "-c", "from assay.cli.main import main; main(['--help'])"]
    seen, meant = (
        subprocess.run(one, capture_output=True, text=True, check=True, env=environment).stdout
        for one in (quick, whole)
    )
    assert seen == meant


def test_the_overview_loads_nothing_that_reads_arguments() -> None:
    code = (
        "import sys; sys.argv[1:] = ['-h']; from assay.__main__ import main; main();"
        "print([name for name in sys.modules if name.partition('.')[0] in ('typer', 'click', 'rich')], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert "For example: assay quick" in done.stdout
    assert done.stderr.strip() == "[]"


def test_every_function_with_options_is_in_the_table() -> None:
    listed = {one.file for _, one in commands()}
    found = []
    for path in matching("python/assay/cli/*/*.py"):
        name = ".".join(path.relative_to(ROOT / "python/assay/cli").with_suffix("").parts)
        functions = [one for one in ast.parse(text(path)).body if isinstance(one, ast.FunctionDef)]
        own = [one for one in functions if one.name.rstrip("_") == path.stem.rstrip("_")]
        if name not in listed and any("typer." in ast.unparse(one.args) for one in own):
            found.append(place(path))
    assert not found, f"give these a line in cli/contents.py: {found}"


def test_a_name_that_is_nearly_right_is_suggested() -> None:
    assert set(get_command(app).commands) == {entry.name for section in CONTENTS for entry in section.entries}  # type: ignore[attr-defined]
