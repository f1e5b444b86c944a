"""Passwords come from where no other user sees them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from assay.dbms import secret
from assay.dbms.secret import SecretError
from assay.dbms.sqlserver.connection import address


@pytest.mark.parametrize(
    "text", ["Server=x;User Id=y;Password=z", "host=x password=y", "server=x;PWD=z", "postgres://me:word@host/db"]
)
def test_a_password_on_the_command_line_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(SecretError, match="`ps` shows a command line") as caught:
        secret.refuse_in(text)
    assert "word" not in caught.value.message.replace("password", "")
    assert secret.FILE in caught.value.hint


def word() -> str:
    return address("Server=x;User Id=y").password


@pytest.mark.parametrize("text", ["", "Server=x;User Id=y", "host=/tmp user=me", "postgres://me@host/db"])
def test_what_has_none_is_taken(text: str) -> None:
    secret.refuse_in(text)


def test_it_is_taken_from_the_environment_or_a_file_of_ones_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(secret.WORD, "w;o'rd")
    assert word() == "w;o'rd"
    monkeypatch.delenv(secret.WORD)
    file = tmp_path / "word"
    file.write_text("other\n")
    file.chmod(0o600)
    monkeypatch.setenv(secret.FILE, str(file))
    assert word() == "other"
    file.chmod(0o644)
    with pytest.raises(SecretError, match="others may read"):
        word()
    monkeypatch.delenv(secret.FILE)
    monkeypatch.setattr("sys.stdin.isatty", lambda: False)
    with pytest.raises(SecretError, match="there is no password of y at x"):
        word()


def test_the_command_refuses_it_before_anything_is_done(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "assay", "dbms", "tpcc", "--engine", "sqlserver", "--on", str(tmp_path)]
    done = subprocess.run(
        [*command, "--connect", "Server=x;User Id=y;Password=hush"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "hush" not in done.stdout + done.stderr
    assert list(tmp_path.iterdir()) == []
