"""The machine itself: without these, no other check says anything."""

from __future__ import annotations

from assay_lab.check import check, expect
from assay_lab.lab import DRIVES, NVDIMM_BYTES, Lab


@check("hardware")
def hardware(lab: Lab) -> None:
    """Four NVMe drives and all modules of persistent memory are there, by their names."""
    names = lab.guest.run("cat /sys/class/nvme/*/serial | tr -d ' '").stdout.split()
    wanted = [f"assay-nv{index}" for index in range(DRIVES)]
    expect(sorted(names) == wanted, f"drives {names} / {wanted}")
    modules = lab.guest.run("ls /sys/bus/nd/devices | grep -c '^nmem'").stdout.strip()
    expect(modules == str(len(NVDIMM_BYTES)), f"{modules} modules of persistent memory / {len(NVDIMM_BYTES)}")


@check("program")
def program(lab: Lab) -> None:
    """The host's measuring program runs in the guest."""
    said = lab.guest.assayer("--version").stdout
    expect(said.startswith("assayer "), f"assayer --version says {said!r} / its version")


@check("outputs")
def outputs(lab: Lab) -> None:
    """Standard input and outputs, exit codes and many bytes come through unchanged."""
    text = "".join(f"line {number} \u00e4\n" for number in range(20_000))
    done = lab.guest.run("cat; echo complaint >&2; exit 7", stdin=text, check=False)
    expect(done.stdout == text, f"{len(done.stdout)} characters came back / {len(text)}")
    expect((done.returncode, done.stderr) == (7, "complaint\n"), f"{done.returncode} {done.stderr!r} / 7, complaint")
