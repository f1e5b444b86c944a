"""What every test may use."""

import atexit
import os
import shutil
import signal
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import is_hypothesis_test, settings

# A shared machine is no clock: no deadline. `pytest --hypothesis-profile deep` looks longer.
settings.register_profile("assay", deadline=None, print_blob=True)
settings.register_profile("deep", deadline=None, print_blob=True, max_examples=5000)
settings.load_profile("assay")

# A shell that runs the tests behind itself has them ignore interrupts, and so would every program that they interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# What programs note of what they make is noted here, and not in the home of whoever runs the tests.
_STATE = tempfile.mkdtemp(prefix="assay-state-")
atexit.register(shutil.rmtree, _STATE, ignore_errors=True)
os.environ["XDG_STATE_HOME"] = _STATE

ROOT = Path(__file__).resolve().parent.parent


# A mount answers from threads that run before all others; what is measured meanwhile has a CPU less, or none.
ONE_AT_A_TIME = {"kills", "lies", "mount"}

# These end, hold and look at other processes at moments of theirs; where others take the CPU, a moment is missed. Such
# a test is run once more, and is named in the closing lines; what fails twice fails. A property never is: a case that
# was found would be lost.
OF_MOMENTS = {"executor", "dbms", "e2e", "faults", "fleet", "kills", "launcher", "lies", "mount"}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Everything under tests/e2e drives the whole program; where tests run in several processes, a file is for one."""
    for item in items:
        if (ROOT / "tests" / "e2e") in item.path.parents:
            item.add_marker(pytest.mark.e2e)
        if item.path.parent.name in OF_MOMENTS and not is_hypothesis_test(getattr(item, "obj", None)):
            item.add_marker(pytest.mark.flaky(reruns=1, only_rerun=[".*"]))
        if not config.pluginmanager.hasplugin("xdist"):
            continue
        folder = item.path.parent.name
        item.add_marker(pytest.mark.xdist_group("alone" if folder in ONE_AT_A_TIME else str(item.path)))


@pytest.fixture(scope="session")
def root() -> Path:
    """The root of the checkout."""
    return ROOT


@pytest.fixture(scope="session")
def assayer() -> Path:
    """The release binary; a test that needs it is skipped where it was not built."""
    path = ROOT / "target" / "release" / "assayer"
    if not path.is_file():
        pytest.skip(f"{path} is not built; cargo build --release -p assayer")
    return path


@pytest.fixture(scope="session")
def need() -> Callable[[str], str]:
    """need("fio") gives the program's path, or skips the test with the reason."""

    def find(program: str) -> str:
        found = shutil.which(program)
        if found is None:
            pytest.skip(f"{program} is not installed")
        return found

    return find


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A result folder of two records: appends to a growing and to a recycled file."""
    from advise.folders import Bench, append

    bench = Bench(tmp_path / "results")
    bench.add(append(1000), "logs", layout="grow")
    bench.add(append(3000), "logs")
    return bench.done()
