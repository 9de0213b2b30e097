"""The cache makes things fast and matters for nothing else."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tiny import fingerprint, write

from vllm_crashsig import Catalogue, CatalogueError, Classifier, cache, gate, load
from vllm_crashsig.cache import cache_directory
from vllm_crashsig.stored import cached_catalogue

LOG = "ERROR zebra fell over"


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache directory of its own."""
    monkeypatch.setenv(cache.ENVIRONMENT, str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "mine", fingerprint("my-own", "root", "zebra fell over"))


def answer(folder: Path) -> tuple[Catalogue, str | None]:
    catalogue = cached_catalogue([str(folder)])
    cause = Classifier(catalogue).classify(LOG).cause
    return catalogue, cause.id if cause else None


def forbid(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is built from now on fails the test."""

    def built(*_: object, **__: object) -> None:
        raise AssertionError("built again")

    monkeypatch.setattr(load, "build_catalogue", built)
    monkeypatch.setattr(gate.HyperscanGate, "compile", built)


def test_intact_cache_is_used(kept: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, told = answer(folder)
    assert told == "my-own"
    assert {p.name.partition("-")[0] for p in kept.iterdir()} >= {"catalogue"}
    forbid(monkeypatch)
    again, told = answer(folder)
    assert told == "my-own"
    assert again == first
    assert again.hash == first.hash


def test_files_are_private(kept: Path, folder: Path) -> None:
    answer(folder)
    assert kept.stat().st_mode & 0o077 == 0
    assert all(p.stat().st_mode & 0o077 == 0 for p in kept.iterdir())


@pytest.mark.parametrize("told", ["off", "OFF", "0", "no", "none"])
def test_cache_off(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, told: str) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(cache.ENVIRONMENT, told)
    assert cache_directory() is None
    assert answer(folder)[1] == "my-own"
    assert [p.name for p in tmp_path.iterdir()] == ["mine"]


def test_default_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(cache.ENVIRONMENT)
    found = cache_directory()
    assert found is not None
    assert "vllm-crashsig" in str(found)


def test_directory_that_cannot_be_made(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv(cache.ENVIRONMENT, str(tmp_path / "file" / "cache"))
    assert answer(folder)[1] == "my-own"


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() == 0, reason="root may write everywhere")
def test_read_only_directory(kept: Path, folder: Path) -> None:
    kept.mkdir(mode=0o500)
    assert answer(folder)[1] == "my-own"
    assert list(kept.iterdir()) == []


def test_full_disk_leaves_nothing_behind(kept: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    for owner in (os, Path):
        monkeypatch.setattr(owner, "replace", full)
    assert answer(folder)[1] == "my-own"
    assert list(kept.iterdir()) == []


def into_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGE: dict[str, Callable[[Path], object]] = {
    "empty": lambda p: p.write_bytes(b""),
    "cut": lambda p: p.write_bytes(p.read_bytes()[:-7]),
    "flipped": lambda p: p.write_bytes(p.read_bytes()[:-1] + b"\0"),
    "other": lambda p: p.write_bytes(b"not a cache file at all"),
    "no checksum": lambda p: p.write_bytes(p.read_bytes().partition(b"\n")[2]),
    "folder": into_folder,
    "group may write": lambda p: p.chmod(0o620),
    "others may write": lambda p: p.chmod(0o602),
    "gone": lambda p: p.unlink(),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damaged_or_foreign_files_are_ignored(kept: Path, folder: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    answer(folder)
    for path in kept.iterdir():
        DAMAGE[kind](path)
    assert answer(folder)[1] == "my-own", "built anew"
    for path in kept.iterdir():
        if path.is_file():
            DAMAGE[kind](path)
    forbid(monkeypatch)
    with pytest.raises(AssertionError, match="built again"):
        answer(folder)


def test_files_of_another_user_are_ignored(kept: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not hasattr(os, "getuid"):
        pytest.skip("no owners here")
    answer(folder)
    me = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: me + 1)
    forbid(monkeypatch)
    with pytest.raises(AssertionError, match="built again"):
        answer(folder)


def test_right_checksum_of_nonsense_is_ignored(kept: Path, folder: Path) -> None:
    answer(folder)
    for path in list(kept.iterdir()):
        kind, _, key = path.name.partition("-")
        for nonsense in (
            b"[]",
            b"{}",
            b'{"fingerprints": [{}]}',
            b"\xff\xfe",
            b'{"areas": 1, "taxonomy": {}, "fingerprints": []}',
        ):
            cache.write(kind, key, nonsense)
            assert cache.read(kind, key) == nonsense
            assert answer(folder)[1] == "my-own"


def test_another_content_has_another_key(kept: Path, folder: Path, tmp_path: Path) -> None:
    answer(folder)
    before = {p.name for p in kept.iterdir()}
    write(folder, fingerprint("my-own", "root", "giraffe fell over"))
    changed, told = answer(folder)
    assert told is None
    assert changed["my-own"].indicators["seen"].pattern == "giraffe fell over"
    assert len({p.name for p in kept.iterdir()} - before) >= 1
    other = write(tmp_path / "other", fingerprint("my-own", "root", "zebra fell over", severity="low"))
    layered = cached_catalogue([str(folder), str(other)])
    assert layered["my-own"].severity == "low"
    assert layered.hash not in (changed.hash, cached_catalogue([str(other)]).hash)
    swapped = cached_catalogue([other, folder])
    assert swapped["my-own"].severity == "critical"


def test_mistakes_are_told_from_the_cache_too(kept: Path, folder: Path) -> None:
    answer(folder)
    write(folder, fingerprint("broken-one", "rooot", "x"))
    for _ in range(2):
        with pytest.raises(CatalogueError, match="broken-one"):
            answer(folder)


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no user ids here")
@pytest.mark.parametrize("home", [None, ""])
def test_a_user_id_without_a_user(monkeypatch: pytest.MonkeyPatch, home: str | None) -> None:
    """As containers have them that run as any user."""
    monkeypatch.delenv(cache.ENVIRONMENT)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    if home is None:
        monkeypatch.delenv("HOME", raising=False)
    else:
        monkeypatch.setenv("HOME", home)
    monkeypatch.setattr(os, "getuid", lambda: 3_999_999)
    assert cache_directory() is None


def test_a_home_that_is_told_by_its_sign(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv(cache.ENVIRONMENT, "~/kept")
    assert cache_directory() == str(tmp_path / "kept")
