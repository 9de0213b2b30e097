"""What tar and zip readers share: a member with its bytes, and how one passes on to the next."""

from __future__ import annotations

from collections.abc import Iterator

from ..nouns import dataclass, field
from .base import CHUNK, Stream


@dataclass
class Member:
    """A file in an archive. ``stream`` must be read before the next member is asked for; what is left of it is skipped."""

    name: str
    stream: Stream
    notes: list[str] = field(default_factory=list)


class Body:
    """The next ``size`` bytes of an archive as a member's content."""

    def __init__(self, archive: Stream, size: int, notes: list[str]) -> None:
        self.left = size
        self._archive = archive
        self._notes = notes

    def __iter__(self) -> Iterator[bytes]:
        while self.left > 0:
            data = self._archive.read(min(self.left, CHUNK))
            if not data:
                self._notes.append(f"cut off: the last {self.left} bytes are missing")
                break
            self.left -= len(data)
            yield data

    def skip_rest(self) -> bool:
        """Passes over what was not read; False when the archive ended before."""
        skipped = self._archive.skip(self.left)
        self.left -= skipped
        return not self.left


def is_outside(name: str) -> bool:
    """Whether unpacking would write outside of the folder. Nothing is written here, but it deserves a remark."""
    return name.startswith(("/", "\\")) or name[1:3] == ":\\" or ".." in name.replace("\\", "/").split("/")
