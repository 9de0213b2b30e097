"""Where the package's own data is."""

from __future__ import annotations

from pathlib import Path


def builtin_directory() -> Path:
    """The folder of the built-in fingerprints: package data in a wheel, the top-level folder in a checkout."""
    package = Path(__file__).resolve().parent
    inside = package / "fingerprints"
    return inside if inside.is_dir() else package.parent / "fingerprints"
