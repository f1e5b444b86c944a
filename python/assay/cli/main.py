"""From arguments to exit code."""

from __future__ import annotations

import io
import signal
import sys
import threading
from collections.abc import Sequence
from types import FrameType

import typer

from assay.cli import output
from assay.cli.app import app
from assay.error import BAD_JOB, DONE, INTERRUPTED, AssayError
from assay.results import collector

# Typer brings its own copy of click, or uses the one that is installed: these are its classes either way.
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]
_ClickError: type[Exception] = _UsageError.__mro__[1]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; returns its exit code. A reader who leaves early, as `head` does, is no error."""
    _prepare()
    if arguments is None:
        collector.process_is_a_command()
    try:
        code = _run(list(sys.argv[1:] if arguments is None else arguments))
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit):
        # Click turns the first into the second.
        if not output.reader_left():
            raise
        return DONE
    return code


def _prepare() -> None:
    """Names that are no text are shown all the same, and whoever is terminated clears up as after Ctrl-C."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, _terminated)


def _terminated(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _run(words: list[str]) -> int:
    as_json = "--json" in words
    try:
        returned = app(words, prog_name="assay", standalone_mode=False)
        return returned if isinstance(returned, int) else DONE
    except (KeyboardInterrupt, typer.Abort):
        return output.fail(AssayError("interrupted before anything was measured", code=INTERRUPTED), as_json)
    except _ClickError as error:
        if type(error).__name__ == "NoArgsIsHelpError" and not as_json:
            # Its message is the help of a group that was called alone.
            sys.stderr.write(f"{str(error).rstrip()}\n")
            return BAD_JOB
        return output.fail(_usage(error), as_json)
    except Exception as error:
        known = output.as_assay_error(error)
        if known is None:
            raise
        return output.fail(known, as_json)


def _usage(error: Exception) -> AssayError:
    message = str(error.format_message() if hasattr(error, "format_message") else error)
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "assay"
    message = message[:1].lower() + message[1:].rstrip(".")
    return AssayError(message or "a command is missing", hint=f"`{command} --help` shows how to use it", code=BAD_JOB)
