"""Paths, folders, archives and addresses -> named streams of bytes, with compression undone and memory bounded."""

from .base import Limits, Source
from .paths import PathName, open_paths, open_stdin

__all__ = ["Limits", "PathName", "Source", "open_paths", "open_stdin"]
