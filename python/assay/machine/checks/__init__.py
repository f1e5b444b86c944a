"""What the doctor looks at. Each check is a function from facts to findings."""

from collections.abc import Callable, Iterator

from assay.machine.checks import cpu, device, kernel, memory, place
from assay.machine.facts import MachineFacts
from assay.machine.finding import Finding

Check = Callable[[MachineFacts], Iterator[Finding]]

ALL: tuple[Check, ...] = (*cpu.CHECKS, *memory.CHECKS, *kernel.CHECKS, *place.CHECKS, *device.CHECKS)
