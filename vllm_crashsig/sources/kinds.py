"""What the first bytes say: compressed how, which archive, or no text at all. Names are never asked."""

from __future__ import annotations

from ..encodings import wide_encoding
from ..lazy import lazy

TAR_BLOCK = 512

_UNREADABLE: tuple[tuple[bytes, str], ...] = (
    (b"7z\xbc\xaf\x27\x1c", "7-Zip archive"), (b"Rar!\x1a\x07", "RAR archive"), (b"\x04\x22\x4d\x18", "LZ4 file"),
)  # fmt: skip
_BINARY = (b"\x7fELF", b"\x89PNG", b"\xff\xd8\xff", b"GGUF", b"%PDF-", b"SQLite format 3\0", b"PAR1", b"\xca\xfe\xba\xbe")
_CONTROL = bytes([*range(7), *range(14, 27), *range(28, 32), 127])
"""Control characters that no log holds. Bell, backspace, white space and escape are none of them."""
_ZEROS = lazy(rb"\0{16,}")


def compression_of(head: bytes) -> str | None:
    """gzip, bzip2, xz or zstd, if that is what begins here."""
    if head.startswith(b"\x1f\x8b\x08") and len(head) > 3 and not head[3] & 0xE0:
        return "gzip"
    if head.startswith(b"BZh") and head[4:10] in (b"1AY&SY", b"\x17\x72\x45\x38\x50\x90") and 0x31 <= head[3] <= 0x39:
        return "bzip2"
    if head.startswith(b"\xfd7zXZ\x00"):
        return "xz"
    if head.startswith(b"\x28\xb5\x2f\xfd") or (head[1:4] == b"\x2a\x4d\x18" and head[0] & 0xF0 == 0x50):
        return "zstd"
    return None


def archive_of(head: bytes) -> str | None:
    """tar or zip, if that is what begins here; ``head`` is a block of 512 bytes."""
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08PK\x03\x04")):
        return "zip"
    return "tar" if is_tar_header(head) else None


def is_tar_header(block: bytes) -> bool:
    """Whether this block is a member's header: its checksum is right, which no text gets by chance."""
    if len(block) < TAR_BLOCK or not block[0]:
        return False
    told = block[148:156].strip(b" \0")
    if not told or told.strip(b"01234567"):
        return False
    unsigned = sum(block[:148]) + 8 * 0x20 + sum(block[156:TAR_BLOCK])
    signed = unsigned - 256 * sum(b > 127 for b in block[:148] + block[156:TAR_BLOCK])  # some old tars added signed bytes
    return int(told, 8) in (unsigned, signed)


def unreadable_format(head: bytes) -> str | None:
    """What it is, when it is packed in a way that is not undone here."""
    return next((name for magic, name in _UNREADABLE if head.startswith(magic)), None)


def looks_binary(head: bytes) -> bool:
    """Whether some kilobytes are obviously no text. Long runs of zeros are no proof: rotated and crashed logs have them."""
    if head.startswith(_BINARY) or (head[8:10] == b'{"' and 0 < int.from_bytes(head[:8], "little") < 1 << 27):
        return True  # the latter is safetensors: gigabytes after a header that looks like JSON
    if wide_encoding(head, final=True):
        return False
    text = _ZEROS.sub(b"", head)
    control = len(text) - len(text.translate(None, _CONTROL))
    if control * 50 <= len(text):
        return False
    return control * 10 > len(text) * 3 or text.decode(errors="replace").count("\ufffd") * 20 > len(text)
