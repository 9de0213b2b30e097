"""Installs what `make bench` compares with (the extra ``bench``), one by one: what cannot be had must not cost the others."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import requires

from packaging.requirements import Requirement


def wanted() -> list[str]:
    """The requirements of the extra on this machine."""
    found = map(Requirement, requires("vllm-crashsig") or ())
    return [
        f"{r.name}{r.specifier}"
        for r in found
        if r.marker and r.marker.evaluate({"extra": "bench"}) and not r.marker.evaluate({"extra": ""})
    ]


def main() -> None:
    """Tells what failed, and does not fail for it."""
    for requirement in wanted():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", requirement]
        if subprocess.run(pip, check=False).returncode:
            print(f"{requirement} could not be installed: it will be told as missing", file=sys.stderr)


if __name__ == "__main__":
    main()
