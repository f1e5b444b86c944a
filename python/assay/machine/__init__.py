"""The machine that measures: what it is, and what about it would bend a measurement."""

from assay.machine.diagnosis import doctor, examine
from assay.machine.facts import MachineFacts, gather
from assay.machine.finding import Finding, Level

__all__ = ["doctor", "examine", "MachineFacts", "Finding", "gather", "Level"]
