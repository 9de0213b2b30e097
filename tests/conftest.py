"""What every test needs: a cache of compiled catalogues inside the repository, and one classifier for each process."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from vllm_crashsig import Classifier


def pytest_configure(config: pytest.Config) -> None:
    """Keeps the user's own cache out of the tests, also in the commands that they start."""
    os.environ.setdefault("VLLM_CRASHSIG_CACHE", str(Path(config.rootpath) / ".pytest_cache" / "vllm-crashsig"))
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        os.environ.pop(name, None)
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # a shell's background job, whose children would ignore it as well
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def builtin() -> Classifier:
    """The classifier over the built-in catalogue."""
    return Classifier()
