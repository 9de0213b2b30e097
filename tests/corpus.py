"""The samples as data: every file with its sidecar entry, what the engine makes of it, and what its lines show before ranking.

Shared by the tests of the catalogue, the samples and the overlaps. Everything is worked out once for each process.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from vllm_crashsig import Classifier, Report, classify_paths
from vllm_crashsig.catalogue import Catalogue
from vllm_crashsig.encodings import Decoder
from vllm_crashsig.framing import Framer
from vllm_crashsig.gate import Gate
from vllm_crashsig.match import LineHits, Matcher
from vllm_crashsig.prepare import prepare
from vllm_crashsig.scan import SourceScanner
from vllm_crashsig.unwrap import Unwrapper

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = ROOT / "samples"
FINGERPRINTS = ROOT / "fingerprints"
SHARED_FOLDERS = frozenset({"healthy", "incidents", "envelopes", "demo"})
"""Folders of samples that belong to no single fingerprint."""

Origin = Literal["real", "reduced", "reconstructed"]


class Entry(BaseModel):
    """What a sidecar says of one file (of one case, for incidents)."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    origin: Origin
    note: str = Field(min_length=1)
    expect: tuple[str, ...] = Field(default=(), strict=False)
    """Ids of which one must be at rank 1, or one of the words ``healthy``, ``unclassified``, ``any``."""


_SIDECAR = TypeAdapter(dict[str, Entry])


@dataclass(frozen=True)
class Sample:
    """One file of ``samples/<owner>/``."""

    owner: str
    path: Path
    entry: Entry

    @property
    def name(self) -> str:
        return f"{self.owner}/{self.path.name}"

    @property
    def kind(self) -> str:
        """``hit``, ``near``, ``healthy`` or ``envelopes``."""
        return self.owner if self.owner in SHARED_FOLDERS else self.path.name.partition("-")[0]


@dataclass(frozen=True)
class Case:
    """One folder of ``samples/incidents/``: several files, one crash."""

    name: str
    paths: tuple[Path, ...]
    entry: Entry


def read_yaml(path: Path) -> Any:
    """The data of a YAML file."""
    return yaml.load(path.read_text(encoding="utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader))


@cache
def sidecar(folder: Path) -> dict[str, Entry]:
    """The entries of ``sample.yaml``, strictly. Raises ValidationError on an unknown key, origin or type."""
    return _SIDECAR.validate_python(read_yaml(folder / "sample.yaml"))


def sample_files(folder: Path) -> list[Path]:
    """The log files of a folder of samples."""
    return sorted(p for p in folder.iterdir() if p.is_file() and p.name not in ("sample.yaml", "expect.yaml"))


def folders() -> list[Path]:
    """The folders of single fingerprints."""
    return sorted(p for p in SAMPLES.iterdir() if p.is_dir() and p.name not in SHARED_FOLDERS)


@cache
def samples() -> tuple[Sample, ...]:
    """All single files that their sidecar names, the healthy ones and those of the envelopes included."""
    found = []
    for folder in [*folders(), SAMPLES / "healthy", SAMPLES / "envelopes"]:
        if not (folder / "sample.yaml").is_file():
            continue  # test_catalogue_files tells
        entries = sidecar(folder)
        found += [Sample(folder.name, p, entries[p.name]) for p in sample_files(folder) if p.name in entries]
    return tuple(found)


@cache
def cases() -> tuple[Case, ...]:
    """All folders of ``samples/incidents/``."""
    return tuple(
        Case(folder.name, tuple(sample_files(folder)), Entry.model_validate(read_yaml(folder / "expect.yaml")))
        for folder in sorted((SAMPLES / "incidents").iterdir())
        if folder.is_dir()
    )


@lru_cache(maxsize=1)
def classifier() -> Classifier:
    """The classifier over the built-in catalogue. Quotes are not masked, so that they can be looked up in the file."""
    return Classifier(redacted=False)


def catalogue() -> Catalogue:
    """The built-in catalogue."""
    return classifier().catalogue


@cache
def report(*paths: Path) -> Report:
    """The report for files that are one case."""
    return classify_paths(paths, classifier())


@lru_cache(maxsize=1)
def judge_and_gate() -> tuple[Matcher, Gate | None]:
    """The built-in catalogue's judge and gate."""
    return prepare(catalogue())


@cache
def line_hits(path: Path) -> tuple[LineHits, ...]:
    """What the lines of a file show, before vetoes and ranking."""
    scanner = SourceScanner(str(path), *judge_and_gate())
    found = list(scanner.feed(path.read_bytes()))
    return (*found, *scanner.close())


def utf8(path: Path) -> bytes:
    """A sample's bytes as the framer gets them."""
    decoder = Decoder()
    return decoder.feed(path.read_bytes()) + decoder.close()


def candidates(path: Path) -> set[int]:
    """Indexes of the probes that the gate lets through on some line of a file. All, where there is no gate."""
    matcher, gate = judge_and_gate()
    if gate is None:
        return set(range(len(matcher.probes)))
    framer, unwrapper = Framer(), Unwrapper()
    frames = [unwrapper.unwrap(f) for f in framer.feed(utf8(path))]
    frames += [unwrapper.unwrap(f) for f in framer.close()]
    frames += [f for f in [unwrapper.finish()] if f is not None]
    return {probe for f in frames for _, probes in gate.scan(f.text) for probe in probes if probe >= 0}
