"""Failure text that no fingerprint claims -> unknown failures with a stable id.

The id is made of the exception's type and the program's own frames (framework frames skipped, numbers, addresses and paths left
out), so that the same crash has the same id with other pids, ranks, paths and minor versions. What is left out is data: see
``lists.txt`` beside this file.
"""

from __future__ import annotations

from .chains import MAX_FRAMES
from .collector import MAX_ENTRIES, FailureCollector
from .fold import fold
from .masks import mask, message_class
from .shapes import FOLLOWERS, MARKERS, followed_by
from .told import Failure, make_crash_id

__all__ = [
    "FOLLOWERS",
    "MARKERS",
    "MAX_ENTRIES",
    "MAX_FRAMES",
    "Failure",
    "FailureCollector",
    "fold",
    "followed_by",
    "make_crash_id",
    "mask",
    "message_class",
]
