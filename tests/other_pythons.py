"""Runs what may depend on it on every other supported Python of this machine, each in an environment of its own.

A script, not a test: `make test` calls it. Pythons are looked for on PATH and among pyenv's versions; a missing one is no
error. Of those that are found the oldest and the newest are tried: what works on both works between. Python versions that
were asked for by name (arguments such as ``3.12``) are all tried, and must be there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

MINORS = range(10, 15)
ONCE = (
    "benchmarks", "cases", "catalogue_docs", "catalogue_files", "confidence", "coverage", "crashid", "culprit",
    "envelope_matrix", "hostile", "incidents", "layers", "overlaps", "rank", "readme", "remediation", "samples", "score",
    "settle", "trust", "upstream_names",
)  # fmt: skip
"""Tests of what does not depend on the Python: files, texts, the catalogue's judgement. They run in the first suite only."""
ROOT = Path(__file__).resolve().parent.parent


def find(minor: int) -> str | None:
    """An interpreter of 3.<minor> that works."""
    candidates = [shutil.which(f"python3.{minor}")]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates += [str(p / "bin" / "python") for p in sorted(pyenv.glob(f"3.{minor}.*"), reverse=True)]
    for candidate in candidates:
        if candidate and Path(candidate).exists():
            asked = subprocess.run([candidate, "-c", "import sys; print(sys.version_info[:2])"], capture_output=True, text=True)
            if asked.returncode == 0 and asked.stdout.strip() == f"(3, {minor})":
                return candidate
    return None


def run(python: str, minor: int) -> int:
    """Installs the project into .venv-3.<minor> and runs the tests there."""
    home = ROOT / f".venv-3.{minor}"
    inside = home / "bin" / "python"
    stamp = home / ".dev"
    if not stamp.exists() or stamp.stat().st_mtime < (ROOT / "pyproject.toml").stat().st_mtime:
        subprocess.run([python, "-m", "venv", str(home)], check=True)
        pip = [str(inside), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "--editable", ".[dev]"], check=True, cwd=ROOT)
        stamp.touch()
    left_out = [f"--ignore=tests/test_{name}.py" for name in ONCE]
    return subprocess.run([str(inside), "-m", "pytest", "-n", "auto", *left_out], cwd=ROOT, check=False).returncode


def ends(minors: list[int]) -> list[int]:
    """The first and the last."""
    return minors[:1] + minors[1:][-1:]


def main(wanted: list[str]) -> int:
    """Exit status: 0 when all that were found pass and all that were asked for were found."""
    minors = [int(w.partition(".")[2]) for w in wanted] or ends([m for m in MINORS if m != sys.version_info.minor and find(m)])
    failed = []
    for minor in minors:
        python = find(minor)
        if python is None:
            print(f"Python 3.{minor}: not on this machine")
            if wanted:
                failed.append(minor)
            continue
        print(f"Python 3.{minor}: {python}", flush=True)
        if run(python, minor):
            failed.append(minor)
    if failed:
        print("failed on " + ", ".join(f"3.{m}" for m in failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
