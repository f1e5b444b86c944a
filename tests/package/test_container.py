"""The Dockerfile names only what is there. Where no Docker daemon answers, it is checked and not built."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

KNOWN = {"FROM", "RUN", "WORKDIR", "COPY", "ENTRYPOINT", "CMD", "ENV", "ARG", "LABEL", "USER"}


def instructions(text: str) -> list[tuple[str, str]]:
    """Words and arguments, with continued lines in one and comments left out."""
    whole = re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE).replace("\\\n", " ")
    return [
        (word, rest.strip()) for line in whole.splitlines() if line.strip() for word, _, rest in [line.partition(" ")]
    ]


def complaints(root: Path, text: str) -> list[str]:
    """What would fail, or would not be the same twice."""
    found, stages = [], set()
    parts = instructions(text)
    if not parts or parts[0][0] != "FROM":
        return ["it does not begin with FROM"]
    for word, rest in parts:
        if word not in KNOWN:
            found.append(f"{word} is no instruction that is used here")
        if word == "FROM":
            image, _, name = rest.partition(" AS ")
            stages |= {name} if name else set()
            if ":" not in image or image.endswith(":latest"):
                found.append(f"{image} has no tag")
        if word == "RUN":
            found += commands(root, rest)
        if word == "COPY":
            found += copied(root, shlex.split(rest), stages)
    if parts[-1][0] not in ("ENTRYPOINT", "CMD"):
        found.append("it starts nothing")
    return found


def commands(root: Path, line: str) -> list[str]:
    checked = subprocess.run(["sh", "-n", "-c", line], capture_output=True, text=True, check=False)
    found = [checked.stderr.strip()] if checked.returncode else []
    if "apt-get install" in line and "rm -rf /var/lib/apt/lists" not in line:
        found.append("lists of packages stay in the image")
    programs = re.findall(r"(?:^|&& )(\./assay|setup/\w+)", line)
    return found + [f"{name} is not there" for name in programs if not (root / name).is_file()]


def copied(root: Path, words: list[str], stages: set[str]) -> list[str]:
    sources = [word for word in words[:-1] if not word.startswith("--")]
    origin = next((word.removeprefix("--from=") for word in words if word.startswith("--from=")), None)
    if origin is not None:
        return [] if origin in stages else [f"there is no stage {origin}"]
    return [f"{source} is not there" for source in sources if not (root / source).exists()]


def test_the_dockerfile_names_what_is_there(root: Path) -> None:
    assert complaints(root, (root / "setup" / "Dockerfile").read_text()) == []


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("FROM rust AS a\nCMD x", "no tag"),
        ("FROM a:1\nCOPY nowhere .\nCMD x", "nowhere is not there"),
        ("FROM a:1\nCOPY --from=b x .\nCMD x", "no stage b"),
        ("FROM a:1\nRUN apt-get install x\nCMD x", "lists of packages"),
        ("FROM a:1\nRUN if then\nCMD x", "yntax"),
        ("FROM a:1\nRUN true", "starts nothing"),
        ("FROM a:1\nADD x .\nCMD x", "ADD is no instruction"),
    ],
)
def test_a_fault_in_a_dockerfile_is_seen(root: Path, text: str, seen: str) -> None:
    assert any(seen in line for line in complaints(root, text)), complaints(root, text)


def test_docker_accepts_it(root: Path) -> None:
    if shutil.which("docker") is None:
        pytest.skip("not built here: there is no docker")
    if subprocess.run(["docker", "version"], capture_output=True, check=False).returncode != 0:
        pytest.skip("not built here: no Docker daemon answers")
    command = ["docker", "build", "--check", "--file", str(root / "setup" / "Dockerfile"), str(root)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
