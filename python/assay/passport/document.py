"""The passport as types. The JSON Schema is generated from here, and every passport is checked when it is read."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from assay.document.table import Table
from assay.record import Provenance
from assay.untyped import Json

Status = Literal["valid", "suspect", "invalid"]
Origin = Literal["seen", "said", "unknown"]

SUFFIX = ".passport"
VERSION: Literal[1] = 1

Text = Annotated[str, Field(max_length=2000)]
Short = Annotated[str, Field(max_length=200)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Bytes = Annotated[int, Field(ge=0)]


class Made(Table):
    """When, by whom and with what it was made."""

    at: Short = Field(description="Start of the first run, RFC 3339.")
    by: Short = Field("", description="What the owner calls themselves; nobody checks it.")
    assay: Short
    assayer: Short
    study: Short = Field(description="The study that was run.")
    seconds: Finite = Field(ge=0, description="From the first run to the end of the last.")


class PassportMachine(Table):
    """The machine, without its name."""

    cpu: Short
    cpus: int = Field(ge=0)
    memory_bytes: Bytes
    kernel: Short
    architecture: Short
    virtualisation: Short


class PassportDevice(Table):
    """What was measured."""

    model: Short
    firmware: Short
    serial_digest: Short = Field("", description="First 16 digits of the SHA-256 of the serial number.")
    bytes: Bytes
    members: int = Field(ge=1)
    write_cache: Short
    scheduler: Short
    link: Short
    file_system: Short
    layers: list[Short] = Field(default_factory=list, max_length=64)


class Volume(Table):
    """What kind of volume it is."""

    type: Short
    origin: Origin = Field(description="`seen` in the device's name, `said` by the owner, or `unknown`.")


class Limit(Table):
    """A limit that somebody set, or that a run met."""

    what: Text
    value: Finite | None = None
    met: bool


class HealthAnswer(Table):
    """A question about the state of the volume, with what the answer stands on."""

    answer: Short
    why: Text
    numbers: dict[Short, Finite] = Field(default_factory=dict)


class VolumeState(Table):
    """In which state it was measured."""

    initialised: HealthAnswer = Field(description="Whether what was read had been written before.")
    cached: HealthAnswer = Field(description="Whether a cache of the machine answered.")
    collected: HealthAnswer = Field(description="Whether the device was full and collected garbage, or fresh.")


class PassportFigure(Table):
    """One figure over all its runs."""

    id: Short
    title: Short
    unit: Short
    value: Positive
    low: Finite | None = Field(None, description="95 % interval over runs; none where there was one run.")
    high: Finite | None = None
    runs: int = Field(ge=1)
    less_is_better: bool
    verdict: Status = Field(description="Gravest verdict among the runs.")
    provenance: Provenance


class CountedReason(Table):
    """A reason of verdicts, with the number of runs that have it."""

    code: Short
    severity: Literal["note", "suspect", "invalid"]
    runs: int = Field(ge=1)
    evidence: Text = Field(description="Of the first of these runs.")


class Verdicts(Table):
    """How many runs are to be believed, and what stands against the others."""

    valid: int = Field(ge=0)
    suspect: int = Field(ge=0)
    invalid: int = Field(ge=0)
    findings: list[CountedReason]


class Missing(Table):
    """What was asked for and not measured."""

    what: Short
    reason: Text


class PassportRun(Table):
    """One run: its record without what is not needed to compute the figures again."""

    id: Short
    study: Short
    scenario: Short
    repeat: int = Field(ge=0)
    factors: Json
    record: Json


class Passport(Table):
    """All that is signed."""

    version: Literal[1] = VERSION
    made: Made
    machine: PassportMachine
    device: PassportDevice
    volume: Volume
    limits: list[Limit] = Field(max_length=256)
    state: VolumeState
    figures: list[PassportFigure] = Field(min_length=1, max_length=256)
    verdicts: Verdicts
    not_measured: list[Missing] = Field(max_length=256)
    environment: Json = Field(description="Of the first record, without names of host, places and serial numbers.")
    runs: list[PassportRun] = Field(min_length=1, max_length=1000)

    def figure(self, name: str) -> PassportFigure | None:
        """A figure by its id."""
        return next((one for one in self.figures if one.id == name), None)


class Sealed(Table):
    """A passport with its signature: the file."""

    passport: Passport
    key: Short = Field(description="Public key (Ed25519, 32 bytes) in base64.")
    signature: Short = Field(description="Ed25519 over the passport as canonical JSON, in base64.")


def schema() -> Json:
    """JSON Schema of the file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **Sealed.model_json_schema(),
        "title": "Assay passport",
        "description": "What a volume did, under which conditions, signed by whoever measured it.",
    }
