"""Where the package's own data is. Paths are plain texts here and in what a start needs: pathlib takes long to load."""

from __future__ import annotations

import os.path


def builtin_directory() -> str:
    """The folder of the built-in fingerprints: package data in a wheel, the top-level folder in a checkout."""
    package = os.path.dirname(os.path.realpath(__file__))
    inside = os.path.join(package, "fingerprints")
    return inside if os.path.isdir(inside) else os.path.join(os.path.dirname(package), "fingerprints")
