"""A session of pytest that collects its tests once and runs them for every mutant, each time in a process of its own.

A process that is forked after the tests were read has all that it needs: only the changed function is swapped.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from . import alone, watch
from .mutate import Mutant
from .swap import SwapError, swap
from .watch import Ran

KILLED, SURVIVED, TIMED_OUT, NOT_RUN = "killed", "survived", "timed out", "run by no test"
# How a process ends whose function could not be changed.
_NOT_HELD = 70
# Of a property: a mutant that survives runs all of them.
_EXAMPLES = 20
# Times as long as the tests took alone, and seconds more, after which a mutant is taken for one that never ends.
_PATIENCE, _MORE_S = 5.0, 15.0


@dataclass(eq=False)
class Session:
    """A plugin of pytest; mutants are run for so many seconds.

    All tests are read and run once before, however long that takes: a mutant that only the tests of a part have met has
    not survived.
    """

    mutants: Sequence[Mutant]
    files: Sequence[str]
    seconds: float
    seen: dict[Mutant, str] = field(default_factory=dict)
    passed: int = 0
    """Tests that passed with the source as it is."""
    read: dict[str, dict[str, set[int]]] = field(default_factory=dict)
    """Lines that ran while a module of tests was read: values in its tables of cases are computed then."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self) -> None:
        """The same examples in every process, few of them, and no search for the smallest that fails."""
        # Read here: pytest wants to see it first.
        from hypothesis import Phase, settings

        phases = (Phase.explicit, Phase.generate)
        alike: dict[str, Any] = {"derandomize": True, "database": None, "phases": phases}
        settings.register_profile("mutants", deadline=None, max_examples=_EXAMPLES, **alike)
        settings.load_profile("mutants")

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Generator[None, Any, Any]:
        """Notes which lines run while a module of tests is read."""
        if not isinstance(collector, pytest.Module):
            return (yield)
        with watch.lines(self.files, self.read.setdefault(collector.nodeid, {})):
            return (yield)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Once with the source as it is, then with every mutant."""
        items = {item.nodeid: item for item in session.items}
        with _temporary():
            ran = _alone(lambda: watch.traced(items.values(), self.files, _run))
            self.passed = len(ran)
            until = time.monotonic() + self.seconds
            for mutant in self.mutants:
                if time.monotonic() >= until:
                    break
                self.seen[mutant] = self._judged(mutant, items, ran)
        return True

    def _judged(self, mutant: Mutant, items: dict[str, pytest.Item], ran: dict[str, Ran]) -> str:
        tests = watch.tests_of(mutant, ran)
        verdict = _judge(mutant, [items[name] for name in tests], ran) if tests else NOT_RUN
        if verdict in (KILLED, TIMED_OUT):
            return verdict
        lines = {name: one.get(mutant.file, set()) for name, one in self.read.items()}
        modules = [name for name, one in lines.items() if (mutant.line in one if mutant.begins else one)]
        inside = [name for name in ran if name.partition("::")[0] in modules]
        return _read_anew(mutant, inside, _longest_s(inside, ran)) if inside else verdict


def _longest_s(tests: Iterable[str], ran: dict[str, Ran]) -> float:
    return _PATIENCE * sum(ran[name].seconds for name in tests) + _MORE_S


def _judge(mutant: Mutant, items: list[pytest.Item], ran: dict[str, Ran]) -> str:
    longest_s = _longest_s([item.nodeid for item in items], ran)
    if not mutant.begins:
        return _read_anew(mutant, [item.nodeid for item in items], longest_s)

    def work() -> int:
        swap(mutant)
        return 0 if all(_run(item) for item in items) else 1

    status = _status(_fork(work), longest_s)
    tests = [item.nodeid for item in items]
    return _read_anew(mutant, tests, longest_s) if status == _NOT_HELD else _verdict(status)


def _read_anew(mutant: Mutant, tests: list[str], longest_s: float) -> str:
    """What is computed while a module is read is computed before a test can change it."""
    return _verdict(_status(_fork(lambda: alone.run(mutant, tests)), longest_s + 3 * _MORE_S))


def _run(item: pytest.Item) -> bool:
    """Runs a test with its fixtures, none of which is kept; whether it passed."""
    reports: list[pytest.TestReport] = []
    note = _Note(reports)
    item.config.pluginmanager.register(note)
    try:
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
    finally:
        item.config.pluginmanager.unregister(note)
    return bool(reports) and all(report.passed for report in reports)


@dataclass(eq=False)
class _Note:
    reports: list[pytest.TestReport]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.reports.append(report)


def _fork(work: Callable[[], int]) -> int:
    """A process that does it and ends with what it gives; what it says is lost."""
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        os.setpgid(0, 0)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(nowhere, number)
        code = work()
    except SwapError:
        code = _NOT_HELD
    finally:
        os._exit(code)


def _alone(work: Callable[[], dict[str, Ran]]) -> dict[str, Ran]:
    """What work gives that is done in a process of its own: nothing that it computed stays in this one."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "found"

        def written() -> int:
            place.write_bytes(pickle.dumps(work()))
            return 0

        os.waitpid(_fork(written), 0)
        found: dict[str, Ran] = pickle.loads(place.read_bytes())  # noqa: S301  It was written by this program.
    return found


def _status(pid: int, longest_s: float) -> int | None:
    """How a process ends, none where it does not; what it started is gone afterwards too."""
    until, status = time.monotonic() + longest_s, None
    while time.monotonic() < until:
        done, state = os.waitpid(pid, os.WNOHANG)
        if done:
            status = os.waitstatus_to_exitcode(state)
            break
        time.sleep(0.002)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    if status is None:
        os.waitpid(pid, 0)
    return status


def _verdict(status: int | None) -> str:
    if status is None:
        return TIMED_OUT
    return KILLED if status else SURVIVED


@contextlib.contextmanager
def _temporary() -> Iterator[None]:
    """What tests write goes to a folder of this session."""
    before, kept = tempfile.tempdir, os.environ.get("TMPDIR")
    folder = tempfile.mkdtemp(prefix="assay-mutants-")
    tempfile.tempdir = os.environ["TMPDIR"] = folder
    try:
        yield
    finally:
        tempfile.tempdir = before
        if kept is None:
            del os.environ["TMPDIR"]
        else:
            os.environ["TMPDIR"] = kept
        shutil.rmtree(folder, ignore_errors=True)
