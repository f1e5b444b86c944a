"""What each reason of a verdict means, for somebody who meets it for the first time."""

from __future__ import annotations

TITLES = {
    "page-cache-served": "The page cache served reads",
    "cache-not-warm": "The page cache was not warm",
    "unwritten-extents": "Unwritten extents were read",
    "depth-not-reached": "The depth was not reached",
    "rate-not-reached": "The rate was not reached",
    "generator-late": "The generator started operations late",
    "generator-bound": "The generator set the pace",
    "not-steady": "The window never became steady",
    "steadiness-lost": "Steadiness was lost",
    "window-too-short": "The window was too short",
    "compressible-data": "The data could be compressed",
    "noisy-machine": "Repeats spread too far",
    "frequency-changed": "The clock frequency changed",
    "cpu-taken": "Other processes took the CPUs",
    "file-smaller-than-caches": "The file fits into a cache",
    "foreign-load": "Somebody else used the device",
    "device-bytes-differ": "The device moved other bytes",
    "errors": "Operations failed",
    "data-corrupt": "Data read was not data written",
    "check-failed": "A check of the work failed",
    "clock-unreliable": "The clock could not be trusted",
    "windows-differ": "The classes' windows did not coincide",
    "interrupted": "The run was interrupted",
    "emulated-target": "Stand-in hardware was measured",
    "modelled-target": "A twin computed the figures",
    "extrapolated": "The twin was asked outside of its box",
}

MEANINGS = {
    "page-cache-served": "Reads that should have come from the device came from memory: the figure describes DRAM.",
    "cache-not-warm": "Reads that should have come from memory came from the device.",
    "unwritten-extents": "A device answers for blocks that were never written without touching its medium.",
    "depth-not-reached": "Fewer operations were in flight than asked for: the figure is that of a smaller depth.",
    "rate-not-reached": "The load offered was below the one asked for; latency at the asked rate would be higher.",
    "generator-late": "Operations that could have started on time did not; response times include that.",
    "generator-bound": "The load generator was busy all the time: the target may be faster than the figure.",
    "not-steady": "The figures still moved when the window closed; a longer run may end elsewhere.",
    "steadiness-lost": "The window was steady and then dropped, as a full write cache or garbage collection does.",
    "window-too-short": "Too little was seen for what is reported.",
    "compressible-data": "A device that compresses or deduplicates moves less than it is asked to.",
    "noisy-machine": "Repeats of one cell differ by more than 15 %: differences of that order mean nothing here.",
    "frequency-changed": "The CPU did not run at one speed, which moves cycles and latencies.",
    "cpu-taken": "Threads that could have run waited while other processes ran: alone, the run would have done more.",
    "file-smaller-than-caches": "A cache of the device or of the machine can hold the whole data set.",
    "foreign-load": "Others' requests shared the device during the window.",
    "device-bytes-differ": "The kernel's counters show other bytes than were asked for.",
    "errors": "Some operations failed; those that did not are what the figures describe.",
    "data-corrupt": "Blocks came back with a wrong offset, generation or checksum.",
    "check-failed": "A consistency condition, an answer or an invariant did not hold: other work was done.",
    "clock-unreliable": "The clock that times operations disagreed with the kernel's.",
    "windows-differ": "Classes that should run together were measured over different spans of time.",
    "interrupted": "What was finished is kept; it is less than what was asked for.",
    "emulated-target": "Real code ran on hardware that stands in for a device; the device itself would differ.",
    "modelled-target": "No device was measured: each figure comes from a calibrated model and has a band.",
    "extrapolated": "The model was never compared with a device there; its bands are wider.",
}


def title(code: str) -> str:
    """Name of a reason."""
    return TITLES.get(code, code.replace("-", " ").capitalize())
