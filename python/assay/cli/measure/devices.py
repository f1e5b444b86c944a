"""Devices are written to only where that was typed."""

from __future__ import annotations

from assay.error import BAD_JOB, AssayError
from assay.study.request import Prepared
from assay.target.target import DEVICES, Target


def check_devices(prepared: Prepared) -> None:
    """A device is written to only when its serial number and the permission to destroy were typed."""
    targets = {target for request in prepared.requests for target in request.targets if target.kind in DEVICES}
    for target in sorted(targets, key=lambda found: found.label):
        if not target.yes_destroy or (target.kind == "block-device" and len(target.serials) < len(target.members)):
            raise _destroys(target)


def _destroys(target: Target) -> AssayError:
    serial = " --serial SERIAL" * len(target.members) if target.kind == "block-device" else ""
    hint = f"if that is meant: --on {target.label}{serial} --yes-destroy (lsblk -o NAME,SERIAL shows serial numbers)"
    return AssayError(f"measuring {target.label} destroys what is on it", hint=hint, code=BAD_JOB)
