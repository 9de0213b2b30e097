"""Addresses such as ``s3://bucket/logs/`` through fsspec, which comes with the extra ``remote``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from typing import Any

from ..errors import CrashsigError, InputError, Location
from ..lazy import lazy
from .base import CHUNK, Budget

_ADDRESS = lazy(r"[A-Za-z][A-Za-z0-9+.-]+://")
_WITHOUT_FOLDERS = ("http://", "https://")
RemoteChunks = Callable[[Budget, list[str]], Iterator[bytes]]


def is_remote(path: str) -> bool:
    """Whether this is an address, not a path."""
    return _ADDRESS.match(path) is not None


def remote_paths(address: str) -> list[tuple[str, RemoteChunks]]:
    """The files that an address, a folder's or a pattern, stands for. Raises InputError when there are none."""
    try:
        fsspec = import_module("fsspec.core")
        files, path = fsspec.url_to_fs(address)
        if address.startswith(_WITHOUT_FOLDERS):
            found = [path]
        elif "*" in path:
            found = sorted(p for p in files.glob(path) if files.isfile(p))
        else:
            found = sorted(files.find(path)) if files.isdir(path) else [path] if files.exists(path) else []
        names = [address if p == path else files.unstrip_protocol(p) for p in found]
    except ImportError as error:
        raise InputError(
            f"reading addresses needs the extra 'remote' ({error}); run: pip install 'vllm-crashsig[remote]'", Location(address)
        ) from error
    except Exception as error:
        raise _failed(address, error) from error
    if not found:
        raise InputError("no such file; check the address", Location(address))
    return [(name, partial(_chunks, files, p, name)) for name, p in zip(names, found, strict=True)]


def _chunks(files: Any, path: str, name: str, budget: Budget, notes: list[str]) -> Iterator[bytes]:
    done = 0
    try:
        file = files.open(path, "rb")
    except Exception as error:
        raise _failed(name, error) from error
    with file:
        while True:
            try:
                data = file.read(CHUNK)
            except Exception as error:
                if not done:
                    raise _failed(name, error) from error
                notes.append(f"cannot be read past byte {done} ({_failed(name, error).message})")
                return
            if not data:
                return
            done += len(data)
            budget.read(len(data))
            yield data


def _failed(name: str, error: Exception) -> CrashsigError:
    """Every backend has its own errors; their text is all that they have in common."""
    if isinstance(error, CrashsigError):
        return error
    if isinstance(error, FileNotFoundError):
        return InputError("no such file; check the address", Location(name))
    text = " ".join(str(error).split()) or type(error).__name__
    return InputError(f"cannot be read: {text[:300]}", Location(name))
