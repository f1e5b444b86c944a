"""Clocks of hosts against the scheduler's."""

from typing import Any

from assay.fleet import clock

SECOND = 1_000_000_000


def exchange(took_ns: int, ahead_ns: int, wall_ahead_ns: int = 0, back_ns: int = 0) -> dict[str, Any]:
    """One that took so long, of which the way back took `back_ns` more than the way there."""
    sent, middle = 7 * SECOND, 7 * SECOND + (took_ns - back_ns) // 2
    return {
        "sent": {"monotonic_ns": sent, "wall_ns": sent},
        "host": {
            "monotonic_ns": middle + ahead_ns,
            "wall_ns": middle + wall_ahead_ns,
            "kernel_error_ns": 1000,
            "synchronised": True,
        },
        "received": {"monotonic_ns": sent + took_ns, "wall_ns": sent + took_ns},
    }


def test_the_exchange_that_took_least_counts_and_is_wrong_by_half_of_it_at_most() -> None:
    ahead = 1000 * SECOND
    slow = [exchange(50_000_000, ahead, back_ns=40_000_000) for _ in range(19)]
    found = clock.best([*slow, exchange(200_000, ahead, back_ns=150_000)])
    assert abs(found.ahead_ns - ahead) <= found.error_ns == 100_000
    assert found.here(found.there(123)) == 123


def test_a_host_whose_clock_is_off_is_named_and_one_that_is_near_is_not() -> None:
    told = clock.told("b", clock.best([exchange(100_000, 0, wall_ahead_ns=-3 * SECOND)]))
    assert told.startswith("b's clock is 3.0 s behind the scheduler's")
    assert clock.told("a", clock.best([exchange(100_000, 5 * SECOND, wall_ahead_ns=SECOND // 10)])) == ""


def test_the_kernel_says_what_its_clock_may_be_wrong_by() -> None:
    found = clock.now()
    assert found["kernel_error_ns"] >= 0
    assert isinstance(found["synchronised"], bool)
