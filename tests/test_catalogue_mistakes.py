"""Every kind of mistake in a catalogue gives one clear line with its file, its place and its key."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tiny import fingerprint, indicator, write

from vllm_crashsig import CatalogueError, CatalogueErrors, Classifier, load_catalogue

GOOD = """\
schema: 1
id: good-one
title: "A good one"
role: root
severity: critical
status: stable
components: [test]
summary: It is good.
indicators:
  seen:
    pattern: 'zebra \\d+'
    examples:
      hit: ["zebra 1"]
      miss: ["zebra"]
explains: []
remediation:
  immediate:
    - text: Fix it.
      risk: config
versions: "all"
false_positives:
  - Unknown
"""


def swap(old: str, new: str) -> Callable[[Path], None]:
    """Writes the good file with one change."""

    def change(path: Path) -> None:
        assert GOOD.count(old) == 1, old
        path.write_text(GOOD.replace(old, new), encoding="utf-8")

    return change


def put(data: bytes) -> Callable[[Path], None]:
    """Writes these bytes instead."""

    def change(path: Path) -> None:
        path.write_bytes(data)

    return change


# name: (how the file is broken, line or None, key or None, words)
MISTAKES: dict[str, tuple[Callable[[Path], None], int | None, str | None, str]] = {
    "bad YAML": (swap("components: [test]", "components: [test"), 8, None, "not valid YAML"),
    "tab": (swap("  seen:", "\tseen:"), 10, None, "not valid YAML"),
    "duplicate key": (swap("role: root", "role: root\nid: good-one"), 5, "id", "given twice"),
    "duplicate inner key": (
        swap("      miss:", "      hit: []\n      miss:"),
        14,
        "indicators.seen.examples.hit",
        "given twice",
    ),
    "unknown key": (swap("severity: critical", "severity: critical\nseverty: high"), 6, "severty", "unknown key"),
    "unknown inner key": (
        swap("    examples:", "    wieght: decisive\n    examples:"),
        12,
        "indicators.seen.wieght",
        "unknown key",
    ),
    "missing key": (swap("summary: It is good.\n", ""), 1, "summary", "required"),
    "wrong type": (swap('title: "A good one"', "title: 5"), 3, "title", "string"),
    "wrong list": (swap("components: [test]", "components: test"), 7, "components", "list"),
    "wrong choice": (swap("role: root", "role: rooot"), 4, "role", "'root'"),
    "key that is no text": (swap("  seen:", "  1.5:"), 10, "indicators.1.5", "must be text"),
    "id is not the stem": (swap("id: good-one", "id: other-one"), 2, "id", "name it other-one.yaml"),
    "id with capitals": (swap("id: good-one", "id: Good_One"), 2, "id", "pattern"),
    "unknown explains": (
        swap("explains: []", "explains: [no-such-thing]"),
        15,
        "explains.0",
        "unknown fingerprint 'no-such-thing'",
    ),
    "explains itself": (swap("explains: []", "explains: [good-one]"), 15, "explains", "circle: good-one -> good-one"),
    "unknown indicator": (swap("explains: []", "when: {all_of: [sean]}"), 15, "when", "unknown indicator 'sean'"),
    "empty condition": (swap("explains: []", "when: {}"), 15, "when", "at least one"),
    "unknown fact": (swap("text: Fix it.", "text: 'Fix {size}.'"), 1, None, "unknown facts: size"),
    "undeclared capture": (swap("zebra \\d+", "zebra (?P<size>\\d+)"), 1, None, "does not declare size"),
    "no remedy": (swap("  immediate:", "  prevent:"), 1, None, "needs remediation.immediate"),
    "list instead of mapping": (put(b"- a\n- b\n"), 1, None, "dictionary"),
    "text instead of mapping": (put(b"just words\n"), 1, None, "dictionary"),
    "empty file": (put(b""), 1, None, "is empty"),
    "only comments": (put(b"# nothing\n"), 1, None, "is empty"),
    "binary file": (put(bytes(range(256)) * 4), None, None, "not valid YAML"),
    "invalid UTF-8": (put(GOOD.encode().replace(b"A good", b"A \xff good")), None, None, "not valid YAML"),
    "two documents": (put(GOOD.encode() + b"---\n" + GOOD.encode()), 23, None, "not valid YAML"),
    "recursive alias": (put(b"a: &a [*a]\n"), None, None, ""),
    "python object": (put(b"a: !!python/name:os.system x\n"), 1, None, "not valid YAML"),
}


def broken(folder: Path, name: str) -> Path:
    path = folder / "host" / "good-one.yaml"
    path.parent.mkdir(parents=True)
    MISTAKES[name][0](path)
    return path


@pytest.mark.parametrize("name", MISTAKES)
def test_mistake_is_located(tmp_path: Path, name: str) -> None:
    path = broken(tmp_path, name)
    _, line, key, words = MISTAKES[name]
    with pytest.raises(CatalogueErrors) as caught:
        load_catalogue(tmp_path, builtin=False)
    error = caught.value.errors[0]
    told = str(error)
    assert "\n" not in told
    assert words in told
    assert error.location is not None
    assert error.location.file == str(path)
    assert (error.location.key, error.location.line) == (key, line)
    place = f":{line}" if line else ""
    assert re.match(rf"{re.escape(str(path))}{place}[: ]", told)


@pytest.mark.parametrize("name", MISTAKES)
def test_mistake_is_collected_and_the_rest_loads(tmp_path: Path, name: str) -> None:
    broken(tmp_path, name)
    write(tmp_path, fingerprint("sound-one", "root", "giraffe"))
    collected: list[CatalogueError] = []
    catalogue = load_catalogue(tmp_path, builtin=False, errors="collect", collected=collected)
    assert "sound-one" in catalogue
    assert collected
    assert Classifier(catalogue).classify("giraffe").verdict == "crash"


def test_good_file_is_good(tmp_path: Path) -> None:
    write(tmp_path, fingerprint("x-one", "root", "x"))
    (tmp_path / "host" / "good-one.yaml").write_text(GOOD, encoding="utf-8")
    assert set(load_catalogue(tmp_path, builtin=False).fingerprints) == {"good-one", "x-one"}


def test_all_mistakes_of_a_file_are_told(tmp_path: Path) -> None:
    write(tmp_path, fingerprint("many-faults", "root", "x", severity="awful", nonsense=1, versions=3))
    with pytest.raises(CatalogueErrors) as caught:
        load_catalogue(tmp_path, builtin=False)
    assert {e.location and e.location.key for e in caught.value.errors} == {"severity", "nonsense", "versions"}
    assert "and 2 more" in str(caught.value)


def test_duplicate_id(tmp_path: Path) -> None:
    write(tmp_path, fingerprint("twice", "root", "x"), area="a")
    write(tmp_path, fingerprint("twice", "root", "y"), area="b")
    with pytest.raises(CatalogueErrors, match=r"already defined in .*a/twice\.yaml") as caught:
        load_catalogue(tmp_path, builtin=False)
    location = caught.value.errors[0].location
    assert location is not None
    assert (location.file, location.line, location.key) == (str(tmp_path / "b" / "twice.yaml"), 3, "id")


def test_files_behind_links_are_read_once(tmp_path: Path) -> None:
    """As Kubernetes mounts a ConfigMap: each file a link through a folder that is a link to the one that holds them."""
    home = tmp_path / "mine"
    write(home / "..2026_11_30", fingerprint("my-own", "root", "zebra fell over"))
    held = next((home / "..2026_11_30").rglob("my-own.yaml"))
    (home / "..data").symlink_to("..2026_11_30")
    (home / "my-own.yaml").symlink_to(Path("..data", held.relative_to(home / "..2026_11_30")))
    catalogue = load_catalogue(home, builtin=False)
    assert list(catalogue.fingerprints) == ["my-own"]


def test_circle_through_others(tmp_path: Path) -> None:
    write(
        tmp_path,
        fingerprint("a-a", "root", "x", explains=["b-b"]),
        fingerprint("b-b", "cascade", "y", explains=["c-c"]),
        fingerprint("c-c", "cascade", "z", explains=["a-a"]),
        fingerprint("outside", "root", "o", explains=["a-a"]),
    )
    with pytest.raises(CatalogueErrors) as caught:
        load_catalogue(tmp_path, builtin=False)
    assert [e.message for e in caught.value.errors] == ["explains goes in a circle: a-a -> b-b -> c-c -> a-a"]


@pytest.mark.parametrize("pattern", ["(unclosed", "[a", "*x", r"\p{NoSuchProperty}"])
def test_bad_regex(tmp_path: Path, pattern: str) -> None:
    data = fingerprint("bad-regex", "root", "fine", indicators={"broken": indicator(pattern)})
    path = write(tmp_path, data) / "host" / "bad-regex.yaml"
    with pytest.raises(CatalogueError, match="not a valid regex") as caught:
        load_catalogue(tmp_path, builtin=False)
    location = caught.value.location
    assert location is not None
    assert (location.file, location.key) == (str(path), "indicators.broken.pattern")
    assert location.line is not None


def test_directory_missing(tmp_path: Path) -> None:
    for folder in (tmp_path / "none", write(tmp_path, fingerprint("x-one", "root", "x")) / "host" / "x-one.yaml"):
        with pytest.raises(CatalogueError, match="no such directory") as caught:
            load_catalogue(folder)
        assert caught.value.location is not None
        assert caught.value.location.file == str(folder)


def test_directory_without_fingerprints(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("x", encoding="utf-8")
    with pytest.raises(CatalogueError, match="holds no fingerprint"):
        load_catalogue(tmp_path)


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() == 0, reason="root may read everything")
def test_unreadable_file(tmp_path: Path) -> None:
    path = write(tmp_path, fingerprint("x-one", "root", "x")) / "host" / "x-one.yaml"
    path.chmod(0)
    with pytest.raises(CatalogueError, match="cannot be read") as caught:
        load_catalogue(tmp_path, builtin=False)
    assert caught.value.location is not None
    assert caught.value.location.file == str(path)


def test_deep_nesting(tmp_path: Path) -> None:
    path = write(tmp_path, fingerprint("x-one", "root", "x")) / "host" / "deep-one.yaml"
    for text in ("[" * 20_000, "a: " + "[" * 3_000 + "]" * 3_000):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(CatalogueErrors):
            load_catalogue(tmp_path, builtin=False)


def test_file_that_vanishes(tmp_path: Path) -> None:
    folder = write(tmp_path, fingerprint("x-one", "root", "x"))
    (folder / "host" / "dangling.yaml").symlink_to(folder / "nowhere")
    assert list(load_catalogue(folder, builtin=False).fingerprints) == ["x-one"]
