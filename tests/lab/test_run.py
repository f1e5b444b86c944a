"""What becomes of checks, without a guest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest
from assay_lab import run
from assay_lab.check import Body, Broken, Check, Skip
from assay_lab.error import GuestError, GuestGoneError
from assay_lab.lab import Lab, Outcome
from assay_lab.machine import Parts
from assay_lab.qemu import MachineSpec


class Pieces:
    """Parts of a machine without mdadm and without f2fs."""

    class tools:  # noqa: N801
        lacking = {"mdadm": "mdadm"}  # noqa: RUF012

    class kernel:  # noqa: N801
        @staticmethod
        def has(name: str) -> bool:
            return name != "f2fs"

    @staticmethod
    def document() -> dict[str, str]:
        return {"kernel": "6.1"}


class Stage:
    """A lab whose guest is a list of what was asked of it."""

    parts = Pieces()

    def __init__(self, booted: bool = True) -> None:
        self.booted = booted
        self.asked: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return lambda *_: self.asked.append(name)


def check(body: Body, *needs: str, suite: str = "one") -> Check:
    return Check(suite, "x", body, needs, ci=True)


def raising(error: BaseException) -> Check:
    def body(_: Lab) -> None:
        raise error

    return check(body)


def made(lab: Stage, *checks: Check) -> tuple[list[run.Result], int]:
    return run.run(cast("Lab", lab), checks, lambda _: None)


def passing(_: Lab) -> None:
    """Nothing to complain of."""


@pytest.mark.parametrize(
    ("made_check", "state", "reason"),
    [
        (check(passing), "passed", ""),
        (raising(Broken("1 / 2")), "broken", "1 / 2"),
        (raising(Skip("no drive")), "skipped", "no drive"),
        (raising(GuestError("it hung", hint="its console is empty")), "broken", "it hung (its console is empty)"),
        (raising(KeyError("serial")), "broken", "the check itself failed at test_run.py"),
        (check(passing, "mdadm"), "skipped", "mdadm is missing; install mdadm"),
        (check(passing, "module:f2fs", "module:xfs"), "skipped", "the guest's kernel has no module f2fs"),
    ],
)
def test_states_and_reasons(made_check: Check, state: str, reason: str) -> None:
    results, code = made(Stage(), made_check)
    assert results[0].state == state
    assert reason in results[0].reason
    assert code == (1 if state == "broken" else 0)


def test_after_a_broken_guest_the_next_check_has_a_fresh_one() -> None:
    lab = Stage()
    results, code = made(lab, raising(GuestError("it hung")), check(passing))
    assert [one.state for one in results] == ["broken", "passed"]
    assert (code, "cut" in lab.asked) == (1, True)


def test_drives_are_released_between_suites() -> None:
    lab = Stage()
    made(lab, check(passing), check(passing), check(passing, suite="two"))
    assert lab.asked.count("release") == 1


class Boots:
    """In the place of a guest: notes what it is asked to run."""

    alive = True

    def __init__(self) -> None:
        self.ran: list[str] = []

    def boot(self, *_: object) -> Boots:
        return self

    def run(self, command: str, **_: object) -> None:
        self.ran.append(command)


def test_drives_of_a_guest_that_is_off_are_released_when_the_next_one_boots(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    guest = Boots()
    monkeypatch.setattr("assay_lab.lab.Guest", guest)
    lab = Lab.__new__(Lab)
    lab._guest, lab.folder, lab.spec = None, tmp_path, cast("MachineSpec", None)
    lab.release()
    assert guest.ran == []
    for _ in range(2):
        assert lab.guest is cast("object", guest)
    assert len(guest.ran) == 1
    assert "wipefs" in guest.ran[0]


class GoesAway(Boots):
    """Goes away as it boots, so many times."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.left = times

    def boot(self, *_: object) -> Boots:
        self.left -= 1
        if self.left >= 0:
            raise GuestGoneError("QEMU was ended by SIGSEGV", hint="its console is empty")
        return self


@pytest.mark.parametrize("times", [1, 2])
def test_a_machine_that_goes_away_as_it_boots_boots_once_more(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, times: int
) -> None:
    heard: list[str] = []
    monkeypatch.setattr("assay_lab.lab.Guest", GoesAway(times))
    lab = Lab.__new__(Lab)
    lab._guest, lab.folder, lab.tell = None, tmp_path, heard.append
    lab.spec = MachineSpec(tmp_path, tmp_path)
    if times == 2:
        with pytest.raises(GuestGoneError):
            lab.renew()
    else:
        assert lab.renew() is lab._guest
    assert heard == ["QEMU was ended by SIGSEGV before its agent answered (its console is empty); it boots again"]


def test_a_guest_that_never_came_up_ends_the_run() -> None:
    with pytest.raises(GuestError):
        made(Stage(booted=False), raising(GuestError("no boot", code=4)), check(passing))


def test_an_interrupt_keeps_what_was_finished(tmp_path: Path) -> None:
    results, code = made(Stage(), check(passing), raising(KeyboardInterrupt()), check(passing))
    assert (len(results), code) == (1, 3)
    run.write(tmp_path, cast("Parts", Pieces()), results)
    assert json.loads((tmp_path / "lab.json").read_text())["checks"][0]["state"] == "passed"


def test_a_job_that_ended_otherwise_than_expected_breaks_the_check() -> None:
    finished = Outcome(0, [{"event": "finished", "record": {"x": 1}}], "")
    refused = Outcome(4, [{"event": "refused", "reason": "no DAX", "fix": "mount it"}], "")
    assert finished.record == {"x": 1}
    assert refused.refusal == "no DAX | mount it"
    with pytest.raises(Broken, match="no DAX; mount it"):
        _ = refused.record
    with pytest.raises(Broken, match="expected a refusal"):
        _ = finished.refusal
    with pytest.raises(Broken, match="killed"):
        _ = Outcome(137, [], "killed\n").record
